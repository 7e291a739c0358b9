#include <doctest/doctest.h>

#include "kernels/attention/toy_attention.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::far;
using test::fp32_attention;
using test::rel;
using test::run;

TEST_CASE("prefill blocks of 128 queries fill the SMs in waves") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    // 10 heads of 128 queries: one block each, 128 · 1024 scores · 512 FLOP / 1 TFLOP/s = 67.1 us, and 2 to reach DRAM.
    CHECK(cost(fp32_attention(1, 10, 128, 1024), gpu).total.in(us) == rel(67.11 + far, 1e-3));
}

TEST_CASE("several queries a sequence share a block with other heads only where kernels pack them") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    Attention op = fp32_attention(10, 8, 2, 64);
    op.kv_heads = 1;
    // 80 blocks of 128 x 64 scores · 512 FLOP / 1 TFLOP/s = 4.194 us: 8 an SM, and half a block of imbalance less an eighth: 35.39 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(35.39, 1e-3));
    run("flash-attention-3", gpu);
    // One block a sequence: 8 heads of 2 queries share its 128 rows, 128 · 64 · 512 FLOP / 1 TFLOP/s = 4.194 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(4.194, 1e-3));
    op.head_dim = op.value_dim = 64;  // blocks of 192 rows, half the arithmetic a score
    CHECK(cost(op, gpu).compute.in(us) == rel(3.146, 1e-3));
    run("flashinfer", gpu);
    op.head_dim = op.value_dim = 128;  // 16 rows
    CHECK(cost(op, gpu).compute.in(us) == rel(0.524, 1e-3));
}

TEST_CASE("in mixed steps FlashAttention-2 takes a block of 64 queries for each head of a decoding sequence, others decode as ever") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    run("flash-attention-2", gpu);
    Attention op = fp32_attention(5, 8, 1, 1024);
    op.kv_heads = 2;
    const KernelCost alone = cost(op, gpu);
    op.in_prefill_kernel = true;
    const KernelCost joined = cost(op, gpu);
    // 40 blocks, 4 an SM, each 64 · 1024 scores · 512 FLOP / 1 TFLOP/s = 33.55 us; they end half a block less an eighth late.
    CHECK(joined.compute.in(us) == rel((4 + 0.375) * 33.55, 1e-3));
    CHECK(joined.launch.in(us) == rel(far, 1e-3));  // Q and the output keep their order
    CHECK(alone.compute < 0.2 * joined.compute);
    for (const std::string_view library : {"flash-attention-3", "flashinfer", "trtllm-gen"}) {
        run(library, gpu);
        op.in_prefill_kernel = true;
        const Seconds beside = cost(op, gpu).total;
        op.in_prefill_kernel = false;
        CHECK(cost(op, gpu).total == beside);
    }
}

TEST_CASE("causal blocks of unequal length end late by a part of the longest, which depends on who schedules them") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    Attention op = fp32_attention(1, 20, 128, 1024);
    // 20 blocks, two an SM, each 128 · 1024 · 512 FLOP / 1 TFLOP/s = 67.11 us.
    const auto late = [&](std::string_view library) {
        run(library, gpu);
        return cost(op, gpu).compute.in(us) / 67.11 - 2;
    };
    CHECK(late("triton") == rel(0.5 / 2, 1e-3));
    CHECK(late("flash-attention-3") == rel(0.2 / 2, 2e-3));
}

TEST_CASE("the last wave of blocks starts whole, and one of FlashAttention-3 streams nothing for 0.7 of its start") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.profile.vector_peak[index(Precision::fp32)] = 1e6 * tflops;
    gpu.parameters.values.attention[index(CacheFormat::plain)].split_block = 10 * us;
    gpu.parameters.values.attention[index(CacheFormat::plain)].block = 1000 * us;  // by keys is faster
    Attention op = fp32_attention(12, 1, 1, 64);                                   // 1.2 blocks an SM
    const auto starts = [&](std::string_view library) {
        run(library, gpu);
        const KernelCost c = cost(op, gpu);
        return std::pair{c.compute.in(us), c.launch.in(us)};
    };
    CHECK(starts("triton").first == rel(20, 1e-2));
    CHECK(starts("flashinfer").first == rel(12, 1e-2));
    const double elsewhere = starts("triton").second;
    const auto [beside, alone] = starts("flash-attention-3");
    CHECK(beside == rel(6, 1e-2));
    CHECK(alone - elsewhere == rel(14 + 12 * 0.035, 1e-2));  // and its search through 12 sequences
}

