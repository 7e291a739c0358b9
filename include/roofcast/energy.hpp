#pragma once
/// Board power and energy of a predicted run.
///
/// A GPU draws idle power as long as the run lasts, and the dynamic energy of its own fraction of the work on top; never more than
/// TDP. GPUs of a tensor-parallel group each do their share at the same time; pipeline stages take turns, so that each draws its dynamic
/// power for 1/stages of the time; data-parallel copies all work. With T the latency of a phase, E the dynamic energy of its passes through
/// all stages on one GPU's share, and p the stages:
///
///     watts = min(TDP, idle power + E / (p · T))
///     joules = watts · T · GPUs
///
/// Assumptions: the board alone, without host, network and cooling. What the constants rest on is in docs/model/power.md; no measured
/// power of whole models judges it. The energy of a decode phase is that of its middle step times the steps.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// Energy of one phase of a run.
struct PhaseEnergy {
    std::string phase;    ///< "forward", "vision", "prefill", "decode"
    Seconds latency;      ///< all passes
    Watts watts;          ///< mean of one GPU
    Joules joules;        ///< all GPUs
    bool capped = false;  ///< the model asks for more than TDP, which is what is counted
};

/// Energy of one batch on every data-parallel copy.
struct RunEnergy {
    std::vector<PhaseEnergy> phases;
    std::int64_t gpus = 1;
    Watts idle;     ///< of one GPU that waits: idle power
    Watts watts;    ///< mean of one GPU over the run
    Joules joules;  ///< all GPUs, one batch of each copy
    Joules joules_per_item;
    std::optional<Joules> joules_per_output_token;  ///< of language models, prompt processing included
};

/// Mean power of one GPU that spends `dynamic` in `time` in addition to what idling takes, at most its TDP.
Watts mean_power(const GpuProfile& gpu, Joules dynamic, Seconds time);

/// Energy of the run that `prediction` describes on `gpu`. nullopt when its board power is not known or an operator has no model.
std::optional<RunEnergy> run_energy(const Prediction& prediction, const Gpu& gpu);

}  // namespace roofcast
