#include <doctest/doctest.h>

#include "kernels/attention/toy_attention.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::far;
using test::fp32_attention;
using test::rel;
using test::run;

TEST_CASE("widths that only a general kernel takes run in blocks of 16 rows, about as fast as 128 CUDA cores compute") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 100 * tb_per_s;
    Attention op = fp32_attention(10, 8, 1024, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    const Seconds usual = cost(op, gpu).compute;
    gpu.profile.libraries.general_attention = test::design("triton-general").design;
    gpu.profile.libraries.general_widths[index(CacheFormat::plain)] = {64};
    CHECK(cost(op, gpu).compute == usual);
    gpu.profile.libraries.general_widths[index(CacheFormat::plain)] = {64, 128};
    gpu.profile.fp32_units_per_sm = 128;
    // 80 · 1024² scores · 512 FLOP at 0.85 of 10 TFLOP/s are 5052.9 us, half a block of 9.87 us late; 80 · 64 blocks start in 512 waves
    // of 2.5 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(5052.9 + 4.9 + 1280, 1e-3));
    gpu.profile.fp32_units_per_sm = 64;  // half the CUDA cores make as much of them
    CHECK(cost(op, gpu).compute.in(us) == rel((5052.9 + 4.9) / 2 + 1280, 1e-3));
    gpu.profile.fp32_units_per_sm = 128;
    op = fp32_attention(1, 1, 1, 16384);
    op.precision = op.kv_precision = Precision::fp16;
    // Keys are split into 16 parts at most: 16 rows · 1024 · 512 FLOP at 0.85 TFLOP/s are 9.87 us a wave, in 1.6 waves on 10 SMs, which
    // start twice.
    CHECK(cost(op, gpu).compute.in(us) == rel(1.6 * 9.87 + 2 * 2.5, 1e-2));
}

TEST_CASE("sinks take the general kernel where FlashAttention-2, which has none for them, is the library of an engine that says so") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 100 * tb_per_s;
    Attention op = fp32_attention(10, 8, 1024, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    op.sinks = true;
    gpu.profile.fp32_units_per_sm = 128;
    gpu.profile.libraries.general_attention = test::design("triton-general").design;
    gpu.profile.libraries.general_widths[index(CacheFormat::plain)] = {128};
    const Seconds general = cost(op, gpu).total;
    gpu.profile.libraries.general_widths[index(CacheFormat::plain)] = {};
    for (const std::string_view library : {"flash-attention-2", "flash-attention-3"}) {
        run(library, gpu);
        gpu.caller.general_sinks = false;
        const Seconds usual = cost(op, gpu).total;
        CHECK(usual < general);
        gpu.caller.general_sinks = true;
        CHECK(cost(op, gpu).total == (library == "flash-attention-2" ? general : usual));
    }
    // Whatever the format of the cache, for which engines have kernels of another library.
    run("flash-attention-2", gpu);
    gpu.profile.libraries.attention[index(CacheFormat::narrow)] = test::design("flashinfer");
    op.kv_precision = Precision::fp8;
    CHECK(cost(op, gpu).compute > 0.99 * general);
    gpu.caller.general_sinks = false;
    CHECK(cost(op, gpu).compute < 0.9 * general);
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
    run("flash-attention-3", gpu);
    for (const std::int64_t queries : {2, 16, 64}) {
        CAPTURE(queries);
        op.query_len = queries;
        CHECK(stream(op, 256) == rel(262.1, 1e-3));
    }
    op.kv_precision = op.precision;
    CHECK(stream(op, 256) < 100);
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
    run("flash-attention-2", gpu);
    CHECK(cost(op, gpu).total.in(us) == rel(8 + far, 1e-2));
    gpu.caller.sharing_groups = GroupSizes{};  // an engine's own kernel, whatever the library
    CHECK(cost(op, gpu).total.in(us) == rel(6 + far, 1e-2));
}

