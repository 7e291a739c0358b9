#include <doctest/doctest.h>

#include <cmath>

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

/// Lets engines run `library` on caches of either format.
void run(AttentionLibrary library, Gpu& gpu) {
    gpu.profile.facts.attention_library.fill(library);
}

constexpr double far = 2;  // us that a kernel starts later where L2 does not hold its operands

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

TEST_CASE("prefill blocks of 128 queries fill the SMs in waves") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    // 10 heads of 128 queries: one block each, 128 · 1024 scores · 512 FLOP / 1 TFLOP/s = 67.1 us, and 2 to reach DRAM.
    CHECK(cost(fp32_attention(1, 10, 128, 1024), gpu).total.in(us) == rel(67.11 + far, 1e-3));
}

TEST_CASE("unfused attention sends the scores through memory") {
    Attention op = fp32_attention(1, 10, 1024, 1024);
    op.fused = false;
    const KernelCost c = cost(op, test::toy_gpu());
    CHECK(c.kernels == 4);
    // Scores are 10 · 1024² · 4 B = 41.9 MB: written, read and written twice, read once: six times, 2.52 ms at least.
    CHECK(c.total.in(us) > 2516);
}

TEST_CASE("frameworks copy heads outward and back, and mask scores by a kernel of its own, as one operator") {
    Attention op = fp32_attention(1, 10, 1024, 1024);
    op.fused = op.cached = false;
    const Gpu gpu = test::toy_gpu();
    const KernelCost plain = cost(op, gpu);
    op.copies_heads = true;
    const KernelCost copied = cost(op, gpu);
    // Queries, keys, values and the output: 10 heads of 1024 rows, read and written in 4 bytes an element.
    const double moved = 4.0 * 10 * 1024 * static_cast<double>(op.head_dim) * 8 / 100e9 * 1e6;
    CHECK(copied.total.in(us)-plain.total.in(us) == rel(moved, 1e-9));
    CHECK(copied.kernels == plain.kernels + 2);
    op.cached = true;  // keys and values lie so already
    CHECK(cost(op, gpu).total.in(us)-plain.total.in(us) == rel(moved / 2, 1e-9));
    op.framework = true;  // which counts them with the operator
    CHECK(cost(op, gpu).kernels == plain.kernels);
    op.copies_heads = false;
    op.separate_mask = true;
    // 10.5 million scores: 84 MB, and 85 instructions each take 178 us of the lanes.
    CHECK(cost(op, gpu).total.in(us)-plain.total.in(us) == rel(10.0 * 1024 * 1024 * 8 / 100e9 * 1e6, 1e-9));
    CHECK(cost(op, gpu).kernels == plain.kernels);
    op.fused = true;
    const double masked = cost(op, gpu).total.in(us);
    op.separate_mask = false;
    CHECK(cost(op, gpu).total.in(us) == masked);
}

TEST_CASE("scores in fp32 are cast around the softmax, where they go through memory") {
    Attention op = fp32_attention(1, 10, 1024, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    op.fused = false;
    const Gpu gpu = test::toy_gpu_with_matrix_units();
    const double plain = cost(op, gpu).total.in(us);
    op.fp32_scores = true;
    // 10.5 million scores: softmax moves 4 bytes more, and each of two casts 6: 16 bytes, 167.8 MB, 1.68 ms.
    CHECK(cost(op, gpu).total.in(us)-plain == rel(1677.7, 1e-3));
    op.fused = true;
    const double fused = cost(op, gpu).total.in(us);
    op.fp32_scores = false;
    CHECK(cost(op, gpu).total.in(us) == fused);
}

TEST_CASE("several queries a sequence share a block with other heads only where kernels pack them") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    Attention op = fp32_attention(10, 8, 2, 64);
    op.kv_heads = 1;
    // 80 blocks of 128 x 64 scores · 512 FLOP / 1 TFLOP/s = 4.194 us: 8 an SM, and half a block of imbalance less an eighth: 35.39 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(35.39, 1e-3));
    run(AttentionLibrary::flash_attention_3, gpu);
    // One block a sequence: 8 heads of 2 queries share its 128 rows, 128 · 64 · 512 FLOP / 1 TFLOP/s = 4.194 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(4.194, 1e-3));
    op.head_dim = op.value_dim = 64;  // blocks of 192 rows, half the arithmetic a score
    CHECK(cost(op, gpu).compute.in(us) == rel(3.146, 1e-3));
    run(AttentionLibrary::flashinfer, gpu);
    op.head_dim = op.value_dim = 128;  // 16 rows
    CHECK(cost(op, gpu).compute.in(us) == rel(0.524, 1e-3));
}

