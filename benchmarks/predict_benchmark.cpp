// Speed of predictions, uncached, on one core.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "roofcast.h"
#include "roofcast/prediction.hpp"

namespace {

using namespace roofcast;

std::filesystem::path gpus() {
    return std::filesystem::path(ROOFCAST_SOURCE_DIR) / "gpus";
}
std::filesystem::path software_folder() {
    return std::filesystem::path(ROOFCAST_SOURCE_DIR) / "software";
}
std::filesystem::path models() {
    return std::filesystem::path(ROOFCAST_SOURCE_DIR) / "models";
}

/// Sizes that differ from call to call, so that nothing can be hoisted.
std::int64_t varied(std::int64_t i) {
    return 64 + (i * 37) % 4096;
}

void gemm(benchmark::State& state) {
    const Gpu gpu = load_gpu(gpus(), "a100-sxm4-80gb");
    std::int64_t i = 0;
    for (auto _ : state) {
        ++i;
        benchmark::DoNotOptimize(cost(Gemm{.m = varied(i), .n = varied(i + 1), .k = varied(i + 2), .precision = Precision::bf16}, gpu));
    }
}
BENCHMARK(gemm);

void attention(benchmark::State& state) {
    const Gpu gpu = load_gpu(gpus(), "a100-sxm4-80gb");
    std::int64_t i = 0;
    for (auto _ : state) {
        ++i;
        benchmark::DoNotOptimize(cost(Attention{.batch = 4,
                                                .heads = 32,
                                                .kv_heads = 8,
                                                .head_dim = 128,
                                                .value_dim = 128,
                                                .query_len = varied(i),
                                                .kv_len = varied(i),
                                                .causal = true},
                                      gpu));
    }
}
BENCHMARK(attention);

/// One forward pass of a language model: graph, kernels and timeline.
void forward(benchmark::State& state, const char* model, bool decode) {
    const Gpu gpu = load_gpu(gpus(), "h200-sxm-141gb");
    const Workload workload = find_workload(models(), model);
    const auto& llm = std::get<DecoderLlm>(workload.architecture);
    const SoftwareStack stack = load_software(software_folder()).find(Execution::cuda_graph, "");
    const Run run{.batch = 4, .precision = Precision::bf16, .weights = native_weights(Precision::bf16), .kv_precision = Precision::bf16};
    std::int64_t i = 0;
    for (auto _ : state) {
        const OpGraph graph =
            decode ? decode_graph(llm, run, stack.lowering, varied(++i)) : prefill_graph(llm, run, stack.lowering, varied(++i));
        benchmark::DoNotOptimize(timeline(graph, gpu, stack).total);
    }
}
BENCHMARK_CAPTURE(forward, llama_70b_prefill, "llama-3.1-70b", false);
BENCHMARK_CAPTURE(forward, llama_70b_decode, "llama-3.1-70b", true);

/// A whole prediction with its memory estimate.
void prediction(benchmark::State& state, const char* model) {
    const Gpu gpu = load_gpu(gpus(), "h200-sxm-141gb");
    const Workload workload = find_workload(models(), model);
    const SoftwareStacks software = load_software(software_folder());
    Run request;
    request.precision = Precision::fp16;
    for (auto _ : state) benchmark::DoNotOptimize(predict(workload, gpu, request, software).latency);
}
BENCHMARK_CAPTURE(prediction, llama_8b, "llama-3.1-8b");
BENCHMARK_CAPTURE(prediction, resnet50, "resnet50");

/// A step of a serving engine as simulators ask for it, from C, once the table is there.
void step(benchmark::State& state) {
    setenv("ROOFCAST_DATA", ROOFCAST_SOURCE_DIR, 0);
    const char* settings[] = {"software=vllm", "precision=fp8", "tp=2", nullptr};
    roofcast_step_model* model = roofcast_step_model_new("llama-3.1-70b", "h100-sxm5-80gb", settings);
    roofcast_step_model_prepare(model);
    std::int64_t i = 0;
    for (auto _ : state) {
        ++i;
        benchmark::DoNotOptimize(roofcast_step_us(model, i % 2 == 0 ? varied(i) : 0, 1 + i % 512, static_cast<double>(varied(i + 1))));
    }
    roofcast_step_model_free(model);
}
BENCHMARK(step);

/// A net of many layers, some of which are read far behind: the time must be linear in them (a hundred thousand: under two seconds).
void many_layers(benchmark::State& state) {
    const Gpu gpu = load_gpu(gpus(), "h200-sxm-141gb");
    const SoftwareStacks software = load_software(software_folder());
    constexpr std::int64_t behind = 500;
    ConvNet net{.image_size = 8};
    for (std::int64_t i = 0; i < state.range(0); ++i) {
        ConvLayer layer{.block = ConvBlock::add};
        layer.from = {-1, -1 - std::min(i, behind)};
        net.layers.push_back(layer);
    }
    const Workload workload{.id = "net", .architecture = net};
    Run request;
    request.precision = Precision::fp16;
    for (auto _ : state) benchmark::DoNotOptimize(predict(workload, gpu, request, software).latency);
    state.SetComplexityN(state.range(0));
}
BENCHMARK(many_layers)->RangeMultiplier(10)->Range(1000, 100'000)->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);
BENCHMARK_CAPTURE(prediction, bert_large, "bert-large");

}  // namespace

BENCHMARK_MAIN();
