#include "scenario/recommendation_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

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

}  // namespace

std::vector<RunFormat> deployment_formats(const Workload& workload, const GpuProfile& gpu, const RecommendationRequest& request) {
    std::vector<RunFormat> formats;
    const auto precision = request.precision_fixed ? std::optional(request.run.shape.precision) : sixteen_bits(workload, gpu);
    if (precision) formats.push_back({*precision, request.run.weights, Quality::kept});
    if (request.allow_quantization && !request.weights_fixed) {
        if (precision) add_weight_formats(formats, workload, *precision);
        if (!request.precision_fixed) add_narrow_precisions(formats, workload, true);
    }
    std::erase_if(formats, [&gpu](const RunFormat& f) { return !gpu.supports(f.precision); });
    return formats;
}

std::vector<Parallelism> copy_degrees(const Workload& workload, const GpuProfile& gpu) {
    const DecoderLlm* llm = language_model(workload);
    if (llm == nullptr || !is_joined(gpu)) return {{}};
    std::vector<Parallelism> degrees;
    for (const std::int64_t gpus : gpus_of_a_copy) {
        if (gpus > gpu.gpus_per_machine) break;
        if (llm->heads % gpus == 0) {
            degrees.push_back({.tensor = gpus});
        } else if (gpus <= llm->layers) {
            degrees.push_back({.pipeline = gpus});
        }
    }
    return degrees;
}

std::vector<std::int64_t> deployment_batches(const RecommendationRequest& request) {
    if (request.batch_fixed) return {request.run.shape.batch};
    return {batch_grid.begin(), batch_grid.end()};
}

std::string recommendation_grid_text(const RecommendationRequest& r) {
    const std::string precision = r.precision_fixed ? fmt::format("precision {} as asked for", name(r.run.shape.precision))
                                                    : std::string("16 bits: the model's own, else bf16, else fp16");
    const std::string narrow = r.weights_fixed || !r.allow_quantization ? ""
                               : r.precision_fixed                      ? "; int8 and int4 weights, as allowed"
                                                   : "; int8 and int4 weights, fp8, int8 and fp4 arithmetic, as allowed";
    return fmt::format(
        "{}; weights {}{}; batch {}; {} GPUs for a copy of a language model, tensor-parallel, or a pipeline where its heads "
        "do not divide, one for a copy of others; execution {}",
        precision, r.weights_fixed ? "as asked for" : "as computed or published", narrow,
        r.batch_fixed ? fmt::format("{} as asked for", r.run.shape.batch)
                      : fmt::format("{} until one does not fit or misses a limit", fmt::join(batch_grid, ", ")),
        fmt::join(gpus_of_a_copy, ", "), name(r.run.execution));
}

bool is_cheaper(const Deployment& a, const Deployment& b) {
    return std::tuple(a.cost->per_item, a.figures->latency) < std::tuple(b.cost->per_item, b.figures->latency);
}

bool same_but_batch(const Deployment& a, const Deployment& b) {
    return a.gpu == b.gpu && a.parallel.tensor == b.parallel.tensor && a.parallel.pipeline == b.parallel.pipeline &&
           a.precision == b.precision && a.weights == b.weights;
}

}  // namespace roofcast