TEST_CASE("FlashInfer cuts packed rows into blocks of 16, 64 or 128") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    run("flashinfer", gpu);
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
    run("flash-attention-3", gpu);
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

TEST_CASE("an SM reads an equal part of DRAM's rate, and some bytes a clock beyond it") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.vector_peak[index(Precision::fp32)] = 1e6 * tflops;
    for (AttentionParameters& p : gpu.parameters.values.attention) p.own_bytes_per_sm_clock = 30;
    run("flashinfer", gpu);  // decodes by keys alone
    // One of 10 SMs takes 40 GB/s: 10 of DRAM's 100, and 30 bytes at 1 GHz. 1024 keys · 256 · 4 B = 1.049 MB.
    Attention op = fp32_attention(1, 1, 1, 1024);
    gpu.caller.splits_ungrouped = false;
    CHECK(cost(op, gpu).total.in(us) == rel(26.21 + far, 1e-3));
    // Keys stored in half the bytes come from DRAM at twice the rate, but are converted to the same on the SM: 20 and 30 bytes.
    op.kv_precision = Precision::fp16;
    CHECK(cost(op, gpu).total.in(us) == rel(20.97 + far, 1e-3));
    gpu.caller.converts_cache = false;
    CHECK(cost(op, gpu).total.in(us) == rel(13.11 + far, 1e-3));
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
    gpu.caller.splits_ungrouped = false;
    CHECK(cost(op, gpu).total.in(us) == rel(83.9 + far, 1e-3));
}

TEST_CASE("FlashAttention-2 takes 64 queries a block where engines page the cache, other kernels what the architecture says") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10 * tb_per_s;
    run("flash-attention-2", gpu);
    Attention op = fp32_attention(1, 1, 128, 1024);
    op.causal = true;
    // Two blocks side by side: 64 · 1024 scores · 512 FLOP / 1 TFLOP/s = 33.55 us.
    CHECK(cost(op, gpu).compute.in(us) == rel(33.55, 1e-3));
    op.cached = false;
    CHECK(cost(op, gpu).compute.in(us) == rel(67.11, 1e-3));
    gpu.profile.libraries.query_block = 256;
    op.query_len = 256;
    CHECK(cost(op, gpu).compute.in(us) == rel(134.2, 1e-3));
    op.head_dim = op.value_dim = 256;  // blocks of 128 rows of heads this wide, twice the arithmetic
    CHECK(cost(op, gpu).compute.in(us) == rel(134.2, 1e-3));
}

TEST_CASE("FlashInfer converts a narrower cache in each warp and splits keys over free SMs also for several queries") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    run("flashinfer", gpu);
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

