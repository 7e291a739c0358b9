#pragma once
/// The commands that start a serving engine with a predicted deployment, and that verify the prediction: `software/launch.toml`.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/run.hpp"
#include "roofcast/scheduler_options.hpp"

namespace roofcast {

/// The flags of one engine, as one of its versions has them.
struct LaunchTemplate {
    std::string name;                                      ///< of `--emit`: "vllm"
    std::string software;                                  ///< engine of `software/engines` whose defaults stand in the flags
    std::string version, source;                           ///< that the flags were checked against
    std::vector<std::string> serve, benchmark;             ///< parts of the command with placeholders, "--tp-size {tensor_parallel}"
    std::map<std::string, std::string> weights, kv_cache;  ///< what the placeholders of these names stand for, by format

    /// Whether the server runs data-parallel copies itself.
    [[nodiscard]] bool runs_copies() const;
    /// Whether it reserves the context of every sequence when it starts.
    [[nodiscard]] bool reserves_contexts() const;
};

/// A deployment that serves a language model, and the load that it was predicted for.
struct LaunchRequest {
    std::string model;                 ///< as the engine names it: hub id or folder
    Run run;                           ///< completed; its batch is the number of sequences at once
    SchedulerOptions scheduler;        ///< defaults of the engine on the GPU; `max_sequences` is replaced by the batch
    std::optional<double> rate;        ///< requests per second of all copies; absent: `run.batch` users that wait for answers
    std::int64_t requests = 1'000;     ///< of the benchmark
    std::vector<std::string> remarks;  ///< lines of text about the prediction
};

/// Reads `launch.toml` of the folder. Throws Error naming file, line and key: unknown placeholders, names that occur twice.
std::vector<LaunchTemplate> load_launch_templates(const std::filesystem::path& software_folder);

/// The template called `name`. Throws Error with the names there are.
const LaunchTemplate& find_launch_template(const std::vector<LaunchTemplate>& templates, std::string_view name);

/// A shell script: `serve` (default) starts the engine, `bench` measures what was predicted. A part of a command is left out where a
/// placeholder of it has no value.
std::string launch_script(const LaunchTemplate& of, const LaunchRequest& request);

}  // namespace roofcast
