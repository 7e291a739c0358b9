#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu scoring_gpu() {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.sparse.scores = {.fixed_cycles = 0, .peak_fraction = 1, .bandwidth_fraction = 1};
    return gpu;
}

/// One sequence that decodes: 1,000,000 keys, each scored once.
const IndexScores one_token{
    .batch = 1, .query_len = 1, .keys = 1'000'000, .heads = 64, .dim = 128, .pairs = 1e6, .precision = Precision::fp32};

}  // namespace

TEST_CASE("scores of an index are GEMMs of all its heads with each key") {
    Gpu gpu = scoring_gpu();
    IndexScores prompt = one_token;
    prompt.query_len = 1'000;
    prompt.keys = 1'000;
    prompt.pairs = 500'500;
    CHECK(cost(prompt, gpu).compute.in(us) == rel(820.0192, 1e-9));  // 2 · 500,500 · 64 · 128 FLOPs at 10 TFLOP/s
    gpu.parameters.values.sparse.scores.peak_fraction = 0.5;
    CHECK(cost(prompt, gpu).compute.in(us) == rel(1640.0384, 1e-9));
}

TEST_CASE("decoding reads the keys of an index once, with a scale each, and writes a score for each") {
    Gpu gpu = scoring_gpu();
    // 1e6 · (128 · 4 + 4) bytes of keys, 64 · 128 · 4 of queries, 1e6 · 4 of scores at 100 GB/s
    CHECK(cost(one_token, gpu).dram.in(us) == rel(5200.32768, 1e-9));
    IndexScores by_blocks = one_token;
    by_blocks.block = 128;
    CHECK(cost(by_blocks, gpu).dram.in(us) == rel(5160.64018, 1e-9));  // scores of 7,812.5 blocks
    gpu.parameters.values.sparse.scores.bandwidth_fraction = 0.5;
    CHECK(cost(one_token, gpu).dram.in(us) == rel(10400.65536, 1e-9));
}
