#include "cli/emit.hpp"

#include <algorithm>

#include "cli/output.hpp"
#include "roofcast/error.hpp"
#include "roofcast/software.hpp"

namespace roofcast::cli {

namespace {

/// How engines name the model: its file's folder, its hub id, else its id.
std::string engine_model(const Workload& workload) {
    const std::filesystem::path file = workload.file;
    if (file.filename() == "config.json") return file.parent_path().empty() ? "." : file.parent_path().string();
    std::string stem = file.stem().string();
    if (const auto bar = stem.find("__"); bar != std::string::npos && file.extension() == ".json") return stem.replace(bar, 2, "/");
    const auto hub = std::find_if(workload.aliases.begin(), workload.aliases.end(),
                                  [](const std::string& alias) { return alias.find('/') != std::string::npos; });
    return hub == workload.aliases.end() ? workload.id : *hub;
}

bool generates_text(const Workload& workload) {
    return std::holds_alternative<DecoderLlm>(workload.architecture) || std::holds_alternative<VisionLanguage>(workload.architecture);
}

}  // namespace

void add_emit_option(CLI::App& command, std::string& engine) {
    command.add_option("--emit", engine,
                       "Print a script that launches the deployment in this engine (vllm, sglang, trtllm, llama.cpp) and benchmarks it");
}

void emit(const std::string& engine, const Workload& workload, LaunchRequest request, const SoftwareStacks& software,
          const CommonOptions& options) {
    if (format_of(options) != Format::table)
        throw Error(
            {.what = "--emit prints a shell script", .key = "--format", .found = options.format, .suggestion = "leave one of them out"});
    if (!generates_text(workload))
        throw Error({.what = "these engines serve models that generate text",
                     .key = "--emit",
                     .found = workload.id,
                     .expected = "a language model, or a vision-language model"});
    const std::vector<LaunchTemplate> templates = load_launch_templates(options.software());
    const LaunchTemplate& of = find_launch_template(templates, engine);
    request.model = engine_model(workload);
    request.scheduler = software.find(Execution::cuda_graph, of.software).scheduler;
    const std::string script = launch_script(of, request);
    if (options.output.empty()) return print(script);
    require_output("--output", options.output, options);
    write_file(options.output, script);
}

}  // namespace roofcast::cli
