#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "cli/engine_memory_options.hpp"
#include "cli/run_options.hpp"
#include "prediction/shapes.hpp"
#include "report/charts/charts.hpp"
#include "report/prediction_lines.hpp"
#include "report/prediction_report.hpp"
#include "report/prediction_tables.hpp"
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
    if (std::holds_alternative<ConvNet>(workload.architecture)) {  // convolutions have no weight-only formats
        if (options.precision.empty()) rows.push_back(computed_in(Precision::int8));
        return rows;
    }
    std::vector<WeightFormat> formats;
    for (const char* format : {"fp8", "int8", "int4"}) formats.push_back(*parse_weight_format(format));
    const auto& native = workload.native_weights;
    if (native && std::find(formats.begin(), formats.end(), *native) == formats.end()) formats.push_back(*native);
    for (WeightFormat& format : formats) rows.push_back({std::move(format), precision});
    if (workload.native_experts) {
        Storage published{native ? *native : computed_in(precision).weights, precision, workload.native_experts};
        published.weights.label += fmt::format(", experts {}", name(*workload.native_experts));
        rows.push_back(std::move(published));
    }
    return rows;
}

void add_row(Table& table, std::vector<StoredMemory>& stored, const Workload& workload, Run request, const Storage& storage,
             const std::vector<GpuProfile>& gpus, const SoftwareStacks& software) {
    request.precision = storage.precision;
    request.weights = storage.weights;
    request.expert_weights = storage.experts;
    const Run run = completed_sizes(request, workload);
    const MemoryEstimate m = memory_estimate(workload, run, software);
    stored.push_back({workload.id, storage.weights.label, m});
    const std::string activations(name(activation_precision(run.precision)));
    std::vector<Cell> row{workload.id,       storage.weights.label, activations,       m.weights.in(gb),
                          m.kv_cache.in(gb), m.activations.in(gb),  m.overhead.in(gb), m.total().in(gb)};
    for (const GpuProfile& gpu : gpus) {
        const auto usable = gpu.usable_memory();
        row.push_back(usable ? Cell(m.total() <= *usable) : Cell());
    }
    table.rows.push_back(std::move(row));
}

bool fits_somewhere(const Table& table, const std::string& key) {
    const auto column = std::find_if(table.columns.begin(), table.columns.end(), [&key](const Column& c) { return c.key == key; });
    const auto at = static_cast<std::size_t>(column - table.columns.begin());
    return std::any_of(table.rows.begin(), table.rows.end(), [at](const std::vector<Cell>& row) {
        const bool* fits = std::get_if<bool>(&row[at]);
        return fits == nullptr || *fits;  // what is not known is no refusal
    });
}

/// What each GPU can hold, and what would make a model fit where no row of it does. Whether any row fits any GPU, or none is asked about.
bool add_fit(Report& report, const Table& table, const MemoryOptions& options, const std::vector<GpuProfile>& gpus,
             const SoftwareStacks& software) {
    auto capacities = nlohmann::ordered_json::object(), all_remedies = nlohmann::ordered_json::array();
    bool any = gpus.empty();
    for (const GpuProfile& gpu : gpus) {
        const auto usable = gpu.usable_memory();
        capacities[gpu.id] = usable ? nlohmann::ordered_json(usable->in(gb)) : nlohmann::ordered_json();
        if (usable) report.after.push_back(fmt::format("{}: {:.1f} GB usable", gpu.id, usable->in(gb)));
        any = any || fits_somewhere(table, "fits_" + gpu.id);
        for (const auto& model : options.models) {
            const Workload workload = find_workload(options.common.models(), model);
            Table own = table;
            std::erase_if(own.rows, [&](const std::vector<Cell>& row) { return row.front() != Cell(workload.id); });
            if (!usable || fits_somewhere(own, "fits_" + gpu.id)) continue;
            const Run request = run_request(options.run, workload, nullptr, options.common.models());
            const auto advice =
                memory_advice(workload, completed_sizes(request, workload), software, *usable, can_offload(gpu), gpu.gpus_per_machine);
            report.after.push_back(
                fmt::format("{} does not fit {} in any of these formats. {}", workload.id, gpu.id, remedies_line(advice.remedies)));
            all_remedies.push_back({{"model", workload.id}, {"gpu", gpu.id}, {"remedies", advice.remedies}});
        }
    }
    report.document["capacity_gb"] = std::move(capacities);
    report.document["remedies"] = std::move(all_remedies);
    return any;
}

