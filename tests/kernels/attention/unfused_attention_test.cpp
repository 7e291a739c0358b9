#include <doctest/doctest.h>

#include "kernels/attention/toy_attention.hpp"
#include "roofcast/validation.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::fp32_attention;
using test::rel;

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
    Gpu gpu = test::toy_gpu();
    const KernelCost plain = cost(op, gpu);
    op.copies_heads = true;
    const KernelCost copied = cost(op, gpu);
    // Queries, keys, values and the output: 10 heads of 1024 rows, read and written in 4 bytes an element.
    const double moved = 4.0 * 10 * 1024 * static_cast<double>(op.head_dim) * 8 / 100e9 * 1e6;
    CHECK(copied.total.in(us)-plain.total.in(us) == rel(moved, 1e-9));
    CHECK(copied.kernels == plain.kernels + 2);
    op.cached = true;  // keys and values lie so already
    CHECK(cost(op, gpu).total.in(us)-plain.total.in(us) == rel(moved / 2, 1e-9));
    gpu.caller.framework = true;  // which counts them with the operator
    CHECK(cost(op, gpu).kernels == plain.kernels);
    op.copies_heads = false;
    op.separate_mask = true;
    // 10.5 million scores: 84 MB, and 85 instructions each take 178 us of CUDA cores. The mask and the scale start 600 cycles later each.
    CHECK(cost(op, gpu).total.in(us)-plain.total.in(us) == rel(10.0 * 1024 * 1024 * 8 / 100e9 * 1e6 + 1.2, 1e-9));
    CHECK(cost(op, gpu).kernels == plain.kernels);
    op.fused = true;
    const double masked = cost(op, gpu).total.in(us);
    op.separate_mask = false;
    CHECK(cost(op, gpu).total.in(us) == masked);
}

TEST_CASE("an engine's softmax of scores is its own: a framework's waits and keeps the CUDA cores busy") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.facts.threads_per_sm = 2048;
    Attention op = fp32_attention(1, 1, 1, 1024);
    op.fused = false;
    const double engine = cost(op, gpu).total.in(us);
    gpu.caller.framework = true;
    // One row of a warp, 32 elements a thread of 155 cycles at 1 GHz, in place of 8 kB at 100 GB/s; the scale starts 0.6 us later.
    CHECK(cost(op, gpu).total.in(us)-engine == rel(32 * 0.155 - 0.082 + 0.6, 1e-2));
}

TEST_CASE("scores in fp32 are cast around the softmax, where they go through memory") {
    Attention op = fp32_attention(1, 10, 1024, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    op.fused = false;
    const Gpu gpu = test::toy_gpu_with_tensor_cores();
    const double plain = cost(op, gpu).total.in(us);
    op.fp32_scores = true;
    // 10.5 million scores: softmax moves 4 bytes more, and each of two casts 6: 16 bytes, 167.8 MB, 1.68 ms.
    CHECK(cost(op, gpu).total.in(us)-plain == rel(1677.7, 1e-3));
    op.fused = true;
    const double fused = cost(op, gpu).total.in(us);
    op.fp32_scores = false;
    CHECK(cost(op, gpu).total.in(us) == fused);
}

TEST_CASE("query heads read the keys they share from L2 when they decode, and DRAM delivers these once") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.boost_clock *= 2;
    const auto attention = [&gpu](std::int64_t kv_heads, std::int64_t queries) {
        Attention op = fp32_attention(1, 32, queries, 8192);
        op.precision = op.kv_precision = Precision::fp16;
        op.kv_heads = kv_heads;
        op.fused = false;
        return cost(op, gpu);
    };
    const double width = 2 * static_cast<double>(fp32_attention(1, 1, 1, 1).head_dim) * 2;  // bytes of a key and its value
    const double saved = (32 - 4) * 8192 * width / 1e6;
    CHECK((attention(32, 1).dram_bytes - attention(4, 1).dram_bytes).in(mb) == rel(saved, 0.02));
    CHECK(attention(4, 1).total < attention(32, 1).total);
    // All heads take in 8 bytes a clock of each of ten SMs, 160 GB/s.
    CHECK(attention(4, 1).total.in(us) >= 32 * 8192 * width / 160e3);
    CHECK(attention(4, 64).total == attention(32, 64).total);  // prompts, in tiles
}

TEST_CASE("separate GEMMs of attention may compute in TF32, and 16-bit ones on CUDA cores with operands of 16 bits") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::tf32)] = gpu.profile.tensor_peak[index(Precision::fp16)] = 100 * tflops;
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.profile.boost_clock *= 1000;  // nothing waits
    Attention op{.batch = 4, .heads = 8, .kv_heads = 8, .head_dim = 64, .value_dim = 64, .query_len = 1024, .kv_len = 1024};
    op.fused = op.cached = false;
    op.precision = op.kv_precision = Precision::fp32;
    const auto time = [&gpu](const Attention& a) { return cost(a, gpu).total.in(us); };
    const double in_fp32 = time(op);
    op.gemm_precision = Precision::tf32;
    const double products = 2.0 * 2 * 32 * 1024 * 1024 * 64;  // FLOP
    CHECK(in_fp32 - time(op) == rel(products / 1e6 * (1.0 / 10 - 1.0 / 100), 0.02));
    CHECK(physical_floor(op, gpu.profile).in(us) == rel(products / 1e6 / 100, 0.05));  // the softmax beside
    Attention narrow = op;
    narrow.precision = narrow.kv_precision = Precision::fp16;
    narrow.gemm_precision.reset();
    const double on_units = time(narrow);
    const Bytes bytes = cost(narrow, gpu).dram_bytes;
    narrow.gemm_precision = Precision::fp32;
    CHECK(time(narrow) - on_units == rel(products / 1e6 * (1.0 / 10 - 1.0 / 100), 0.02));
    CHECK(cost(narrow, gpu).dram_bytes == bytes);
}
