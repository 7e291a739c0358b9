#include <doctest/doctest.h>

#include <cmath>

#include "kernels/attention/toy_attention.hpp"
#include "kernels/work.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::fp32_attention;
using test::rel;
using test::run;

namespace {

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
    // 10 · 8 · 1024 keys · 256 · 4 B = 83.89 MB and 82 kB of queries and outputs: 839.7 us, and 2 us to reach DRAM.
    const KernelCost c = cost(fp32_attention(10, 8, 1, 1024), test::toy_gpu());
    CHECK(c.total.in(us) == rel(841.7, 1e-4));
    CHECK(c.bound == Bound::dram);
}

TEST_CASE("latent attention reads its keys once, of which values are a part") {
    Attention op = fp32_attention(10, 1, 1, 8192);
    op.head_dim = 576;
    op.value_dim = 512;
    op.values_in_keys = true;
    // 10 · 8192 keys · 576 · 4 B = 188.7 MB, and 44 kB of queries and outputs; 2 us to reach DRAM.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(1889.9, 1e-4));
}

TEST_CASE("grouped queries share the KV cache") {
    Attention op = fp32_attention(10, 8, 1, 1024);
    op.kv_heads = 1;
    // An eighth of 83.89 MB, and the same 82 kB: 105.7 us, and 2 us to reach DRAM.
    CHECK(cost(op, test::toy_gpu()).total.in(us) == rel(107.7, 1e-3));
}

TEST_CASE("a cache that L2 does not hold makes a kernel start later, the less of it the later") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.l2 = 100 * mb;
    gpu.profile.bandwidth = 1e9 * gb_per_s;
    gpu.profile.facts.l2_partitions = 2;
    for (AttentionParameters& p : gpu.parameters.values.attention) p.l2_residency = 0;
    // 12,207 keys · 256 · 4 B · 1 head = 12.5 MB a sequence: 25, 50, 75 and 112.5 MB for an L2 of 100, which keeps all up to a half.
    const auto saved = [&gpu](std::int64_t batch) {
        const Attention op = fp32_attention(batch, 1, 1, 12207);
        return (cost(op, gpu, Cache::cold).total - cost(op, gpu, Cache::rotated).total).in(us);
    };
    CHECK(saved(2) == rel(2, 1e-3));
    CHECK(saved(4) == rel(2, 1e-2));
    CHECK(saved(6) == rel(1, 1e-2));
    CHECK(std::abs(saved(9)) < 1e-6);
    gpu.profile.facts.l2_partitions = 1;
    CHECK(saved(6) == rel(2, 1e-3));
}

TEST_CASE("a narrower cache runs in kernels of its own") {
    Gpu gpu = test::toy_gpu();
    Attention op = fp32_attention(1, 8, 1, 1024);
    gpu.parameters.values.attention[index(CacheFormat::narrow)].fixed_cycles = 5000;
    const Seconds plain = cost(op, gpu).total;
    op.kv_precision = Precision::fp16;
    // Half of 8 · 1024 · 256 · 4 B = 8.389 MB at 100 GB/s, and 5 us.
    CHECK((plain - cost(op, gpu).total).in(us) == rel(83.89 / 2 - 5, 1e-2));
}

TEST_CASE("engines with a cache move queries and keys around the kernel") {
    Gpu gpu = test::toy_gpu();
    Attention op = fp32_attention(1, 8, 1, 64);
    op.kv_heads = 2;
    const Seconds bare = cost(op, gpu).total;
    gpu.parameters.values.attention[index(CacheFormat::plain)].query_cycles = 10;
    gpu.parameters.values.attention[index(CacheFormat::plain)].cache_cycles = 100;
    const auto us_more = [&] { return (cost(op, gpu).total - bare).in(us); };
    // 8 · 10 + 2 · 100 cycles for elements of two bytes, on 10 SMs at 1 GHz.
    CHECK(us_more() == rel(0.056, 1e-3));
    const Attention usual = op;
    op.head_dim = op.value_dim = 64;  // half of it whatever the width
    gpu.parameters.values.attention[index(CacheFormat::plain)].query_cycles = 0;
    gpu.parameters.values.attention[index(CacheFormat::plain)].cache_cycles = 0;
    const Seconds narrow = cost(op, gpu).total;
    gpu.parameters.values.attention[index(CacheFormat::plain)].cache_cycles = 100;
    CHECK((cost(op, gpu).total - narrow).in(us) == rel(0.03, 1e-3));
    op = usual;
    op.cached = false;
    CHECK(us_more() == rel(0, 1e-3));
}

