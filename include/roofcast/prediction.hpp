#pragma once
/// Prediction of one run: latency, throughput, memory, and what bounds them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/execution.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/techniques.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// Fraction of each data-sheet ceiling that a phase reaches on each of its GPUs, 0 to 1.
struct Utilization {
    double compute = 0;    ///< FLOPs per second over the tensor-core peak of the run's precision
    double bandwidth = 0;  ///< DRAM bytes per second over the data-sheet bandwidth
    double power = 0;      ///< mean power, idle power included, over TDP; at most 1, since GPUs throttle
};

/// One pass, or a run of equal passes: "forward", "vision", "prefill", "decode"; of a diffusion model "text", "encode_image", "denoise",
/// "decode_image"; with a draft model "draft_prefill", and "draft_decode" and
/// "verify" in place of decode. Moves only: the timeline points into the graph.
struct Phase {
    Phase() = default;
    Phase(Phase&&) = default;
    Phase& operator=(Phase&&) = default;

    std::string name;
    double passes = 1;               ///< decode steps, prompt chunks (a shorter last one in proportion) or expected iterations; else 1
    std::optional<double> launched;  ///< passes with a shorter last one in full; nullopt: `passes`
    Seconds latency;                 ///< all passes
    Timeline timeline;               ///< of one pass; of the middle one for decode
    OpGraph graph;                   ///< that `timeline` points into
    FlopsPerByte intensity;          ///< FLOPs per DRAM byte
    Utilization utilization;
    std::string bound;  ///< largest part of the time: compute, dram, l2, latency, power, communication or host
    [[nodiscard]] double launches() const { return launched.value_or(passes); }
};

/// Memory of one GPU.
struct MemoryEstimate {
    Bytes weights, kv_cache, activations, overhead;
    std::optional<Bytes> usable;  ///< memory that programs can allocate (`GpuProfile::usable_memory`)
    [[nodiscard]] Bytes total() const { return weights + kv_cache + activations + overhead; }
    /// nullopt when that is not known.
    [[nodiscard]] std::optional<bool> fits() const { return usable ? std::optional(total() <= *usable) : std::nullopt; }
};

/// The largest run that fits, and remedies if the request does not fit.
struct MemoryAdvice {
    std::int64_t largest_batch = 0;     ///< at the requested context; 0: not even one sequence fits
    std::int64_t largest_context = 0;   ///< tokens per sequence at the requested batch; 0: none fits, or not a language model
    std::vector<std::string> remedies;  ///< "int8 weights: 41.2 GB", "2 GPUs with tensor parallelism: 38.0 GB each"
};

/// Factors on a prediction between which 80 % of measurements lie.
struct IntervalRatio {
    double low = 1, high = 1;
};

/// Expected error of a prediction, from residuals of rows that no fit saw.
struct PredictionIntervals {
    IntervalRatio latency;  ///< throughputs lie between their inverses
    std::optional<IntervalRatio> ttft, tpot;
    std::string basis;  ///< "whole models of this kind, fit of t4", "operators, fit of hopper", …
};
inline constexpr int interval_percent = 80;

struct Prediction {
    Run request;    ///< with defaults filled in
    Caller caller;  ///< the software as its kernels see it
    std::vector<Phase> phases;
    Seconds latency;              ///< end to end: one batch, or one batch of whole requests
    double items_per_second = 0;  ///< images or sequences, all data-parallel copies
    std::optional<Seconds> ttft;  ///< time to first token: vision and prefill
    std::optional<Seconds> tpot;  ///< mean time per output token after the first
    std::optional<Seconds> step;  ///< mean time of a denoising step of the batch
    std::optional<SpeculationOutcome> speculation;
    std::optional<double> tokens_per_second;  ///< output tokens of the whole batch over the latency of the whole request
    Seconds cold_extra;                       ///< first run only, not in `latency`
    std::optional<PcieTopology> pcie;         ///< PCIe topology between the GPUs; absent: no data moves between them over PCIe
    MemoryEstimate memory;
    std::optional<PredictionIntervals> intervals;  ///< absent: the errors are not known
    std::vector<std::string> withheld;             ///< operators without a model
    std::vector<std::string> notes;                ///< assumptions, and choices made for the user

    /// Whether its times may be shown: the run is not known to exceed memory, and all operators have models. Other predictions keep
    /// their times for comparison with measured rows.
    [[nodiscard]] bool runs() const { return withheld.empty() && memory.fits() != false; }
};

/// "needs 143.2 GB, 23.6 GB usable"; of a memory whose capacity is known.
std::string needs_text(const MemoryEstimate& memory);

/// Why `prediction` has no times: "does not fit: needs 143.2 GB, 23.6 GB usable", "no kernel model covers …"; empty where it runs.
std::string obstacle(const Prediction& prediction);

/// Fills in the model's defaults: tokens, image size. Throws Error on sizes that are not positive, beyond the model's context, or
/// a precision that `gpu` lacks.
Run completed(Run request, const Workload& workload, const Gpu& gpu);

/// `completed` without asking whether any GPU has the precision: for memory planning.
Run completed_sizes(Run request, const Workload& workload);

/// Predicts one run. Throws Error as `completed` does.
Prediction predict(const Workload& workload, const Gpu& device, const Run& request, const SoftwareStacks& software);

/// How more than two GPUs of a completed `request` share PCIe on `gpu`'s machines, or that its `pcie` changes nothing; empty: neither.
std::string pcie_note(const Run& request, const GpuProfile& gpu);

/// The precision of a run that names none: the model's own, or the nearest that `gpu` has.
Precision default_precision(const Workload& workload, const GpuProfile& gpu);

/// Memory of one GPU for a completed `request`, without `usable`. Independent of any GPU.
MemoryEstimate memory_estimate(const Workload& workload, const Run& request, const SoftwareStacks& software);

/// Whether `gpu` has memory of its own, so that weights can be offloaded from it.
bool can_offload(const GpuProfile& gpu);

/// Searches batch, context, weight formats, GPU counts and, with `offload`, weights kept in host memory for what fits `capacity`. A copy
/// takes at most `gpus_per_machine` GPUs. `largest_context` is not searched where the caller knows it better.
MemoryAdvice memory_advice(const Workload& workload, const Run& request, const SoftwareStacks& software, Bytes capacity,
                           bool offload = true, std::int64_t gpus_per_machine = 16, std::optional<std::int64_t> largest_context = {});

}  // namespace roofcast
