#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu gathering_gpu() {
    Gpu gpu = test::toy_gpu();
    for (SparseAttentionParameters& p : gpu.parameters.values.sparse.attention)
        p = {.fixed_cycles = 0,
             .sequence_cycles = 0,
             .query_cycles = 0,
             .peak_fraction = 1,
             .gathered_elements = 1e6,
             .bandwidth_fraction = 1};
    gpu.profile.libraries.sparse = {.latent_heads = 64, .grouped_heads = 16, .pads_choice = false};
    return gpu;
}

const SparseAttention decoding{.batch = 100,
                               .query_len = 1,
                               .heads = 128,
                               .head_dim = 576,
                               .value_dim = 512,
                               .keys = 2'048,
                               .most_keys = 2'048,
                               .cached = 100'000,
                               .values_in_keys = true,
                               .decodes = true,
                               .precision = Precision::fp32,
                               .kv_precision = Precision::fp32};

}  // namespace

TEST_CASE("sparse attention multiplies the chosen keys, for heads in whole blocks") {
    const Gpu gpu = gathering_gpu();
    const double all = 100.0 * 2'048 * 128 * (576 + 512) * 2 / 10e12 * 1e6;
    CHECK(cost(decoding, gpu).compute.in(us) == rel(all, 1e-9));
    SparseAttention few = decoding;
    few.heads = 16;
    CHECK(cost(few, gpu).compute.in(us) == rel(all / 2, 1e-9));  // as 64 heads
    few.values_in_keys = false;
    few.kv_heads = 2;
    CHECK(cost(few, gpu).compute.in(us) == rel(all / 4, 1e-9));  // 8 heads a KV head, as 16
}

TEST_CASE("kernels that pad the choice take as long for few keys as for all") {
    Gpu gpu = gathering_gpu();
    SparseAttention beginning = decoding;
    beginning.keys = 10;
    CHECK(cost(beginning, gpu).compute < 0.01 * cost(decoding, gpu).compute);
    gpu.profile.libraries.sparse.pads_choice = true;
    CHECK(cost(beginning, gpu).compute == cost(decoding, gpu).compute);
}

TEST_CASE("every query gathers keys of its own, which L2 delivers, and DRAM each cached key once") {
    Gpu gpu = gathering_gpu();
    gpu.parameters.values.sparse.attention[1].gathered_elements = 2;
    CHECK(cost(decoding, gpu).l2.in(us) == rel(100.0 * 2'048 * 576 / 2 / 10 / 1e3, 1e-9));
    SparseAttention prompt = decoding;
    prompt.batch = 1;
    prompt.query_len = 1'000;
    prompt.cached = 5'000;
    // 5,000 · 576 · 4 bytes of keys, 1,000 · 128 · (576 + 512) · 4 of queries and output
    CHECK(cost(prompt, gpu).dram_bytes.in(mb) == rel(568.576, 1e-9));
}

TEST_CASE("queries of a block of heads, and sequences of prompts, take time of their own") {
    Gpu gpu = gathering_gpu();
    const Seconds before = cost(decoding, gpu).total;
    gpu.parameters.values.sparse.attention[1].query_cycles = 1'000;
    CHECK((cost(decoding, gpu).total - before).in(us) == rel(20, 1e-6));  // 100 queries · 2 blocks · 1,000 cycles / 10 SMs
    gpu.parameters.values.sparse.attention[1].query_cycles = 0;
    gpu.parameters.values.sparse.attention[1].sequence_cycles = gpu.parameters.values.sparse.attention[0].sequence_cycles = 1'000;
    CHECK(cost(decoding, gpu).total == before);
    SparseAttention prompts = decoding;
    prompts.query_len = 4;
    prompts.decodes = false;
    const Seconds with = cost(prompts, gpu).total;
    gpu.parameters.values.sparse.attention[0].sequence_cycles = 0;
    CHECK((with - cost(prompts, gpu).total).in(us) == rel(100, 1e-6));  // 100 sequences · 1,000 cycles
}
