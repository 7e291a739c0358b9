#include "cli/emit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output.hpp"
#include "io/identifier.hpp"
#include "roofcast/error.hpp"
#include "roofcast/memory_report.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/software.hpp"

namespace roofcast::cli {

namespace {

/// How engines name the model: its GGUF file, the folder of its file, its hub id, else its id.
std::string engine_model(const Workload& workload) {
    const std::filesystem::path file = workload.file;
    const std::string ending = lower_case(file.extension().string());
    if (ending == ".gguf") return file.string();
    if (ending == ".safetensors" || file.filename() == "config.json") return file.has_parent_path() ? file.parent_path().string() : ".";
    std::string stem = file.stem().string();
    if (const auto bar = stem.find("__"); bar != std::string::npos && ending == ".json") return stem.replace(bar, 2, "/");
    const auto hub = std::find_if(workload.aliases.begin(), workload.aliases.end(),
                                  [](const std::string& alias) { return alias.find('/') != std::string::npos; });
    return hub == workload.aliases.end() ? workload.id : *hub;
}

bool generates_text(const Workload& workload) {
    return std::holds_alternative<DecoderLlm>(workload.architecture) || std::holds_alternative<VisionLanguage>(workload.architecture);
}

}  // namespace

void add_emit_option(CLI::App& command, std::string& engine) {
    command.add_option(
        "--emit", engine,
        "Print a script that launches the deployment in this engine of software/launch.toml (such as vllm) and benchmarks it");
}

void emit(const std::string& engine, const Workload& workload, const GpuProfile& gpu, LaunchRequest request, const SoftwareStacks& software,
          const CommonOptions& options) {
    const auto refuse = [](const char* option, const std::string& found) {
        throw Error({.what = "--emit prints a shell script", .key = option, .found = found, .suggestion = "leave one of them out"});
    };
    if (format_of(options) != Format::table) refuse("--format", options.format);
    if (!options.plot.empty()) refuse("--plot", options.plot);
    if (!generates_text(workload))
        throw Error({.what = "these engines serve models that generate text",
                     .key = "--emit",
                     .found = workload.id,
                     .expected = "a language model, or a vision-language model"});
    const std::vector<LaunchTemplate> templates = load_launch_templates(options.software());
    const LaunchTemplate& of = find_launch_template(templates, engine);
    request.model = engine_model(workload);
    if (of.reserves_contexts() && gpu.usable_memory()) {
        const std::int64_t most = memory_advice(workload, request.run, software, *gpu.usable_memory(), false).largest_batch;
        request.run.batch = std::min(request.run.batch, std::max<std::int64_t>(1, most));
    }
    const std::string& predicted = request.run.software;
    const bool same_engine = lower_case(predicted).starts_with(of.software);
    if (!same_engine)
        request.remarks.push_back(fmt::format("These times are those of {}: --software {} predicts this engine.",
                                              predicted.empty() ? "no engine in particular" : predicted, of.software));
    Run launched = request.run;
    if (!same_engine) launched.software = of.software;
    request.scheduler = engine_scheduler(workload, launched, software, gpu);
    if (gpu.usable_memory() && engine_memory_of(software.memory, launched.software) != nullptr) {
        const EngineMemoryReport defaults = engine_memory(workload, launched, software, gpu, {});
        request.scheduler.memory_fraction = defaults.fraction;
        request.scheduler.max_tokens = defaults.max_tokens;
    }
    const std::string script = launch_script(of, request);
    if (options.output.empty()) return print(script);
    require_output("--output", options.output, options);
    write_file(options.output, script);
}

}  // namespace roofcast::cli
