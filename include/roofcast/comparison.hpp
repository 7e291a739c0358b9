#pragma once
/// Fair comparison of GPUs on one model: at equal settings, and each at its own best.
///
/// *Baseline*: the same precision, weights, batch and execution on all. *Optimized*: each GPU at the best point of a small grid that fits
/// its memory. Settings that lose quality (8- and 4-bit formats that the model is not published in) count only where nothing else fits,
/// unless they are allowed; where no setting that keeps quality fits, they compete with weights kept in host memory. Speed-ups compare
/// times per item and carry an 80 % interval:
///
///     ln S = ln(t_first / t_other) + m_first − m_other ± √(h_first² + h_other²)
///
/// with m the middle and h the half width of ln(measured / predicted) of each GPU, taken as independent. Errors that two GPUs share (a
/// graph that is wrong for both) cancel, so the interval is rather too wide. A GPU and its changed copy in equal formats have one error, as
/// one fit predicts both. Only the change itself then is uncertain, by as much for its size as a time is:
///
///     half width = √((h_first − h_other)² + (max(h_first, h_other) · ln(t_first / t_other))²)
///
/// An interval that contains 1 decides nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/cost.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// What the search for the best settings of a GPU maximises.
enum class Objective {
    throughput,  ///< items per second
    latency,     ///< one over the latency of a batch
    cost,        ///< items per dollar of rent: for one GPU the same order as throughput
    energy       ///< items per joule
};
std::string_view name(Objective objective);
std::optional<Objective> parse_objective(std::string_view text);

/// Quality loss of a format: none with 16 bits or more, or in the published format.
enum class Quality { kept, eight_bits, four_bits };

/// The question. Settings that are not fixed are searched.
struct ComparisonRequest {
    Run run;  ///< settings; the precision is read only when fixed
    bool precision_fixed = false, weights_fixed = false, batch_fixed = false, execution_fixed = false, offload_fixed = false;
    Objective objective = Objective::throughput;
    bool allow_quantization = false;
};

/// A GPU that takes part. `gpu` outlives the comparison.
struct Contestant {
    const Gpu* gpu = nullptr;
    std::optional<PriceChoice> rental_price;
    std::vector<Instance> instances{};  ///< instances with such GPUs; empty: any number can be rented at that price
};

/// A ratio of speeds, above 1 when faster.
struct SpeedUp {
    double ratio = 1;
    std::optional<IntervalRatio> interval;  ///< bounds of the ratio; absent: the errors of one run are not known
    /// Whether the interval is on one side of 1; false when it is not known.
    [[nodiscard]] bool decides() const { return interval && (interval->low > 1 || interval->high < 1); }
};

/// One GPU under one policy.
struct ContestantRun {
    Contestant contestant;
    std::optional<Prediction> prediction;  ///< absent: see `reason`
    std::string reason;                    ///< why there is none: "needs 22.1 GB of 16.0", "has no bf16 arithmetic"
    std::vector<std::string> choices;      ///< why these settings: "int8 weights because fp16 needs 22.1 GB of 16.0"
    Utilization utilization;               ///< over the whole run; compute and bandwidth
    std::optional<RunEnergy> energy;
    std::optional<RentalCost> rental;  ///< at all hours at work
    std::optional<SpeedUp> speedup;    ///< against the reference; absent for runs that there are none of
};

struct Comparison {
    std::string why;                       ///< reason for the common settings; empty if each GPU has its own
    std::vector<ContestantRun> runs;       ///< in the requested order
    std::optional<std::size_t> reference;  ///< index of the first GPU that runs; absent: none does
};

/// All GPUs at the same settings: the precision that is fixed, else the first of the model's own, bf16, fp16 and fp32 that all have, else
/// that most have. Throws Error on sizes that the model does not take.
Comparison baseline_comparison(const Workload& workload, const std::vector<Contestant>& contestants, const ComparisonRequest& request,
                               const SoftwareStacks& software);

/// Each GPU at the best point of `search_grid`. Throws Error on sizes that the model does not take.
Comparison optimized_comparison(const Workload& workload, const std::vector<Contestant>& contestants, const ComparisonRequest& request,
                                const SoftwareStacks& software);

/// The search space in words: "precisions fp32, tf32, …; batches 1, 2, 4, …, 256; …".
std::string search_grid_text(const ComparisonRequest& request);

// The figures, one by one.

/// latency / (batch · copies).
Seconds time_per_item(const Prediction& prediction);
/// Batches one after the other, and the extra time of the first: ⌈items / (batch · copies)⌉ · latency + first run.
Seconds job_time(const Prediction& prediction, std::int64_t items);
/// FLOPs and DRAM bytes of all phases over data-sheet peak and bandwidth and the latency; pipeline stages share the work. Power is left 0.
Utilization run_utilization(const Prediction& prediction, const GpuProfile& gpu);
/// `one_error`: one fit predicts both, of which one is a changed copy.
SpeedUp speed_up(const Prediction& reference, const Prediction& other, bool one_error = false);
/// Whether one fit speaks for both runs, which differ in changed facts of one GPU alone.
bool share_errors(const ContestantRun& a, const ContestantRun& b);
/// Items per dollar of `other` over those of `reference`, with the interval of the speeds; nullopt without a price or a run of both.
std::optional<SpeedUp> per_dollar_ratio(const ContestantRun& reference, const ContestantRun& other);

}  // namespace roofcast
