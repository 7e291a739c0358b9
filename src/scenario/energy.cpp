#include "roofcast/energy.hpp"

namespace roofcast {

namespace {

/// Mean power without the GPU's limit.
Watts asked_power(const GpuProfile& gpu, Joules dynamic, Seconds time) {
    return gpu.idle + dynamic / time;
}

PhaseEnergy phase_energy(const Phase& phase, const Parallelism& parallel, const GpuProfile& gpu) {
    const Joules dynamic = phase.passes * phase.timeline.dynamic_energy / static_cast<double>(parallel.pipeline);
    PhaseEnergy e{.phase = phase.name, .latency = phase.latency, .watts = {}, .joules = {}};
    if (!(phase.latency > Seconds{})) return e;
    e.watts = mean_power(gpu, dynamic, phase.latency);
    e.capped = asked_power(gpu, dynamic, phase.latency) > gpu.tdp;
    e.joules = static_cast<double>(parallel.gpus()) * (e.watts * phase.latency);
    return e;
}

}  // namespace

Watts mean_power(const GpuProfile& gpu, Joules dynamic, Seconds time) {
    return min(gpu.tdp, asked_power(gpu, dynamic, time));
}

std::optional<RunEnergy> run_energy(const Prediction& prediction, const Gpu& gpu) {
    const bool known = gpu.profile.tdp > Watts{} && prediction.withheld.empty() && prediction.latency > Seconds{};
    if (!known) return std::nullopt;
    const Run& run = prediction.request;
    RunEnergy energy{.phases = {},
                     .gpus = run.parallel.gpus(),
                     .idle = gpu.profile.idle,
                     .watts = {},
                     .joules = {},
                     .joules_per_item = {},
                     .joules_per_output_token = {}};
    for (const Phase& phase : prediction.phases) {
        energy.phases.push_back(phase_energy(phase, run.parallel, gpu.profile));
        energy.joules += energy.phases.back().joules;
    }
    energy.watts = energy.joules / prediction.latency / static_cast<double>(energy.gpus);
    energy.joules_per_item = energy.joules / run.items();
    if (prediction.ttft) energy.joules_per_output_token = energy.joules_per_item / static_cast<double>(run.generate_tokens);
    return energy;
}

}  // namespace roofcast
