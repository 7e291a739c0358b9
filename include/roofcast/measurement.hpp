#pragma once
/// Measured kernels and models, as read from CSV files. The columns are described in docs/reference/measurements.md.
///
/// A row that cannot be used is never dropped in silence: `Measurements::skipped` counts it by its reason, with file and line of the first.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/attention_block.hpp"
#include "roofcast/caller.hpp"
#include "roofcast/engine_memory.hpp"
#include "roofcast/execution.hpp"
#include "roofcast/kernel_cost.hpp"
#include "roofcast/kernel_library.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/scheduler_options.hpp"
#include "roofcast/skipped_rows.hpp"
#include "roofcast/techniques.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// Who measured what, and where it is written.
struct Origin {
    std::string software, source;  ///< as in the columns; empty when not given
    std::string file;              ///< path as the reader got it
    int line = 0;                  ///< 1-based, of the first of merged rows
};

/// How often a row was measured: duplicates differ in the measured value only.
struct Repeats {
    int rows = 1;       ///< merged into this one; the value is their median
    double spread = 0;  ///< (largest − smallest) / median of the merged values
};

/// One measured kernel.
struct KernelRow {
    std::string gpu;      ///< id, as in the file
    Op op;                ///< the columns of its dimensions
    std::string op_name;  ///< the `op` column: "gemm", "layernorm", "all_reduce", …
    std::string function;
    std::string kernel;  ///< the library's, as its engine names it; empty when not given
    Precision precision = Precision::fp16;
    std::optional<WeightFormat> weights{};  ///< as stored; absent: as computed
    Seconds latency;
    bool launch_included = false;  ///< the time includes launch overhead
    Cache cache = Cache::cold;
    std::int64_t runs = 0;  ///< that the source averaged over; 0: not said
    std::optional<Seconds> latency_std;
    Repeats repeats;
    Origin origin;
    std::shared_ptr<const KernelLibrary> library{};  ///< whose kernels it measures; null: the vendor's
    std::shared_ptr<const KernelFamily> family{};    ///< that `kernel` is of (`mark_rows`)
    Caller caller{};                                 ///< of the kernel (`mark_rows`)
};

/// What a model row measures.
enum class Metric {
    latency_ms,
    throughput_per_s,
    tokens_per_s,
    ttft_ms,
    tpot_ms,
    memory_gb,
    power_w,
    // of phase start
    weights_gib,
    activation_gib,
    graphs_gib,
    kv_cache_gib,
    kv_cache_tokens
};
std::string_view name(Metric m);
/// Whether it is of memory that one GPU holds once an engine has started.
bool is_of_start(Metric m);
/// Whether it counts what is done in a second: the larger the faster.
bool is_rate(Metric m);

/// How requests, all alike, reached a serving engine that formed batches of them, and what it was set to.
struct ServedLoad {
    std::int64_t requests = 1;
    std::optional<double> rate_per_s;       ///< of a Poisson process; absent: `users` sent them
    std::int64_t users = 1;                 ///< at once, each of whom waits for an answer before the next request
    double shortest = 1;                    ///< lengths are spread evenly from this fraction of the row's to the row's; 1: all alike
    SchedulerSettings settings;             ///< others are the engine's
    std::optional<Seconds> request_time{};  ///< mean from sending a request to its last token, where the source gives TTFT and TPOT
    std::optional<Speculation> speculation{};
};

/// The attention block of one layer of a model, timed by itself.
struct MeasuredBlock {
    AttentionBlock block;
    std::string op_name, function;  ///< the columns `op` and `function`
    bool launch_included = false;   ///< as `KernelRow`'s
};

/// One measured run of a whole model, or of one layer's attention block.
struct ModelRow {
    std::string gpu, model;
    std::string family;                                    ///< empty when not given
    std::optional<Precision> precision = Precision::fp16;  ///< of GEMMs; absent: that of the checkpoint as it is published
    std::optional<WeightFormat> weights{};                 ///< as stored; absent: as computed, in 16 bits as the checkpoint is published
    std::optional<WeightFormat> checkpoint{};              ///< the format that names the checkpoint: of dense layers, else of experts
    std::optional<Precision> kv_precision{};               ///< absent: that of the activations, or what the checkpoint brings scales for
    std::optional<PcieTopology> pcie{};                    ///< of the machine; absent: that of the GPU's machines
    std::int64_t batch = 1;
    std::optional<std::int64_t> prompt_tokens, output_tokens, image_size;  ///< absent: the model's default; 0 is an answer
    std::optional<double> gmacs, mactivations, mparams;                    ///< per image, for models that are not shipped
    std::optional<bool> channels_last{};                                   ///< layout of images; absent: the execution mode's
    bool memory_of_tensors = false;                                        ///< memory is without a context and libraries
    std::int64_t gpus = 1;                                                 ///< used together
    Parallelism parallel{};                                                ///< all 1 with gpus > 1: the source does not say how it splits
    std::int64_t attention_data_parallel = 1, expert_tensor_parallel = 1;  ///< as the row gives them
    std::string phase;                      ///< forward, prefill, decode, generate, serve, start, train; empty: not given
    std::optional<ServedLoad> served;       ///< of phase serve
    std::optional<EngineSettings> started;  ///< of phase start: what the engine was set to
    std::optional<MeasuredBlock> block{};   ///< absent: the whole model
    Execution execution = Execution::eager;
    Metric metric = Metric::latency_ms;
    double value = 0;  ///< in the metric's unit
    Repeats repeats;
    Origin origin;
};

struct Measurements {
    std::vector<KernelRow> kernels;
    std::vector<ModelRow> models;
    SkippedRows skipped;
};

/// Files as they are, and all `*.csv` of folders and their subfolders, each folder's in alphabetical order. Throws Error when a folder
/// cannot be read or holds none.
std::vector<std::filesystem::path> measurement_files(const std::vector<std::filesystem::path>& files_or_folders);

/// Reads files, and all `*.csv` of folders and their subfolders in alphabetical order; duplicates are merged over all of them.
/// Throws Error when a path does not exist, a file is not CSV, or a column is unknown.
Measurements read_measurements(const std::vector<std::filesystem::path>& files_or_folders);

/// The same for one file's text. `file` is the name that rows and errors carry.
Measurements read_measurements_text(std::string_view text, const std::string& file);

/// What the column `op` of kernel rows can be.
std::span<const std::string_view> measured_operators();

}  // namespace roofcast
