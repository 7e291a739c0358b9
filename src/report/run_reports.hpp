#pragma once
/// What commands on runs print, in all formats: predictions, sweeps, memory, costs, comparisons, recommendations, serving, pipelines.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "document/field.hpp"
#include "roofcast/comparison.hpp"
#include "roofcast/cost.hpp"
#include "roofcast/memory_report.hpp"
#include "roofcast/pipeline.hpp"
#include "roofcast/recommendation.hpp"
#include "roofcast/serving.hpp"
#include "roofcast/sweep.hpp"
#include "scenario/named_prediction.hpp"

namespace roofcast {

// ---- predictions ----------------------------------------------------------------------------------------------------------------

/// A row each; one alone in full, with its phases and its memory. With `explain` also operators, fusion and parameters.
Report prediction_report(const std::vector<NamedPrediction>& predictions, bool explain);

/// The run, its times with the bounds of their intervals, and its memory. What does not run has no times.
Fields<NamedPrediction> prediction_fields();

/// Model, GPU and what was asked.
std::string headline(const NamedPrediction& named);

/// Latency, throughput and bound, with their intervals; empty where it does not run.
std::vector<std::pair<std::string, std::string>> result_facts(const NamedPrediction& named);

// ---- sweeps ---------------------------------------------------------------------------------------------------------------------

struct SweepRow {
    std::string model, gpu;
    std::map<std::string, std::string> written;  ///< settings by column, as the user gave them
    SweepPoint point;
    std::string assumed;  ///< keys of the profile, as in CSV
};

/// Settings, then `extra` ones that were given, then figures.
Fields<SweepRow> sweep_fields(const std::vector<std::string>& extra);

/// The whole, of the table of all points. There can be many: the document has them only where `wanted` does.
Report sweep_report(Table table, Format wanted);

/// Columns that every row has; others are `extra`.
bool is_sweep_column(const std::string& key);

// ---- memory ---------------------------------------------------------------------------------------------------------------------

/// Memory of a model with its weights stored in one format.
struct StoredMemory {
    std::string model, storage, activations;  ///< model id, format of weights, format of activations
    MemoryEstimate memory;
};

/// What would make a model fit a GPU where it does not in any format.
struct StorageRemedies {
    std::string model, gpu;
    std::vector<std::string> remedies;
};

/// Whether `gpu` holds `stored`; a GPU whose memory is not known refuses nothing.
bool may_hold(const GpuProfile& gpu, const StoredMemory& stored);

/// A row each, with whether each of `gpus` holds it. `hints` stand below.
Report storage_report(const std::vector<StoredMemory>& stored, const std::vector<GpuProfile>& gpus,
                      const std::vector<StorageRemedies>& remedies, const std::vector<std::string>& hints);

/// A serving engine's memory with what it is of.
struct NamedMemory {
    std::string model_id, model_name, gpu_id, gpu_name, software;
    std::string weights;  ///< format of weights
    std::string cache;    ///< format of the KV cache
    std::int64_t gpus = 1;
    EngineMemoryReport memory;
    std::vector<std::string> remedies;  ///< where not even one sequence fits
    EngineSettings given;               ///< by the user
};

/// A table and lines for each of `all`; CSV has a row each.
Report memory_report(const std::vector<NamedMemory>& all);

// ---- costs and comparisons ------------------------------------------------------------------------------------------------------

/// A run with what it costs.
struct NamedCost {
    NamedPrediction named;
    CostEstimate estimate;
    std::vector<std::string> notes;  ///< why something is missing
};

/// One row for each run: rent, energy, ownership, with the prices and assumptions that they rest on. `today` is what prices' ages count to.
Report cost_report(const std::vector<NamedCost>& costs, const CostSettings& settings, Date today);

/// A comparison with what it was made for. Absent policies were not asked for.
struct NamedComparison {
    std::string model_id, model_name;
    ComparisonRequest request;
    std::int64_t items = 1;  ///< of the batch job
    Date today;
    std::optional<Comparison> baseline, optimized;
    bool shows_optimized = true;  ///< or only what its cost-performance is
    bool shows_cost = true;
    std::vector<std::string> notes;
};

/// A table of speeds and one of resources for each policy, cost-performance of the optimized settings, and what none of it decides.
Report comparison_report(const NamedComparison& named);

/// Items per dollar against the first GPU that runs.
std::optional<SpeedUp> dollar_ratio(const Comparison& comparison, const ContestantRun& run);

/// A recommendation with what was asked and the GPUs that took part.
struct NamedRecommendation {
    std::string model_id, model_name;
    RecommendationRequest request;  ///< its run completed in sizes
    std::vector<Contestant> contestants;
    Recommendation answer;
    std::size_t top = 10;  ///< rows that are shown
    Date today;
    std::vector<std::string> notes;
    std::string check{};  ///< what shows the deployment that ranks first in a simulation of its own; empty: nothing does
};

/// Whether the simulator decided.
bool is_simulated(const NamedRecommendation& n);

/// "tp 2", "3 x tp 2", "4 x 1 GPU".
std::string copies_text(const Deployment& d);

/// The cheapest deployments, why other GPUs were rejected, prices and assumptions. CSV is the rows.
Report recommendation_report(const NamedRecommendation& named);

// ---- serving and pipelines ------------------------------------------------------------------------------------------------------

/// Memory of one GPU that the model needs beside what is there for it, and what would make it fit.
struct MemoryMisfit {
    Bytes needed, usable;
    std::vector<std::string> remedies;
};

/// An answer with what was asked.
struct NamedServing {
    std::string model_id, model_name, gpu_id, gpu_name;
    ServingQuestion question;
    const Engine* engine = nullptr;         ///< that the question's software names; nullptr: none
    std::optional<ArrivalProcess> process;  ///< absent: `trace`
    std::string trace;                      ///< file; empty: `process`
    std::int64_t offered = 0;               ///< requests, those that cannot be served included
    ServingAnswer answer;                   ///< with `misfit`, only its `room`
    std::optional<MemoryMisfit> misfit;     ///< then nothing was simulated
    std::vector<std::string> assumptions;   ///< of the simulation
    std::vector<Assumption> assumed;        ///< of the GPU's profile
    std::vector<std::string> notes;         ///< what was chosen for the user
};

/// Whether there are latencies to show: it fits, is not overloaded, and where a highest rate is searched for there is one.
bool has_answer(const NamedServing& named);

/// Latencies, load, objectives and memory; CSV is one row of all figures.
Report serving_report(const NamedServing& named);

/// One pipeline: stages, devices; with `other`, both and how they compare.
Report pipeline_report(const PipelineResult& result, const PipelineResult* other);

}  // namespace roofcast
