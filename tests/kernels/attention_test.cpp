#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "kernels/work.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Attention fp32_attention(std::int64_t batch, std::int64_t heads, std::int64_t query_len, std::int64_t kv_len) {
    return {.batch = batch,
            .heads = heads,
            .kv_heads = heads,
            .head_dim = 128,
            .value_dim = 128,
            .query_len = query_len,
            .kv_len = kv_len,
            .precision = Precision::fp32,
            .kv_precision = Precision::fp32};
}

double pairs(std::int64_t query_len, std::int64_t kv_len, std::int64_t window, bool causal = true) {
    return visible_pairs({.query_len = query_len, .kv_len = kv_len, .causal = causal, .window = window});
}

}  // namespace

TEST_CASE("causal masking and windows leave the scores that can be counted by hand") {
    CHECK(pairs(4, 4, 0) == 10);  // 1 + 2 + 3 + 4
    CHECK(pairs(2, 4, 0) == 7);   // 3 + 4: two keys were there before
    CHECK(pairs(4, 4, 2) == 7);   // 1 + 2 + 2 + 2
    CHECK(pairs(4, 2, 0) == 3);   // 0 + 0 + 1 + 2
    CHECK(pairs(1, 9, 4) == 4);
    CHECK(pairs(3, 5, 0, false) == 15);
}

TEST_CASE("decode reads the KV cache at DRAM bandwidth") {
    // 10 · 8 · 1024 keys · 256 · 4 B = 83.89 MB and 82 kB of queries and outputs: 839.7 us.
    const KernelCost c = cost(fp32_attention(10, 8, 1, 1024), test::toy_gpu());
    CHECK(c.total.in(us) == rel(839.7, 1e-3));
    CHECK(c.bound == Bound::dram);
}

TEST_CASE("grouped queries share the KV cache") {
    Attention op = fp32_attention(10, 8, 1, 1024);
    op.kv_heads = 1;
    // An eighth of 83.89 MB, and the same 82 kB: 105.7 us.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(105.7, 1e-3));
}

TEST_CASE("prefill blocks of 128 queries fill the SMs in waves") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    // 10 heads of 128 queries: one block each, 128 · 1024 scores · 512 FLOP / 1 TFLOP/s = 67.1 us.
    CHECK(cost(fp32_attention(1, 10, 128, 1024), gpu).total.in(us) == rel(67.11, 1e-3));
}

TEST_CASE("unfused attention sends the scores through memory") {
    Attention op = fp32_attention(1, 10, 1024, 1024);
    op.fused = false;
    const KernelCost c = cost(op, test::toy_gpu());
    CHECK(c.kernels == 4);
    // Scores are 10 · 1024² · 4 B = 41.9 MB: written, read and written twice, read once: six times, 2.52 ms at least.
    CHECK(c.total.in(us) > 2516);
}
