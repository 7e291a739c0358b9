#pragma once
/// Options that describe one run, shared by the commands that predict.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/technique_options.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast::cli {

struct RunOptions {
    std::string precision, weights, kv, execution = "cuda_graph";
    std::optional<std::int64_t> batch, images, prompt, generate, image_size, steps, gpus, tensor, pipeline, data, expert, attention_data;
    std::optional<int> streams;  ///< absent: the software's
    double host_time = 1;        ///< `add_host_option`
    std::string layout, software, pcie;
    TechniqueOptions techniques;
};

void add_run_options(CLI::App& command, RunOptions& options);

/// --host-time, for commands that say in their answer what host it is for.
void add_host_option(CLI::App& command, RunOptions& options);

/// --pcie, for commands that predict times.
void add_pcie_option(CLI::App& command, RunOptions& options);

/// The request that `options` make of `workload`. With no --precision, the model's own or the nearest that `gpu` has (of 16 bits when it
/// is null). A draft model is looked for in `models_folder`; when that is empty, in the shipped data.
/// Throws Error for unknown names, degrees that do not multiply to --gpus, and options that the model has no use for.
Run run_request(const RunOptions& options, const Workload& workload, const GpuProfile* gpu,
                const std::filesystem::path& models_folder = {});

/// What `--precision int4` means, for those who want weights alone in 4 bits; empty for other runs.
std::string format_note(const Run& request);

/// What a run that names no precision took.
std::string precision_note(const Workload& workload, const GpuProfile& gpu, Precision taken);

/// Throws Error unless `options` name no engine or one of `software` that runs their execution mode.
void require_software(const RunOptions& options, const SoftwareStacks& software);

/// The same; `notes` gets which entry stands for the engine's version where that has no data of its own.
void require_software(const RunOptions& options, const SoftwareStacks& software, Notes& notes);

/// That no engine is called so, with what was probably meant.
Error unknown_engine(const std::string& key, const std::string& found, const SoftwareStacks& software);

/// Throw Error with the nearest of the known names.
Precision required_precision(const std::string& text, const std::string& option);
Execution required_execution(const std::string& text);
WeightFormat required_weights(const std::string& text);
PcieTopology required_pcie(const std::string& text);

}  // namespace roofcast::cli