TEST_CASE("a block of as many threads as keys have elements writes a token into the cache, 512 at most") {
    Gpu gpu = test::toy_gpu();
    const auto us_of = [&](std::int64_t kv_heads) {
        const Attention op = fp32_attention(3, kv_heads, 1, 64);
        gpu.parameters.values.attention[index(CacheFormat::plain)].token_cycles = 0;
        const Seconds bare = cost(op, gpu).total;
        gpu.parameters.values.attention[index(CacheFormat::plain)].token_cycles = 1000;
        return (cost(op, gpu).total - bare).in(us);
    };
    CHECK(us_of(8) == rel(0.3, 1e-6));  // 3000 cycles on 10 SMs at 1 GHz
    CHECK(us_of(4) == rel(0.3, 1e-6));
    CHECK(us_of(1) == rel(0.075, 1e-6));
}

TEST_CASE("keys and values that L2 does not hold go through DRAM on their way into the cache") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.vector_peak[index(Precision::fp32)] = 1e6 * tflops;
    Attention op = fp32_attention(64, 8, 256, 256);
    op.causal = true;
    const Seconds bare = cost(op, gpu).total;
    op.cached = false;
    // 64 · 256 tokens of 8 · 256 elements, read and written in 4 bytes: 268.4 MB at 100 GB/s.
    CHECK((bare - cost(op, gpu).total).in(us) == rel(2684, 1e-2));
}

TEST_CASE("FlashAttention-2 copies Q and the output where several KV heads are decoded for groups of heads") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.streaming.fixed = 3 * us;
    Attention op = fp32_attention(2, 8, 1, 64);
    const auto us_more = [&](int kernels) {
        run("triton", gpu);
        const KernelCost before = cost(op, gpu);
        run("flash-attention-2", gpu);
        const KernelCost after = cost(op, gpu);
        CHECK(after.kernels - before.kernels == kernels);
        return (after.total - before.total).in(us);
    };
    op.kv_heads = 2;
    CHECK(us_more(2) == rel(6, 0.1));  // two kernels, few bytes
    op.batch = 1;
    CHECK(us_more(0) == 0);  // views
    op.batch = 2;
    op.window = 32;
    static_cast<void>(us_more(0));  // no copies: over a window, blocks of queries take each head apart
    op.window = 0;
    op.kv_heads = 1;
    CHECK(us_more(0) == 0);  // both orders are the same
    op.kv_heads = 8;
    CHECK(us_more(0) == 0);
    op.kv_heads = 2;
    op.query_len = 2;
    CHECK(us_more(0) == 0);  // no decoder's
    op.batch = 1;
    op.causal = true;
    // Blocks of 64 rows for 128, each on an SM of its own: 64 · 64 · 512 FLOP / 1 TFLOP/s less.
    CHECK(us_more(0) == rel(-2.097, 1e-3));
}

TEST_CASE("FlashAttention-2's copies take 36 INT32 instructions an element") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    Attention op = fp32_attention(4096, 16, 1, 64);
    op.kv_heads = 2;
    const auto us_more = [&] {
        run("triton", gpu);
        const Seconds before = cost(op, gpu).total;
        run("flash-attention-2", gpu);
        return (cost(op, gpu).total - before).in(us);
    };
    // 2 · 4096 · 16 · 128 elements on 10 SMs of 500 INT32 cores at 1 GHz.
    CHECK(us_more() == rel(2.0 * 4096 * 16 * 128 * 36 / 5e6, 0.01));
}

TEST_CASE("blocks of FlashAttention-3 look through up to 992 sequences for their work") {
    Gpu gpu = test::toy_gpu();
    Attention op = fp32_attention(992, 1, 1, 64);
    const auto us_more = [&] {
        run("triton", gpu);
        const Seconds before = cost(op, gpu).total;
        run("flash-attention-3", gpu);
        return (cost(op, gpu).total - before).in(us);
    };
    CHECK(us_more() == rel(992 * 0.035, 1e-6));  // 35 cycles each at 1 GHz
    op.batch = 993;
    CHECK(us_more() == 0);
}
