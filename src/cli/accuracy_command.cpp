#include <memory>

#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "report/data_reports.hpp"
#include "roofcast/error.hpp"
#include "roofcast/software.hpp"

namespace roofcast::cli {

namespace {

struct AccuracyOptions {
    CommonOptions common;
    std::vector<std::string> gpus;
    std::string model, software;
};

/// Family of the engine asked for; empty: none is.
std::string engine_family(const AccuracyOptions& options) {
    if (options.software.empty()) return {};
    const SoftwareStacks software = load_software(options.common.software());
    const std::vector<const Engine*> engines = software.named(options.software);
    if (engines.empty()) throw unknown_engine("--software", options.software, software);
    return engines.front()->family;
}

void run(const AccuracyOptions& options) {
    AccuracyQuestion question;
    question.engine = engine_family(options);
    std::string model;
    if (!options.model.empty()) {
        const Workload workload = find_workload(options.common.models(), options.model);
        model = workload.id;
        question.work = kinds_of_work(workload);
        question.models = std::filesystem::path(workload.file).stem().string();
    }
    const std::vector<FitSummary> fits = load_fit_summaries(options.common.gpus(), options.common.user_fits());
    const auto validated = load_validated_accuracy(options.common.data() / "validation_data" / "accuracy");
    std::vector<NamedAccuracy> answers;
    Notes notes;
    for (const std::string& gpu : options.gpus) {
        const GpuProfile profile = chosen_gpu(options.common.gpus(), gpu, notes);
        question.gpu = profile.id;
        question.architecture = profile.kernel_architecture();
        answers.push_back({.gpu = profile.id,
                           .name = profile.name,
                           .architecture = question.architecture,
                           .model = model,
                           .models = question.models,
                           .engine = question.engine,
                           .accuracy = expected_accuracy(question, fits, validated)});
    }
    write(accuracy_report(answers), options.common);
    notes.print(options.common);
}

}  // namespace

void add_accuracy_command(CLI::App& app) {
    auto options = std::make_shared<AccuracyOptions>();
    CLI::App* command = app.add_subcommand("accuracy");
    command->add_option("-g,--gpu", options->gpus, "GPU id, alias or profile file; repeatable")->delimiter(',')->required();
    command->add_option("-m,--model", options->model, "Show only the kind of work of this model, and measured rows of its family");
    command->add_option("--software", options->software, "Show served loads and memory of this engine only, such as vllm or sglang");
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