TEST_CASE("trtllm-gen hides most of softmax or of the GEMMs, takes rows in by tiles and splits keys whenever SMs are free") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    gpu.parameters.values.attention[index(CacheFormat::plain)].softmax_operations = 512;
    Attention op = fp32_attention(10, 8, 1024, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    const Seconds apart = cost(op, gpu).compute;
    run("trtllm-gen", gpu);
    // 512 FLOPs a score at 10 TFLOP/s, and as many operations at 5. 640 blocks on 10 SMs end 0.8 of a block late, others 0.5.
    const double late = 1 - 10.0 / 640;
    CHECK(cost(op, gpu).compute / apart == rel((102.4 + 0.2 * 51.2) / (102.4 + 51.2) * (64 + 0.8 * late) / (64 + 0.5 * late), 1e-6));

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

TEST_CASE("heads that decode apart go through shared keys one by one, on CUDA cores, and read them from DRAM once") {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    gpu.parameters.values.attention[index(CacheFormat::plain)].split_block = 1 * us;
    Attention op = fp32_attention(10, 8, 1, 1024);
    op.precision = op.kv_precision = Precision::fp16;
    op.kv_heads = 1;
    const KernelCost together = cost(op, gpu);
    gpu.caller.sharing_groups = GroupSizes{};
    // 80 heads on 10 SMs: 8 · 1024 keys · 256 elements · 4.5 instructions at 500 a ns are 18.87 us, and one start.
    KernelCost apart = cost(op, gpu);
    CHECK(apart.compute.in(us) == rel(18.87 + 1, 1e-3));
    CHECK(apart.dram_bytes == together.dram_bytes);
    // 8 bits: 2.5 instructions more for an element.
    op.kv_precision = Precision::fp8;
    gpu.caller.converts_cache = false;
    CHECK(cost(op, gpu).compute.in(us) == rel(18.87 * 7 / 4.5 + 1, 1e-3));
}

TEST_CASE("over a window, and in kernels for prompts, one query takes a block of its own head however many heads share keys") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    Attention apart = fp32_attention(10, 8, 1, 1024), shared = apart;
    shared.kv_heads = 1;
    run("flash-attention-2", gpu);
    CHECK(cost(shared, gpu).compute < cost(apart, gpu).compute);
    apart.window = shared.window = 128;
    // 80 blocks of 64 rows and 129 keys in steps of 64: 80 · 64 · 192 · 512 FLOP / 10 TFLOP/s = 50.33 us, and half a block less an eighth.
    CHECK(cost(shared, gpu).compute.in(us) == rel(50.33 + 6.291 / 2 * 7 / 8, 1e-3));
    CHECK(cost(shared, gpu).compute == cost(apart, gpu).compute);
    apart.window = shared.window = 0;
    run("tensorrt-llm-context", gpu);
    CHECK(cost(shared, gpu).compute == cost(apart, gpu).compute);
}

TEST_CASE("Triton's prompts take time for keys that the window leaves out, as they go through all earlier ones") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    Attention op = fp32_attention(1, 10, 1024, 1024);
    op.causal = true;
    op.window = 128;
    run("triton-extend", gpu);
    const Seconds with = cost(op, gpu).compute;
    for (AttentionKernels& kernels : gpu.profile.libraries.attention) kernels.design.masked_score_cycles = 0;
    // Blocks see 128 + 64 keys. 832 queries leave out 416 on average: 346,112 scores a head and SM, and 64 · 832 of the longest block, of
    // which half less a sixteenth ends late. Each takes 0.45 cycles.
    const double scores = 832 * 416 + 0.5 * 64 * 832 * (1 - 10.0 / 160);
    CHECK((with - cost(op, gpu).compute).in(us) == rel(scores * 0.45 / gpu.profile.boost_clock.in(hertz)*1e6, 1e-3));
    op.window = 0;
    CHECK(cost(op, gpu).compute > Seconds{});
}

TEST_CASE("where blocks of all heads take turns, each brings from DRAM what L2 cannot hold of all keys") {
    Gpu gpu = test::toy_gpu();
    Attention op = fp32_attention(1, 10, 640, 640);
    run("triton-prefill", gpu);
    gpu.parameters.values.attention[0].bandwidth_fraction = 1;
    const Bytes keys = 10.0 * 640 * 2 * 128 * 4 * byte;
    gpu.profile.l2 = keys;
    CHECK(cost(op, gpu).l2 == Seconds{});
    gpu.profile.l2 = 0.5 * keys;
    // 100 blocks of 64 queries, ten a head: half of all keys ten times.
    CHECK(cost(op, gpu).l2.in(us) == rel((5.0 * keys / gpu.profile.data_bandwidth(Traffic::read)).in(us), 1e-3));
}

TEST_CASE("a slower path of the tensor cores and the fitted start of kernels are facts of a design") {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 1000 * tb_per_s;
    Attention op = fp32_attention(1, 10, 128, 1024);
    run("triton", gpu);
    const KernelCost usual = cost(op, gpu);
    for (AttentionKernels& kernels : gpu.profile.libraries.attention) {
        kernels.design.tensor_core_rate = 0.5;
        kernels.design.fitted_start = true;
    }
    CHECK(cost(op, gpu).compute.in(us) == rel(2 * usual.compute.in(us), 1e-3));
    gpu.parameters.values.attention[0].fixed_cycles += 1000;
    const KernelCost later = cost(op, gpu);
    gpu.parameters.values.attention[0].fixed_cycles -= 1000;
    CHECK((later.total - cost(op, gpu).total).in(us) == rel(1000 / gpu.profile.boost_clock.in(hertz)*1e6, 1e-3));
}
