#include "scenario/named_prediction.hpp"

namespace roofcast {

NamedPrediction named_prediction(const RunSettings& settings, const Workload& workload, const Gpu& gpu, const SoftwareStacks& software,
                                 const std::filesystem::path& models_folder) {
    const Run request = run_request(settings, workload, &gpu.profile, models_folder);
    NamedPrediction named{
        workload.id,         workload.name, gpu.profile.id, gpu.profile.name, predict(workload, gpu, request, software), {},
        gpu.profile.assumed, &gpu};
    if (settings.precision.empty()) named.prediction.notes.push_back(precision_note(workload, gpu.profile, request.precision));
    if (std::string note = format_note(request); !note.empty()) named.prediction.notes.push_back(std::move(note));
    const bool is_net = workload.family == "cnn" || workload.family == "detector";
    if (is_net && request.execution == Execution::cuda_graph && request.software.empty())
        named.prediction.notes.emplace_back(
            "cuda_graph does not fuse normalization and activations into convolutions; `execution` tensorrt or compiled does");
    if (const auto usable = gpu.profile.usable_memory())
        named.advice =
            memory_advice(workload, named.prediction.request, software, *usable, can_offload(gpu.profile), gpu.profile.gpus_per_machine);
    return named;
}

}  // namespace roofcast