TEST_CASE("FlashInfer cuts packed rows into blocks of 16, 64 or 128") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    run(AttentionLibrary::flashinfer, gpu);
    Attention op = fp32_attention(10, 8, 4, 64);
    op.kv_heads = 1;
    // 8 heads of 4 queries fill half of 64 rows: 64 · 64 · 512 FLOP / 1 TFLOP/s = 2.097 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(2.097, 1e-3));
    op.query_len = 40;
    // 320 rows a sequence: three blocks of 128, in all 30, 3 an SM, 12.58 us and of unequal ends half a block less a third, 1.40 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(13.98, 1e-3));
    op.batch = 1;
    // Three blocks side by side: 128 · 64 · 512 FLOP / 1 TFLOP/s = 4.194 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(4.194, 1e-3));
}

TEST_CASE("FlashAttention-3 splits the keys of few blocks of queries too") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.parameters.values.attention[index(CacheFormat::plain)].combine_cycles = 3000;
    run(AttentionLibrary::flash_attention_3, gpu);
    Attention op = fp32_attention(1, 4, 128, 2048);
    op.cached = false;
    // Four blocks on 10 SMs: 16 steps of 128 keys, 8 to an SM: two parts of 1024 keys, 128 · 1024 · 512 FLOP / 1 TFLOP/s = 67.1 us.
    KernelCost c = cost(op, gpu);
    CHECK(c.compute.in(us) == rel(67.1, 1e-3));
    CHECK(c.launch.in(us) == rel(3 * (1 + 2 / 16.0) + 0.035 + far, 1e-3));
    op.kv_len = 512;  // four steps are left whole
    c = cost(op, gpu);
    CHECK(c.compute.in(us) == rel(33.55, 1e-3));
    CHECK(c.launch.in(us) == rel(0.035 + far, 1e-3));
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

TEST_CASE("an SM reads an even share of DRAM's rate, and so many bytes a clock beyond it") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.vector_peak[index(Precision::fp32)] = 1e6 * tflops;
    for (AttentionParameters& p : gpu.parameters.values.attention) p.own_bytes_per_sm_clock = 30;
    run(AttentionLibrary::flashinfer, gpu);  // decodes by keys alone
    // One of 10 SMs takes 40 GB/s: 10 of DRAM's 100, and 30 bytes at 1 GHz. 1024 keys · 256 · 4 B = 1.049 MB.
    Attention op = fp32_attention(1, 1, 1, 1024);
    op.split_ungrouped = false;
    CHECK(cost(op, gpu).total.in(us) == rel(26.21 + far, 1e-3));
    // Keys stored in half the bytes come from DRAM at twice the rate, but are converted to the same on the SM: 20 and 30 bytes.
    op.kv_precision = Precision::fp16;
    CHECK(cost(op, gpu).total.in(us) == rel(20.97 + far, 1e-3));
    op.converts_cache = false;
    CHECK(cost(op, gpu).total.in(us) == rel(13.11 + far, 1e-3));
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

TEST_CASE("widths that only a general kernel takes run in blocks of 16 rows, about as fast as the lanes compute") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.bandwidth = 100 * tb_per_s;
    Attention op = fp32_attention(10, 8, 1024, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    const Seconds usual = cost(op, gpu).compute;
    gpu.profile.facts.attention_general_dims[index(CacheFormat::plain)] = {64};
    CHECK(cost(op, gpu).compute == usual);
    gpu.profile.facts.attention_general_dims[index(CacheFormat::plain)] = {64, 128};
    // 80 · 1024² scores · 512 FLOP at 0.85 of 10 TFLOP/s are 5052.9 us, half a block of 9.87 us late; 80 · 64 blocks start in 512 waves
    // of 2.5 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(5052.9 + 4.9 + 1280, 1e-3));
    op = fp32_attention(1, 1, 1, 16384);
    op.precision = op.kv_precision = Precision::fp16;
    // Keys are split into 16 parts at most: 16 rows · 1024 · 512 FLOP at 0.85 TFLOP/s are 9.87 us a wave, in 1.6 waves on 10 SMs.
    CHECK(cost(op, gpu).compute.in(us) == rel(1.6 * (9.87 + 2.5), 1e-2));
}

