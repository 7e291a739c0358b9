#include "scenario/pipeline_stage.hpp"

#include <fmt/format.h>

#include <optional>

#include "io/field_names.hpp"
#include "prediction/longest_phase.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Keys of a stage that are called otherwise than the field, or the parameter, that they set.
std::optional<std::string> key_of(std::string_view field) {
    constexpr std::pair<std::string_view, std::string_view> keys[] = {
        {"generate_tokens", "output_tokens"}, {"parallel.tensor", "tensor_parallel"}, {"gpu", "device"}};
    for (const auto& [name, key] : keys) {
        if (field == name) return std::string(key);
    }
    return std::nullopt;
}

/// The same error, as one of the stage. Errors about other files stay as they are.
[[noreturn]] void rethrow(const Error& e, const Pipeline& pipeline, const PipelineStage& stage) {
    if (!e.detail().file.empty()) throw Error(e.detail());
    ErrorDetail detail = with_field_names(e.detail(), key_of, Backquotes::kept);
    detail.what = fmt::format("stage {}: {}", stage.name, detail.what);
    detail.file = pipeline.file;
    detail.line = stage.line;
    throw Error(std::move(detail));
}

void require_engine(const PipelineStage& stage, const SoftwareStacks& software) {
    const Run& r = stage.request;
    if (r.software.empty() || software.engine(r.execution, r.software) != nullptr) return;
    throw Error({.what = fmt::format("no engine of this name runs as {}", name(r.execution)),
                 .key = "software",
                 .found = r.software,
                 .expected = "an engine of `roofcast software list` with this execution mode"});
}

Gpu load_device(const PipelineStage& stage, const PipelineData& data, PredictedStage& into) {
    const GpuChoice choice = choose_gpu(data.gpus_folder, stage.device);
    Gpu gpu{load_gpu_profile(choice.file, data.gpus_folder), {}};
    gpu.parameters = load_parameters(data.gpus_folder, gpu.profile, data.user_fits);
    if (!choice.note.empty()) into.notes.push_back(choice.note);
    for (const Assumption& a : gpu.profile.assumed) into.assumed.emplace_back(gpu.profile.id, a);
    return gpu;
}

void predict_model(PredictedStage& into, const PipelineStage& stage, const PipelineData& data) {
    const Gpu gpu = load_device(stage, data, into);
    const Workload workload = find_workload(data.models_folder, stage.model);
    const Run& given = stage.request;
    refuse_useless({.prompt = given.prompt_tokens > 0,
                    .generate = given.generate_tokens > 0,
                    .kv_precision = stage.request.kv_precision.has_value(),
                    .image_size = given.image_size > 0},
                   workload);
    require_engine(stage, data.software);
    Run request = stage.request;
    request.precision = stage.precision.value_or(default_precision(workload, gpu.profile));
    const Prediction p = predict(workload, gpu, request, data.software);
    StageResult& result = into.result;
    result.stage.request = p.request;
    result.stage.model = workload.id;
    result.stage.device = gpu.profile.id;
    result.device = result.stage.resource();
    result.precision = std::string(name(request.precision));
    result.call = p.latency;
    result.bound = longest_phase(p).bound;
    if (p.intervals) result.interval = p.intervals->latency;
    result.memory = p.memory;
    if (p.memory.fits() == false)
        into.remedies = memory_advice(workload, p.request, data.software, *p.memory.usable, false, gpu.profile.gpus_per_machine).remedies;
    into.family = workload.family;
    into.withheld = p.withheld;
}

}  // namespace

PredictedStage predicted_stage(const Pipeline& pipeline, const PipelineStage& stage, const PipelineData& data) {
    PredictedStage predicted;
    StageResult& result = predicted.result;
    result.stage = stage;
    result.device = stage.resource();
    try {
        if (stage.known_latency) {
            result.call = *stage.known_latency;
            if (!stage.device.empty()) result.stage.device = load_device(stage, data, predicted).profile.id;
            result.device = result.stage.resource();
        } else {
            predict_model(predicted, stage, data);
        }
    } catch (const Error& e) {
        rethrow(e, pipeline, stage);
    }
    result.latency = stage.calls * result.call;
    return predicted;
}

}  // namespace roofcast
