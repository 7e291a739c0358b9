#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "charts/charts.hpp"
#include "cli/command.hpp"
#include "cli/engine_memory_options.hpp"
#include "cli/run_options.hpp"
#include "prediction/shapes.hpp"
#include "report/run_parts.hpp"
#include "report/run_reports.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct MemoryOptions {
    CommonOptions common;
    RunOptions run;
    EngineMemoryOptions engine;
    std::vector<std::string> models, gpus;
};

/// One row of the table: how weights are stored, and the precision of activations.
struct Storage {
    WeightFormat weights;
    Precision precision = Precision::fp16;
    std::optional<WeightFormat> experts{};  ///< of routed experts, where they are stored otherwise
};

Storage computed_in(Precision precision) {
    WeightFormat weights = native_weights(precision);
    weights.label = std::string(name(precision));
    return {std::move(weights), precision};
}

/// Rows for `workload`: the one asked for by --weights; the precision asked for, and when that has 16 bits the formats that it can be
/// unpacked from; else all usual ones.
std::vector<Storage> storages(const RunOptions& options, const Workload& workload, const Run& request) {
    const Precision precision = request.precision;
    if (request.weights) return {{*request.weights, precision}};
    std::vector<Storage> rows;
    if (options.precision.empty()) rows.push_back(computed_in(Precision::fp32));
    rows.push_back(computed_in(precision));
    if (precision != Precision::fp16 && precision != Precision::bf16) return rows;
    if (is_convolutional(workload)) {  // convolutions have no weight-only formats
        if (options.precision.empty()) rows.push_back(computed_in(Precision::int8));
        return rows;
    }
    std::vector<WeightFormat> formats;
    for (const char* format : {"fp8", "int8", "int4"}) formats.push_back(*parse_weight_format(format));
    const auto& native = workload.native_weights;
    const bool as_computed = native && native->precision == precision && !native->every_table;  // but for its experts
    if (native && !as_computed && std::find(formats.begin(), formats.end(), *native) == formats.end()) formats.push_back(*native);
    for (WeightFormat& format : formats) rows.push_back({std::move(format), precision});
    if (workload.native_experts) {
        Storage published{native ? *native : computed_in(precision).weights, precision, workload.native_experts};
        published.weights.label += fmt::format(", experts {}", name(*workload.native_experts));
        rows.push_back(std::move(published));
    }
    return rows;
}

StoredMemory stored_memory(const Workload& workload, Run request, const Storage& storage, const SoftwareStacks& software) {
    request.precision = storage.precision;
    request.weights = storage.weights;
    request.expert_weights = storage.experts;
    const Run run = completed_sizes(request, workload);
    return {workload.id, storage.weights.label, std::string(name(activation_precision(run.precision))),
            memory_estimate(workload, run, software)};
}

/// What would make `workload` fit each GPU that holds none of `rows`.
void add_remedies(std::vector<StorageRemedies>& remedies, const Workload& workload, const Run& request,
                  const std::vector<StoredMemory>& rows, const std::vector<GpuProfile>& gpus, const SoftwareStacks& software) {
    for (const GpuProfile& gpu : gpus) {
        if (std::any_of(rows.begin(), rows.end(), [&](const StoredMemory& row) { return may_hold(gpu, row); })) continue;
        const MemoryAdvice advice = memory_advice(workload, completed_sizes(request, workload), software, *gpu.usable_memory(),
                                                  can_offload(gpu), gpu.gpus_per_machine);
        remedies.push_back({workload.id, gpu.id, advice.remedies});
    }
}

/// Whether any model fits a GPU, as the engine divides it.
bool answer_as_engine(const MemoryOptions& options, const std::vector<GpuProfile>& gpus, const SoftwareStacks& software) {
    const EngineSettings settings = engine_settings(options.engine);
    std::vector<NamedMemory> all;
    for (const auto& model : options.models) {
        const Workload workload = find_workload(options.common.models(), model);
        for (const GpuProfile& gpu : gpus) {
            const Run request = run_request(options.run, workload, nullptr, options.common.models());
            require_one_machine(request.parallel, gpu);
            all.push_back(named_memory(workload, request, software, gpu, settings));
        }
    }
    Report report = with_charts(memory_report(all), memory_charts(all));
    report.document["assumed"] = nlohmann::ordered_json::object();
    for (const GpuProfile& gpu : gpus) add_assumed(report, gpu);
    write(report, options.common);
    return std::any_of(all.begin(), all.end(), [](const NamedMemory& named) { return named.memory.fits(); });
}

/// Rows for each model and storage. Whether any fits any GPU, or none is asked about.
bool answer_by_storage(const MemoryOptions& options, const std::vector<GpuProfile>& gpus, const SoftwareStacks& software) {
    std::vector<StoredMemory> stored;
    std::vector<StorageRemedies> remedies;
    bool serves = false;  // whether a serving engine runs any of the models
    for (const auto& model : options.models) {
        const Workload workload = find_workload(options.common.models(), model);
        const Run request = run_request(options.run, workload, nullptr, options.common.models());
        for (const GpuProfile& gpu : gpus) require_one_machine(request.parallel, gpu);
        std::vector<StoredMemory> rows;
        for (const Storage& storage : storages(options.run, workload, request))
            rows.push_back(stored_memory(workload, request, storage, software));
        add_remedies(remedies, workload, request, rows, gpus, software);
        stored.insert(stored.end(), rows.begin(), rows.end());
        serves = serves || language_model(workload) != nullptr;
    }
    std::vector<std::string> hints;
    if (!gpus.empty() && serves)
        hints.push_back("--software NAME shows how a serving engine divides the memory, in tokens and sequences: " +
                        engine_memory_names(software.memory));
    write(with_charts(storage_report(stored, gpus, remedies, hints), storage_charts(stored, gpus)), options.common);
    return gpus.empty() || std::any_of(gpus.begin(), gpus.end(), [&stored](const GpuProfile& gpu) {
               return std::any_of(stored.begin(), stored.end(), [&gpu](const StoredMemory& row) { return may_hold(gpu, row); });
           });
}

void run(const MemoryOptions& options) {
    const SoftwareStacks software = load_software(options.common.software());
    Notes notes;
    require_software(options.run, software, notes);
    std::vector<GpuProfile> gpus;
    for (const auto& id : options.gpus) gpus.push_back(load_chosen_gpu(options.common.gpus(), id, notes));
    const bool by_engine = divides_as_engine(options.engine, options.run, software, !gpus.empty());
    const bool fits = by_engine ? answer_as_engine(options, gpus, software) : answer_by_storage(options, gpus, software);
    notes.print(options.common);
    end_with(fits ? ExitCode::answered : ExitCode::no);
}

}  // namespace

void add_memory_command(CLI::App& app) {
    auto options = std::make_shared<MemoryOptions>();
    CLI::App* command = app.add_subcommand("memory");
    command
        ->add_option("-m,--model", options->models,
                     "Model id, alias, hub id, or a file: TOML, config.json, ONNX, GGUF, safetensors. Several are allowed")
        ->required();
    command->add_option("-g,--gpu", options->gpus, "GPU that must hold the model. Several are allowed")->delimiter(',');
    add_engine_memory_options(*command, options->engine);
    add_run_options(*command, options->run);
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