TEST_CASE("keys and values of wide heads pass through an SM at a rate of their own, once for all queries of a set") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    gpu.parameters.values.attention[index(CacheFormat::narrow)].wide_bytes_per_sm_clock = 4;
    Attention op = fp32_attention(10, 8, 1, 1024);
    op.kv_precision = Precision::fp16;
    op.kv_heads = 1;
    const auto stream = [&gpu](Attention a, std::int64_t width) {
        a.head_dim = a.value_dim = width;
        return cost(a, gpu).l2.in(us);
    };
    // Ten groups of heads on 10 SMs: 1024 keys of 512 · 2 B at 4 B a ns are 262 us.
    CHECK(stream(op, 256) == rel(262.1, 1e-3));
    CHECK(stream(op, 128) < 100);
    CHECK(stream(op, 576) < 100);  // latent attention
    run(AttentionLibrary::flash_attention_3, gpu);
    for (const std::int64_t queries : {2, 16, 64}) {
        CAPTURE(queries);
        op.query_len = queries;
        CHECK(stream(op, 256) == rel(262.1, 1e-3));
    }
    op.kv_precision = op.precision;
    CHECK(stream(op, 256) < 100);
}

TEST_CASE("split keys cost a kernel that adds the parts up, and some engines leave ungrouped heads whole") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.attention[index(CacheFormat::plain)].combine_cycles = 3000;
    Attention op = fp32_attention(1, 1, 1, 10240);
    // 10240 keys of 256 · 4 B = 10.49 MB: 104.9 us at 100 GB/s. In one block 16 rows · 10240 · 512 FLOP / 1 TFLOP/s = 83.9 us of
    // arithmetic.
    const Gpu one = gpu;
    CHECK(cost(op, one).total.in(us) == rel(104.9 + far, 1e-3));
    gpu.profile.bandwidth = 1 * tb_per_s;
    // 8 parts on 10 SMs take 10.49 us, as long as DRAM; adding 8 parts up takes 3 us · (1 + 8/16).
    CHECK(cost(op, gpu).total.in(us) == rel(10.49 + 4.5 + far, 1e-2));
    op.split_ungrouped = false;
    CHECK(cost(op, gpu).total.in(us) == rel(83.9 + far, 1e-3));
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

TEST_CASE("FlashAttention-2 takes 64 queries a block where engines page the cache, other kernels what the architecture says") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    run(AttentionLibrary::flash_attention_2, gpu);
    Attention op = fp32_attention(1, 1, 128, 1024);
    op.causal = true;
    // Two blocks side by side: 64 · 1024 scores · 512 FLOP / 1 TFLOP/s = 33.55 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(33.55, 1e-3));
    op.cached = false;
    CHECK(cost(op, gpu).compute.in(us) == rel(67.11, 1e-3));
    gpu.profile.facts.attention_query_block = 256;
    op.query_len = 256;
    CHECK(cost(op, gpu).compute.in(us) == rel(134.2, 1e-3));
    op.head_dim = op.value_dim = 256;  // blocks of 128 rows of heads this wide, twice the arithmetic
    CHECK(cost(op, gpu).compute.in(us) == rel(134.2, 1e-3));
}

TEST_CASE("FlashAttention-2 copies Q and the output where several KV heads are decoded for groups of heads") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.streaming.fixed = 3 * us;
    Attention op = fp32_attention(2, 8, 1, 64);
    const auto us_more = [&](int kernels) {
        run(AttentionLibrary::any, gpu);
        const KernelCost before = cost(op, gpu);
        run(AttentionLibrary::flash_attention_2, gpu);
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
    CHECK(us_more(0) == 0);
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

TEST_CASE("blocks of FlashAttention-3 look through up to 992 sequences for their work") {
    Gpu gpu = test::toy_gpu();
    Attention op = fp32_attention(992, 1, 1, 64);
    const auto us_more = [&] {
        run(AttentionLibrary::any, gpu);
        const Seconds before = cost(op, gpu).total;
        run(AttentionLibrary::flash_attention_3, gpu);
        return (cost(op, gpu).total - before).in(us);
    };
    CHECK(us_more() == rel(992 * 0.035, 1e-6));  // 35 cycles each at 1 GHz
    op.batch = 993;
    CHECK(us_more() == 0);
}

TEST_CASE("half of the start of a block that shares keys grows with the width of the head") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.profile.vector_peak[index(Precision::fp32)] = 1e6 * tflops;
    gpu.parameters.values.attention[index(CacheFormat::plain)].split_block = 8 * us;
    gpu.parameters.values.attention[index(CacheFormat::plain)].block = 20 * us;
    Attention op = fp32_attention(1, 1, 1, 64);
    CHECK(cost(op, gpu).total.in(us) == rel(8 + far, 1e-2));
    op.head_dim = op.value_dim = 256;
    CHECK(cost(op, gpu).total.in(us) == rel(12 + far, 1e-2));
    op.head_dim = op.value_dim = 64;
    CHECK(cost(op, gpu).total.in(us) == rel(6 + far, 1e-2));
    run(AttentionLibrary::flash_attention_2, gpu);
    CHECK(cost(op, gpu).total.in(us) == rel(8 + far, 1e-2));
    op.lane_decoding = LaneDecoding::only;  // an engine's own kernel, whatever the library
    CHECK(cost(op, gpu).total.in(us) == rel(6 + far, 1e-2));
}

