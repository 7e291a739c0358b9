#pragma once
/// Phases of a run: a graph's timeline with what is said about it.

#include <functional>

#include "execution/launch_table.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// What all phases of one model in a run share.
struct PhaseSetting {
    const DecoderLlm* llm = nullptr;  ///< nullptr: no language model
    const Run& request;               ///< completed
    LaunchTable& launches;            ///< on the GPU and of the stack that it runs, for all phases
    [[nodiscard]] const Gpu& gpu() const { return launches.gpu(); }
    [[nodiscard]] const SoftwareStack& stack() const { return launches.stack(); }
};

/// Utilization of a run of `time` on `gpu` in `precision`, with power left at 0. All 0 when `time` is 0. For pipeline stages, `time` is
/// their total.
Utilization utilization(Flops flops, Bytes dram_bytes, Seconds time, const GpuProfile& gpu, Precision precision);

/// The timeline of one pass, with offloaded weights streamed in parallel.
struct TimedPass {
    Timeline timeline;
    bool waits_for_host = false;  ///< the copy of weights takes longer than the pass
};
/// `first_equal`: as in `timeline`.
TimedPass timed_pass(const OpGraph& graph, const PhaseSetting& setting, std::span<const std::size_t> first_equal = {});

/// One pass, with offloaded weights streamed in parallel.
Phase run_phase(OpGraph graph, const PhaseSetting& setting);

/// The latency of such a pass alone.
Seconds pass_latency(const OpGraph& graph, const PhaseSetting& setting);

/// Makes a graph that of a pass at a length. It is given an empty one, or the one that it made of another length.
using SizedPass = std::function<void(OpGraph&, std::int64_t)>;

/// Steps of one new token per sequence, by the tokens in the cache, the new one included. `setting` must outlive it.
SizedPass decode_steps(const PhaseSetting& setting);

/// `passes` passes while a length grows evenly from `first` to `last`. The time of a pass is smooth in the length, so Simpson's rule over
/// five points integrates it; the phase shows the middle pass.
Phase growing_phase(const SizedPass& pass_at, std::int64_t first, std::int64_t last, double passes, const PhaseSetting& setting);

/// The prompt of `context` tokens a sequence, less what is cached, in one pass or in chunks.
Phase prefill_phase(const PhaseSetting& setting, std::int64_t context);

/// Decode of `steps` tokens while the cache grows from `context`.
Phase decode_phase(const PhaseSetting& setting, std::int64_t context, std::int64_t steps);

}  // namespace roofcast
