#include "scenario/recommendation_grid.hpp"

#include <fmt/format.h>

#include <array>

#include "prediction/degrees.hpp"
#include "prediction/shapes.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::int64_t, 4> gpus_of_a_copy{1, 2, 4, 8};  // one machine

/// The model's own where it has 16 bits, else the first of bf16 and fp16 that `gpu` has.
std::optional<Precision> sixteen_bits(const Workload& workload, const GpuProfile& gpu) {
    for (const Precision p : {workload.default_precision, Precision::bf16, Precision::fp16}) {
        if (element_size(p) == element_size(Precision::fp16) && gpu.supports(p)) return p;
    }
    return std::nullopt;
}

bool is_joined(const GpuProfile& gpu) {
    return gpu.nvlink.has_value() || gpu.pcie_generation > 0;
}

/// Formats for `gpu`, those that keep quality first.
std::vector<RunFormat> formats(const Workload& workload, const GpuProfile& gpu, const RecommendationRequest& request) {
    std::vector<RunFormat> found;
    const auto precision = request.precision_fixed ? std::optional(request.run.precision) : sixteen_bits(workload, gpu);
    if (precision) found.push_back({*precision, request.run.weights, Quality::kept});
    if (request.allow_quantization && !request.weights_fixed) {
        if (precision) add_weight_formats(found, workload, *precision);
        if (!request.precision_fixed) add_narrow_precisions(found, workload, true);
    }
    std::erase_if(found, [&gpu](const RunFormat& f) { return !gpu.supports(f.precision); });
    return found;
}

/// How the GPUs of one copy share it: tensor-parallel, or a pipeline where the heads do not divide. Other models take one GPU.
std::vector<Parallelism> copy_degrees(const Workload& workload, const GpuProfile& gpu, const RecommendationRequest& request) {
    if (request.tensor || request.pipeline) return {{.tensor = request.tensor.value_or(1), .pipeline = request.pipeline.value_or(1)}};
    const DecoderLlm* llm = language_model(workload);
    if (llm == nullptr || !is_joined(gpu)) return {{}};
    std::vector<Parallelism> degrees;
    for (const std::int64_t gpus : gpus_of_a_copy) {
        if (gpus > gpu.gpus_per_machine) break;
        if (splits_heads(*llm, gpus)) {
            degrees.push_back({.tensor = gpus});
        } else if (gpus <= llm->layers) {
            degrees.push_back({.pipeline = gpus});
        }
    }
    return degrees;
}

}  // namespace

std::vector<CopySettings> copy_settings(const Workload& workload, const GpuProfile& gpu, const RecommendationRequest& request) {
    std::vector<CopySettings> all;
    for (const RunFormat& format : formats(workload, gpu, request)) {
        for (const Parallelism& parallel : copy_degrees(workload, gpu, request)) all.push_back({format, parallel});
    }
    return all;
}

Run run_of_copy(const Workload& workload, const RecommendationRequest& request, const CopySettings& settings, std::int64_t batch) {
    Run run = request.run;
    run.precision = settings.format.precision;
    run.weights = settings.format.weights;
    run.batch = batch;
    run.parallel = settings.parallel;
    return completed_sizes(run, workload);
}

std::string described(const CopySettings& settings) {
    const auto degree = [](const char* name, std::int64_t n) { return n > 1 ? fmt::format("{} {}, ", name, n) : std::string(); };
    return fmt::format("{}{}{}", degree("tp", settings.parallel.tensor), degree("pp", settings.parallel.pipeline),
                       described(settings.format));
}

std::vector<std::int64_t> deployment_batches(const RecommendationRequest& request) {
    if (request.batch_fixed) return {request.run.batch};
    return {batch_grid.begin(), batch_grid.end()};
}

std::string recommendation_grid_text(const RecommendationRequest& r, bool simulated) {
    const std::string precision = r.precision_fixed ? fmt::format("precision {} as asked for", name(r.run.precision))
                                                    : std::string("16 bits (the model's own, else bf16, else fp16)");
    const std::string narrow = r.weights_fixed || !r.allow_quantization ? ""
                               : r.precision_fixed                      ? ", also int8 and int4 weights"
                                                                        : ", also int8 and int4 weights and fp8, int8 and fp4 arithmetic";
    std::string degrees = fmt::format("{} GPUs a copy (tp, or pp where heads do not divide)", fmt::join(gpus_of_a_copy, ", "));
    if (r.tensor || r.pipeline) degrees = fmt::format("tp {}, pp {} as asked for", r.tensor.value_or(1), r.pipeline.value_or(1));
    return fmt::format("{}{}; {}; {} {}; execution {}", precision, narrow, degrees,
                       simulated ? "limits on sequences in an engine:" : "batch",
                       r.batch_fixed ? fmt::format("{} as asked for", r.run.batch) : fmt::format("{}", fmt::join(batch_grid, ", ")),
                       name(r.run.execution));
}

}  // namespace roofcast