/// Marks what was assumed of each GPU: lines of text, a list in JSON, a column of CSV.
void add_assumed(Report& report, const Table& table, const std::vector<GpuProfile>& gpus) {
    std::string keys;
    auto& document = report.document["assumed"] = nlohmann::ordered_json::object();
    for (const GpuProfile& gpu : gpus) {
        document[gpu.id] = as_json(gpu.assumed);
        for (const Assumption& a : gpu.assumed) {
            report.after.push_back(fmt::format("{}: {}", gpu.id, assumed_line(a)));
            keys += fmt::format("{}{}:{}", keys.empty() ? "" : ";", gpu.id, a.key);
        }
    }
    report.csv = table;
    report.csv.columns.push_back({"assumed", "assumed", 4, Show::data});
    for (auto& row : report.csv.rows) row.emplace_back(keys);
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
    Report report = memory_report(all);
    auto& assumed = report.document["assumed"] = nlohmann::ordered_json::object();
    for (const GpuProfile& gpu : gpus) {
        assumed[gpu.id] = as_json(gpu.assumed);
        for (const Assumption& a : gpu.assumed) report.after.push_back(fmt::format("{}: {}", gpu.id, assumed_line(a)));
    }
    write(report, options.common);
    return std::any_of(all.begin(), all.end(), [](const NamedMemory& named) { return named.memory.fits(); });
}

/// Whether a serving engine runs any of the models.
bool serves(const MemoryOptions& options) {
    return std::any_of(options.models.begin(), options.models.end(),
                       [&](const std::string& model) { return language_model(find_workload(options.common.models(), model)) != nullptr; });
}

/// Rows for each model and storage. Whether any fits any GPU, or none is asked about.
bool answer_by_storage(const MemoryOptions& options, const std::vector<GpuProfile>& gpus, const SoftwareStacks& software) {
    Table table{.title = {},
                .columns = {{"model", "model", 4, Show::setting},
                            {"storage", "weights as", 4, Show::always},
                            {"activations", "activations as", 4, Show::setting},
                            {"weights_gb", "weights GB"},
                            {"kv_cache_gb", "KV cache GB"},
                            {"activations_gb", "activations GB"},
                            {"overhead_gb", "framework GB"},
                            {"total_gb", "total GB", 4, Show::always}},
                .rows = {}};
    for (const GpuProfile& gpu : gpus) table.columns.push_back({"fits_" + gpu.id, "fits " + gpu.id, 4, Show::always, false, tone_of_fit});
    std::vector<StoredMemory> stored;
    for (const auto& model : options.models) {
        const Workload workload = find_workload(options.common.models(), model);
        const Run request = run_request(options.run, workload, nullptr, options.common.models());
        for (const GpuProfile& gpu : gpus) require_one_machine(request.parallel, gpu);
        for (const Storage& storage : storages(options.run, workload, request))
            add_row(table, stored, workload, request, storage, gpus, software);
    }
    Report report;
    report.document["rows"] = as_json(table);
    report.charts = storage_charts(stored, gpus);
    report.after.push_back(
        "GB is 1e9 bytes. The KV cache has the format of the activations unless --kv sets it. 8- and 4-bit rows of a 16-bit run quantize "
        "weights alone. int4 has a 16-bit scale and a zero point for each 128 weights.");
    const bool any_fits = add_fit(report, table, options, gpus, software);
    if (!gpus.empty() && serves(options))
        report.after.push_back("--software NAME shows how a serving engine divides the memory, in tokens and sequences: " +
                               engine_memory_names(software.memory));
    add_assumed(report, table, gpus);
    report.tables.push_back(std::move(table));
    write(report, options.common);
    return any_fits;
}

void run(const MemoryOptions& options) {
    const SoftwareStacks software = load_software(options.common.software());
    Notes notes;
    require_software(options.run, software, notes);
    std::vector<GpuProfile> gpus;
    for (const auto& id : options.gpus) gpus.push_back(load_chosen_gpu(options.common.gpus(), id, notes));
    const bool by_engine = divides_as_engine(options.engine, options.run, software, !gpus.empty());
    const bool fits = by_engine ? answer_as_engine(options, gpus, software) : answer_by_storage(options, gpus, software);
    notes.print();
    end_with(fits ? ExitCode::answered : ExitCode::no);
}

}  // namespace

void add_memory_command(CLI::App& app) {
    auto options = std::make_shared<MemoryOptions>();
    CLI::App* command = app.add_subcommand("memory");
    command->add_option("-m,--model", options->models, "Model id, alias, hub id, TOML file or config.json. Several are allowed")
        ->required();
    command->add_option("-g,--gpu", options->gpus, "GPU that must hold the model. Several are allowed")->delimiter(',');
    add_engine_memory_options(*command, options->engine);
    add_run_options(*command, options->run);
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
