#include <memory>

#include "cli/command.hpp"
#include "report/run_reports.hpp"
#include "roofcast/pipeline.hpp"

namespace roofcast::cli {

namespace {

struct PipelineOptions {
    CommonOptions common;
    std::string file, against;
};

void run(const PipelineOptions& options) {
    const auto gpus_folder = options.common.gpus(), models_folder = options.common.models(), user_fits = options.common.user_fits();
    const SoftwareStacks software = load_software(options.common.software());
    const auto predicted = [&](const std::string& file) {
        return predict_pipeline(load_pipeline(file), gpus_folder, models_folder, software, user_fits);
    };
    const PipelineResult result = predicted(options.file);
    if (options.against.empty()) {
        write(pipeline_report(result, nullptr), options.common);
        return end_with(result.runs() ? ExitCode::answered : ExitCode::no);
    }
    const PipelineResult other = predicted(options.against);
    write(pipeline_report(result, &other), options.common);
    end_with(result.runs() || other.runs() ? ExitCode::answered : ExitCode::no);
}

}  // namespace

void add_pipeline_command(CLI::App& app) {
    auto options = std::make_shared<PipelineOptions>();
    CLI::App* command = app.add_subcommand("pipeline");
    command->add_option("file", options->file, "TOML file of stages, see docs/reference/models.md")->required();
    command->add_option("--against", options->against, "Pipeline to compare with: how much faster FILE is, and whether that is certain");
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