TEST_CASE("FlashInfer converts a narrower cache in each warp and splits keys over free SMs also for several queries") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    run(AttentionLibrary::flashinfer, gpu);
    Attention op = fp32_attention(10, 1, 128, 1024);
    op.cached = false;
    // Ten tiles of 128 rows, two to an SM: two parts. 128 · 512 scores · 512 FLOP / 1 TFLOP/s = 33.55 us a block, two an SM.
    KernelCost parts = cost(op, gpu);
    CHECK(parts.compute.in(us) == rel(67.1 + 0.5 * 33.55 * 0.5, 1e-2));
    // 1280 rows added up, 1000 cycles each on 10 SMs at 1 GHz.
    CHECK(parts.launch.in(us) == rel(128 + far, 1e-3));
    op.batch = 20;
    CHECK(cost(op, gpu).launch.in(us) == rel(far, 1e-6));
    op.batch = 10;
    op.kv_precision = Precision::fp16;
    // A warp of 32 rows converts 512 keys of 256 elements, 5 instructions each, at 500 a ns of its SM: four warps 5.24 us, 2.25 blocks an
    // SM in time.
    CHECK((cost(op, gpu).compute - parts.compute).in(us) == rel(4 * (512 * 256 * 5 / 500e3) * 2.25, 1e-2));
}

TEST_CASE("trtllm-gen hides most of softmax or of the products, takes rows in by tiles and splits keys whenever SMs are free") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.parameters.values.attention[index(CacheFormat::plain)].softmax_operations = 512;
    Attention op = fp32_attention(10, 8, 1024, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    const Seconds apart = cost(op, gpu).compute;
    run(AttentionLibrary::trtllm_gen, gpu);
    // 512 FLOPs a score at 10 TFLOP/s, and as many operations at 5.
    CHECK(cost(op, gpu).compute / apart == rel((102.4 + 0.2 * 51.2) / (102.4 + 51.2), 1e-6));

    gpu.parameters.values.attention[index(CacheFormat::plain)].combine_cycles = 8000;
    op.query_len = 1;
    op.batch = 2;
    op.kv_heads = 1;
    op.kv_len = 2048;
    // Two groups of heads on 10 SMs: five parts each, however long adding them up takes.
    CHECK(cost(op, gpu).launch.in(us) == rel(8 * (1 + 5 / 16.0) + far, 1e-3));
    const Seconds rows8 = cost(op, gpu).compute;
    op.heads = 9;  // 16 rows in place of 8, of 256 columns of two bytes, at 10 bytes a ns
    CHECK((cost(op, gpu).compute - rows8).in(us) == rel(8 * 256 * 2 / 10e3, 1e-3));
}

TEST_CASE("heads that decode apart go through shared keys one by one, on the lanes, and read them from DRAM once") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.parameters.values.attention[index(CacheFormat::plain)].split_block = 1 * us;
    Attention op = fp32_attention(10, 8, 1, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    op.kv_heads = 1;
    const KernelCost together = cost(op, gpu);
    op.lane_decoding = LaneDecoding::only;
    // 80 heads on 10 SMs: 8 · 1024 keys · 256 elements · 4.5 instructions at 500 a ns are 18.87 us, and one start.
    KernelCost apart = cost(op, gpu);
    CHECK(apart.compute.in(us) == rel(18.87 + 1, 1e-3));
    CHECK(apart.dram_bytes == together.dram_bytes);
    // 8 bits: 2.5 instructions more for an element.
    op.kv_precision = Precision::fp8;
    op.converts_cache = false;
    CHECK(cost(op, gpu).compute.in(us) == rel(18.87 * 7 / 4.5 + 1, 1e-3));
}

TEST_CASE("blocks of queries compute their scores again for values wider than 256") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    const auto compute = [&gpu](std::int64_t width, std::int64_t queries) {
        Attention op = fp32_attention(10, 1, queries, 1024);
        op.head_dim = op.value_dim = width;
        return cost(op, gpu).compute.in(us);
    };
    // One more product of queries and keys beside the two.
    CHECK(compute(512, 1024) == rel(1.5 * 2 * compute(256, 1024), 1e-9));
    CHECK(compute(256, 1024) == rel(2 * compute(128, 1024), 1e-9));
    CHECK(compute(512, 1) == rel(2 * compute(256, 1), 1e-9));  // decoding does not
}
