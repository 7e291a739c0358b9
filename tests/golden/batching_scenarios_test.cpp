/// Latency, throughput and their growth with the batch. Identities, physical bounds, and gains measured by others.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "golden/golden.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::Golden;
using test::rel;
using test::shipped_gpu;

namespace {

/// Items per second at `large` over those at 1.
double batching_gain(const Golden& golden, const char* model, const Gpu& gpu, Run run, std::int64_t large, const test::GoldenRun& how) {
    const double one = golden.run(model, gpu, run, how).items_per_second;
    run.batch = large;
    return golden.run(model, gpu, run, how).items_per_second / one;
}

/// Over `batches`: throughput grows, latency does not fall, and neither does better than the batch allows.
void check_growth(const char* model, const Gpu& gpu, const std::vector<std::int64_t>& batches) {
    const Golden golden;
    const Prediction first = golden.run(model, gpu, {.batch = 1, .precision = Precision::fp16});
    Seconds latency;
    double throughput = 0;
    for (const std::int64_t batch : batches) {
        CAPTURE(std::string(model));
        CAPTURE(batch);
        const Prediction p = golden.run(model, gpu, {.batch = batch, .precision = Precision::fp16});
        CHECK(p.latency >= latency * (1 - 1e-9));
        CHECK(p.items_per_second > throughput);
        // Identity: a batch takes its latency. Bound: n items never take more than n batches of one would.
        CHECK(p.items_per_second == rel(static_cast<double>(batch) / p.latency.in(s), 1e-9));
        CHECK(p.latency <= static_cast<double>(batch) * first.latency * (1 + 1e-9));
        latency = p.latency;
        throughput = p.items_per_second;
    }
}

}  // namespace

TEST_CASE("larger batches of a language model, an encoder and a convolutional net raise throughput and not one batch's speed") {
    const Gpu gpu = shipped_gpu("a100-sxm4-40gb");
    for (const char* model : {"llama-2-7b", "bert-base", "resnet50"}) check_growth(model, gpu, {1, 8, 32});
}

TEST_CASE("one, ten and a hundred sentences to embed: throughput grows, up to the data sheet's peak") {
    const Golden golden;
    for (const char* id : {"t4", "a100-sxm4-40gb"}) {
        const Gpu gpu = shipped_gpu(id);
        for (const char* model : {"all-minilm-l6-v2", "bge-base"}) check_growth(model, gpu, {1, 10, 100});
        // bge-base is BERT-base: 12 layers of 768 with 3072 inside are 85e6 weights, 2 FLOP each for 512 tokens; attention adds 4 · 512² ·
        // 768 FLOP a layer. 96.6 GFLOP a text: no more than 3229 texts/s at 312 TFLOP/s, 673 at 65.
        const double flop_each = 12 * (2 * 512.0 * 12 * 768 * 768 + 4 * 512.0 * 512 * 768);
        const double ceiling = gpu.profile.matmul_peak(Precision::fp16)->in(FlopsPerSecond{1}) / flop_each;
        const double texts =
            golden.run("bge-base", gpu, {.batch = 100, .prompt_tokens = 512, .precision = Precision::fp16}).items_per_second;
        CHECK(texts < ceiling);
        CHECK(texts > 0.15 * ceiling);  // large dense GEMMs reach a half and more; a T4 throttles to about a third
    }
}

TEST_CASE("batch 1 of a language model is bound by reading its weights, so that batching is almost free") {
    const Golden golden;
    const Gpu gpu = shipped_gpu("a100-sxm4-40gb");
    const Run run{.prompt_tokens = 512, .generate_tokens = 128, .precision = Precision::fp16};
    const Prediction one = golden.run("llama-2-7b", gpu, run);
    // 6.61e9 weights outside the embedding table, 2 bytes each, at 1555 GB/s: 8.5 ms a token at least.
    CHECK(one.tpot->in(ms) > 2 * 6.607 / 1555 * 1e3);
    CHECK(one.tpot->in(ms) < 2.5 * 2 * 6.607 / 1555 * 1e3);
    Run eight = run;
    eight.batch = 8;
    // 8 caches of 576 tokens are 2.4 GB beside 13.2 GB: a fifth more bytes, where compute still hides.
    const double more = *golden.run("llama-2-7b", gpu, eight).tpot / *one.tpot;
    CHECK(more > 1);
    CHECK(more < 1.5);
}

TEST_CASE("what batching gains a ResNet-50 and a BERT is near what NVIDIA measured") {
    const Golden golden;
    const Gpu gpu = shipped_gpu("a100-sxm4-40gb");
    // NVIDIA/DeepLearningExamples @729963dd, A100 SXM4 40GB, fp16, TensorFlow 1 with XLA: 223.35 images/s at batch 1, 3570.5 at 64: 16.0.
    CHECK(batching_gain(golden, "resnet50", gpu, {.precision = Precision::fp16}, 64,
                        {.execution = Execution::compiled, .software = "tensorflow1"}) == rel(16.0, 0.4));
    // NVIDIA/TensorRT demo/BERT @8f76bfe9 (TensorRT 8.2), A100 SXM4 40GB, BERT-large fp16, 128 tokens: 1.58 ms at batch 1, 13.77 ms at 32:
    // 32 · 1.58 / 13.77 = 3.67.
    CHECK(batching_gain(golden, "bert-large", gpu, {.prompt_tokens = 128, .precision = Precision::fp16}, 32,
                        {.execution = Execution::tensorrt}) == rel(3.67, 0.35));
}
