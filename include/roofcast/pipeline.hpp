#pragma once
/// Pipelines: several models, and stages of known latency, that answer a request together.
///
/// Steps run one after the other; stages of a step run side by side, those that share a device in turn:
///     latency = Σ steps max over devices Σ (calls · latency of a call)
///     requests per second = 1 / max over devices Σ of all its stages (calls · latency of a call)
/// Errors of one kind of model on one device go together, other errors are independent in log space, as in one prediction.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// One `[[stage]]`. Either `model` and `device` or `known_latency` and `source`.
struct PipelineStage {
    std::string name;
    int line = 0;
    double calls = 1;                      ///< per request, one after the other
    std::string parallel_with;             ///< an earlier stage that it runs in parallel with; empty: after all earlier stages
    std::string device;                    ///< GPU or CPU; empty: a resource of its own
    std::int64_t unit = 1;                 ///< which of several such devices
    std::optional<Seconds> known_latency;  ///< of one call
    std::int64_t concurrency = 1;          ///< requests that a stage of known latency serves at a time
    std::string source;                    ///< of the known latency
    std::string model, software;
    std::optional<Precision> precision;  ///< absent: the model's own, or the nearest that the device has
    Run request;                         ///< sizes and formats; its precision is filled in when it is predicted

    [[nodiscard]] std::string resource() const;  ///< "a100-sxm4-80gb", "t4 #2", or the stage's name
};

struct Pipeline {
    std::string name, file;
    std::vector<PipelineStage> stages;
};

/// Reads a pipeline. Throws Error naming file, line and key.
Pipeline load_pipeline(const std::filesystem::path& file);

/// Time of one stage in a request.
struct StageResult {
    PipelineStage stage;
    std::string device;            ///< id of the profile, with its number beyond the first; a stage's own name where it has none
    std::size_t step = 0;          ///< stages of equal step run side by side
    std::string precision, bound;  ///< empty for a known latency
    Seconds call, latency;         ///< of one call; of all calls of a request
    bool on_path = false;          ///< the request waits for it
    std::optional<IntervalRatio> interval;
    MemoryEstimate memory;
};

/// A device, or a stage that is a resource of its own.
struct DeviceLoad {
    std::string device;
    Seconds busy;  ///< by one request
    Bytes memory;  ///< of all models on it, equal ones counted once; caches and activations of each stage
    std::optional<Bytes> usable;
    [[nodiscard]] std::optional<bool> fits() const { return usable ? std::optional(memory <= *usable) : std::nullopt; }
};

/// What one stage contributes to the log of measured over predicted latency of the whole: middle ± half.
struct ErrorShare {
    std::string kind;  ///< device and family of the model: errors that go together within a pipeline
    std::string run;   ///< all that the prediction was asked: errors that two pipelines have in common
    double middle = 0, half = 0;
};

struct PipelineResult {
    std::string name, file;
    std::vector<StageResult> stages;
    std::vector<DeviceLoad> devices;
    Seconds latency;
    double requests_per_second = 0;
    std::string longest_stage, bottleneck;  ///< of the latency; of the throughput, a device
    std::vector<ErrorShare> errors;
    std::optional<IntervalRatio> interval;  ///< absent: a stage without known errors
    std::vector<std::string> withheld;      ///< operators without a kernel model
    std::vector<std::string> remedies;      ///< what would make a stage fit a device that does not hold it alone; else other devices
    std::vector<std::string> notes;
    std::vector<std::pair<std::string, Assumption>> assumed;  ///< with the device

    /// Whether its times may be shown: every device holds its models, as far as is known, and all operators have kernel models.
    [[nodiscard]] bool runs() const;
};

/// Why `result` has no times to show, a line for each device that does not hold its models; empty where it runs.
std::vector<std::string> obstacles(const PipelineResult& result);

/// Predicts all stages. Fits in `user_fits` replace shipped ones. Throws Error naming the file and the stage.
PipelineResult predict_pipeline(const Pipeline& pipeline, const std::filesystem::path& gpus_folder,
                                const std::filesystem::path& models_folder, const SoftwareStacks& software,
                                const std::filesystem::path& user_fits = {});

/// One pipeline against another.
struct PipelineComparison {
    double speedup = 1;                     ///< latency of the other over that of the first
    std::optional<IntervalRatio> interval;  ///< of the speed-up itself
    double throughput_ratio = 1;            ///< requests per second over the other's
    /// Whether the interval leaves 1 to one side.
    [[nodiscard]] bool decides() const { return interval && (interval->low > 1 || interval->high < 1); }
};

/// How `first` compares with `other`. Errors of stages that both run alike cancel; all others are independent between the two.
PipelineComparison compared(const PipelineResult& first, const PipelineResult& other);

}  // namespace roofcast
