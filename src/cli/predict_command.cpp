#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "charts/charts.hpp"
#include "cli/command.hpp"
#include "cli/emit.hpp"
#include "cli/output.hpp"
#include "cli/run_options.hpp"
#include "document/timeline_trace.hpp"
#include "report/run_reports.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct PredictOptions {
    CommonOptions common;
    RunOptions run;
    std::vector<std::string> gpus, models;
    std::string trace;  ///< file; empty: none
    std::string emit;   ///< engine; empty: none
    bool explain = false;
};

/// The batch as users that each wait for their answer.
LaunchRequest launch_request(const NamedPrediction& named) {
    if (!named.prediction.runs())
        throw NoAnswer({.what = "there is nothing to launch", .key = "--emit", .found = obstacle(named.prediction)});
    constexpr std::int64_t requests_per_user = 4;
    LaunchRequest request;
    request.run = named.prediction.request;
    request.requests = requests_per_user * request.run.batch * request.run.parallel.data;
    request.remarks = {headline(named)};
    for (const auto& [what, value] : result_facts(named)) {
        if (what == "TTFT" || what == "TPOT" || what == "throughput")
            request.remarks.push_back(fmt::format("Predicted {}: {}", what, value));
    }
    return request;
}

void run(const PredictOptions& options) {
    if (options.explain && options.common.format == "csv")
        throw Error({.what = "--explain adds tables, and CSV holds one",
                     .key = "--explain",
                     .suggestion = "use --format json or table, or leave out --explain"});
    if (!options.emit.empty() && options.explain)
        throw Error({.what = "--emit prints a shell script", .key = "--explain", .suggestion = "leave one of them out"});
    if (!options.emit.empty() && (options.gpus.size() > 1 || options.models.size() > 1))
        throw Error({.what = "a launch script is for one model on one kind of GPU", .key = "--emit", .suggestion = "name one of each"});
    const auto gpus_folder = options.common.gpus(), models_folder = options.common.models();
    const SoftwareStacks software = load_software(options.common.software());
    Notes notes;
    require_software(options.run, software, notes);
    std::vector<Gpu> gpus;
    for (const auto& id : options.gpus) {
        GpuProfile profile = load_chosen_gpu(gpus_folder, id, notes);
        const auto families = software.families_of(options.run.software, profile.vendor);
        ParameterSet parameters = load_parameters(gpus_folder, profile, options.common.user_fits(), families);
        gpus.push_back({std::move(profile), std::move(parameters)});
    }
    std::vector<NamedPrediction> predictions;
    std::vector<Workload> workloads;
    for (const auto& model : options.models) workloads.push_back(find_workload(models_folder, model));
    for (const Workload& workload : workloads) {
        for (const Gpu& gpu : gpus) predictions.push_back(named_prediction(options.run, workload, gpu, software, models_folder));
    }
    if (!options.trace.empty()) {
        require_output("--trace", options.trace, options.common);
        require_apart("--trace", options.trace, {options.common.output, options.common.plot});
    }
    if (!options.emit.empty())
        emit(options.emit, workloads.front(), gpus.front().profile, launch_request(predictions.front()), software, options.common);
    else
        write(with_charts(prediction_report(predictions, options.explain), prediction_charts(predictions)), options.common);
    if (!options.trace.empty()) write_file(options.trace, timeline_trace(predictions));
    notes.print(options.common);
    const bool any_runs = std::any_of(predictions.begin(), predictions.end(), [](const auto& named) { return named.prediction.runs(); });
    end_with(any_runs ? ExitCode::answered : ExitCode::no);
}

}  // namespace

void add_predict_command(CLI::App& app) {
    auto options = std::make_shared<PredictOptions>();
    CLI::App* command = app.add_subcommand("predict");
    command->add_option("-g,--gpu", options->gpus, "GPU id, alias or profile file. Several give a table")->delimiter(',')->required();
    command
        ->add_option("-m,--model", options->models,
                     "Model id, alias, hub id, or a file: TOML, config.json, ONNX, GGUF, safetensors. Several give a table")
        ->required();
    add_run_options(*command, options->run);
    add_pcie_option(*command, options->run);
    add_host_option(*command, options->run);
    command->add_option("--trace", options->trace, "Write the timeline of operators to this file, for Perfetto and other trace viewers");
    add_emit_option(*command, options->emit);
    command->add_flag("--explain", options->explain, "Also show the costliest operators, fusions, and the source of each parameter");
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