TEST_CASE("blocks of queries compute their scores again for values wider than 256") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 100 * tb_per_s;
    const auto compute = [&gpu](std::int64_t width, std::int64_t queries) {
        Attention op = fp32_attention(10, 1, queries, 1024);
        op.head_dim = op.value_dim = width;
        return cost(op, gpu).compute.in(us);
    };
    // One more GEMM of queries and keys in addition to the two.
    CHECK(compute(512, 1024) == rel(1.5 * 2 * compute(256, 1024), 1e-9));
    CHECK(compute(256, 1024) == rel(2 * compute(128, 1024), 1e-9));
    CHECK(compute(512, 1) == rel(2 * compute(256, 1), 1e-9));  // decoding does not
}

TEST_CASE("TensorRT computes a head of a short sequence in one block, whose softmax takes cycles of the SM whatever its CUDA cores") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    const auto on = [&gpu](const char* architecture, ComputeCapability capability) {
        gpu.profile.architecture = architecture;
        gpu.profile.compute_capability = capability;
        gpu.profile.libraries.head_blocks = with_libraries(gpu.profile, test::shipped_software()).libraries.head_blocks;
    };
    on("ampere", {8, 0});
    Attention op = fp32_attention(5, 2, 256, 256);
    op.precision = op.kv_precision = Precision::fp16;
    op.head_dim = op.value_dim = 64;
    op.cached = false;
    const auto compute = [&gpu](const Attention& a) { return cost(a, gpu).compute.in(us); };
    const double products = 256 * 256 * 2 * 128 / 1e6, softmax = 256 * 256 * 0.38e-3;  // us of an SM
    // Ten heads cut into twenty blocks of 128 queries, two an SM, of which the last end a quarter of a block late.
    CHECK(compute(op) == rel(1.125 * products, 1e-3));
    gpu.caller.head_blocks = true;
    CHECK(compute(op) == rel(products + softmax, 1e-3));
    gpu.profile.vector_peak[index(Precision::fp32)] = 20 * tflops;
    CHECK(compute(op) == rel(products + softmax, 1e-3));
    // A single sequence of two heads: two blocks, on Ampere in 16 bits four of half as many queries.
    op.batch = 1;
    CHECK(compute(op) == rel((products + softmax) / 2, 1e-3));
    on("volta", {7, 2});
    CHECK(compute(op) == rel(products + softmax, 1e-3));
    // In 8 bits none is cut on the A100, but on Ada up to eight sequences are.
    op.precision = op.kv_precision = Precision::int8;
    on("ampere", {8, 0});
    CHECK(gpu.profile.libraries.head_blocks->cut_sequences_8bit == 0);
    on("ada", {8, 9});
    CHECK(gpu.profile.libraries.head_blocks->cut_sequences_8bit == 8);
    on("turing", {7, 5});
    CHECK(gpu.profile.libraries.head_blocks->cut_sequences_8bit == 1);
    on("volta", {7, 0});
    CHECK_FALSE(gpu.profile.libraries.head_blocks);
    op.precision = op.kv_precision = Precision::fp16;
    // Generations without such kernels, longer sequences, wider heads and attention to others take the usual ones.
    op.batch = 5;
    on("hopper", {9, 0});
    CHECK(compute(op) == rel(1.125 * products, 1e-3));
    on("ampere", {8, 0});
    op.query_len = op.kv_len = 1024;
    CHECK(compute(op) == rel(16.875 * products, 1e-3));
    op.query_len = op.kv_len = 256;
    op.head_dim = op.value_dim = 128;
    CHECK(compute(op) == rel(2 * 1.125 * products, 1e-3));
    op.head_dim = op.value_dim = 64;
    op.kv_len = 128;
    CHECK(compute(op) == rel(1.125 * products / 2, 1e-3));
}

TEST_CASE("attention without a KV cache starts as any kernel does, with one as its engine's kernels around it do") {
    Gpu gpu = test::toy_gpu();
    gpu.parameters.values.attention[index(CacheFormat::plain)].fixed_cycles = 9000;
    gpu.parameters.values.row_wise.fixed = 3 * us;
    Attention op = fp32_attention(1, 1, 128, 128);
    CHECK(cost(op, gpu, Cache::warm).launch.in(us) == rel(9, 1e-3));
    op.cached = false;
    CHECK(cost(op, gpu, Cache::warm).launch.in(us) == rel(3, 1e-3));
}

TEST_CASE("a framework multiplies fp32 as three GEMMs of TF32 on blocks of 64 queries, where tensor cores have TF32") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.profile.tensor_peak[index(Precision::tf32)] = 20 * tflops;
    Attention op = fp32_attention(1, 10, 64, 64);
    op.head_dim = op.value_dim = 64;
    op.cached = false;
    const auto compute = [&] { return cost(op, gpu).compute.in(us); };
    const double by_simt = compute();
    gpu.caller.framework = true;
    // A block an SM: 64 · 64 scores of three GEMMs of 128 at 2 TFLOP/s, and of 172 instructions at 0.5 T a second.
    CHECK(compute() == rel(64 * 64 * (3 * 2 * 128 / 2e6 + 172 / 0.5e6), 1e-3));
    CHECK(compute() != rel(by_simt, 1e-3));
    gpu.profile.tensor_peak[index(Precision::tf32)].reset();
    CHECK(compute() == rel(by_simt, 1e-9));
}

TEST_CASE("scores in fp16 take more energy than in bf16, as GEMMs do") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.tensor_peak[index(Precision::bf16)] = gpu.profile.tensor_peak[index(Precision::fp16)];
    gpu.parameters.values.power.dram_byte = {};
    const auto energy = [&gpu](Precision precision) {
        Attention op = fp32_attention(10, 8, 1024, 1024);
        op.precision = op.kv_precision = precision;
        return cost(op, gpu).energy;
    };
    CHECK(energy(Precision::fp16) / energy(Precision::bf16) == rel(1.05, 1e-9));
}

namespace {

/// A ViT's attention in a framework: 256 images, 12 heads of 64.
Attention vision_attention(std::int64_t tokens) {
    return {
        .batch = 256, .heads = 12, .kv_heads = 12, .head_dim = 64, .value_dim = 64, .query_len = tokens, .kv_len = tokens, .cached = false};
}

}  // namespace

TEST_CASE("frameworks run cuDNN's attention on Hopper, in steps of 128 keys") {
    Gpu hopper = test::shipped_gpu("h100-sxm5-80gb");
    hopper.caller.framework = true;
    const auto time = [&hopper](const Attention& op) { return cost(op, hopper, Cache::warm).total.in(us); };
    CHECK(time(vision_attention(197)) == rel(177, 0.15));  // traced
    CHECK(time(vision_attention(65)) == rel(54.7, 0.25));
    // 65 to 128 tokens are one step, in which the longer sequences only read more.
    CHECK(time(vision_attention(128)) < 1.2 * time(vision_attention(65)));
    CHECK(time(vision_attention(129)) > 1.5 * time(vision_attention(128)));
    // A causal mask and wide heads start later.
    const auto start = [&hopper](bool causal, std::int64_t width) {
        Attention op = vision_attention(64);
        op.causal = causal;
        op.head_dim = op.value_dim = width;
        return cost(op, hopper, Cache::warm).launch.in(us);
    };
    CHECK(start(true, 64) > start(false, 64));
    CHECK(start(false, 128) > start(false, 64));
}

TEST_CASE("a tensor added to the scores takes instructions in a framework's kernels") {
    Attention op = vision_attention(196);
    for (const char* id : {"h100-sxm5-80gb", "rtx-4090"}) {
        INFO(id);
        Gpu gpu = test::shipped_gpu(id);
        const auto time = [&](bool biased, bool framework) {
            op.biased = biased;
            gpu.caller.framework = framework;
            return cost(op, gpu).compute.in(us);
        };
        CHECK(time(true, true) > 1.05 * time(false, true));
        CHECK(time(true, false) == time(false, false));
    }
}
