#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "cli/sweep_axes.hpp"
#include "io/atomic_file.hpp"
#include "report/prediction_report.hpp"
#include "report/sweep_report.hpp"
#include "roofcast/error.hpp"
#include "roofcast/sweep.hpp"

namespace roofcast::cli {

namespace {

constexpr std::int64_t most_held = 100'000;  ///< rows of JSON and tables, which are held in memory; CSV is written as it comes

struct SweepOptions {
    CommonOptions common;
    std::vector<std::string> gpus, models;
    std::vector<SweepAxis> axes = sweep_axes();
    std::string shard = "1/1";
};

/// All that points refer to, loaded once.
struct SweepInputs {
    SoftwareStacks software;
    std::vector<Gpu> gpus;
    std::vector<Workload> models;
    std::map<std::string, std::shared_ptr<const Workload>> drafts;
    std::vector<std::string> extra;  ///< columns of settings that were given beyond the usual ones
};

/// Every engine must run in one of the ways asked for.
void require_engines(const std::vector<SweepAxis>& axes, const SoftwareStacks& software) {
    const auto values = [&axes](const std::string& option) {
        return std::find_if(axes.begin(), axes.end(), [&](const SweepAxis& a) { return a.option == option; })->values;
    };
    std::vector<std::string> ways = values("--execution");
    if (ways.empty()) ways.push_back(RunOptions{}.execution);
    for (const std::string& engine : values("--software")) {
        const auto runs = [&](const std::string& way) { return software.engine(*parse_execution(way), engine) != nullptr; };
        RunOptions options;
        options.software = engine;
        options.execution = ways.front();
        if (std::none_of(ways.begin(), ways.end(), runs)) require_software(options, software);
    }
}

/// Every value of a technique must be one, beside the first values of the others: what speculative decoding needs is given together.
void check_techniques(const std::vector<SweepAxis>& axes, const SweepInputs& inputs) {
    const auto set = [](RunOptions& run, const SweepAxis& axis, const std::string& value) { axis.set(run, value, axis.option.c_str()); };
    RunOptions first;
    for (const SweepAxis& axis : axes) {
        if (axis.technique && !axis.values.empty()) set(first, axis, axis.values.front());
    }
    for (const SweepAxis& axis : axes) {
        if (!axis.technique) continue;
        for (const std::string& value : axis.values) {
            RunOptions run = first;
            set(run, axis, value);
            if (!run.techniques.draft.empty()) run.techniques.draft_model = inputs.drafts.at(run.techniques.draft);
            static_cast<void>(techniques(run.techniques, {}));
        }
    }
}

SweepInputs loaded(SweepOptions& options, Notes& notes) {
    SweepInputs inputs;
    read_values(options.axes);
    const auto gpus_folder = options.common.gpus(), models_folder = options.common.models();
    inputs.software = load_software(gpus_folder);
    require_engines(options.axes, inputs.software);
    for (const std::string& id : list_values(options.gpus, "--gpu")) {
        GpuProfile profile = load_chosen_gpu(gpus_folder, id, notes);
        ParameterSet parameters = load_parameters(gpus_folder, profile);
        inputs.gpus.push_back({std::move(profile), std::move(parameters)});
    }
    for (const std::string& id : list_values(options.models, "--model")) inputs.models.push_back(find_workload(models_folder, id));
    for (const SweepAxis& axis : options.axes) {
        if (!axis.values.empty() && !is_sweep_column(axis.key)) inputs.extra.push_back(axis.key);
        if (axis.option != "--draft") continue;
        for (const std::string& id : axis.values) inputs.drafts[id] = load_draft(models_folder, id);
    }
    check_techniques(options.axes, inputs);
    return inputs;
}

/// One sweep: its grid has models, GPUs, then the axes.
class Sweep {
public:
    Sweep(const SweepOptions& options, const SweepInputs& inputs) : options_(options), inputs_(inputs), grid_(lengths(options, inputs)) {
        for (const SweepAxis& axis : options.axes) {
            if (axis.scales) group_ *= axis.length();
        }
    }
    [[nodiscard]] const Grid& grid() const { return grid_; }
    /// Points that differ in degrees of parallelism and streams alone lie side by side, this many.
    [[nodiscard]] std::int64_t group() const { return group_; }

    /// Rows of the group that begins at point `first`.
    [[nodiscard]] std::vector<SweepRow> rows(std::int64_t first) const {
        std::vector<SweepRow> rows;
        std::vector<SweepPoint> points;
        for (std::int64_t i = first; i < first + group_; ++i) rows.push_back(row(grid_.point(i), points));
        relate(points);
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].point = std::move(points[i]);
        return rows;
    }

private:
    static std::vector<std::int64_t> lengths(const SweepOptions& options, const SweepInputs& inputs) {
        std::vector<std::int64_t> all{static_cast<std::int64_t>(inputs.models.size()), static_cast<std::int64_t>(inputs.gpus.size())};
        for (const SweepAxis& axis : options.axes) all.push_back(axis.length());
        return all;
    }

    [[nodiscard]] SweepRow row(const std::vector<std::size_t>& at, std::vector<SweepPoint>& points) const {
        const Workload& model = inputs_.models[at[0]];
        const Gpu& gpu = inputs_.gpus[at[1]];
        SweepRow row{.model = model.id, .gpu = gpu.profile.id, .written = {}, .point = {}, .assumed = assumed_keys(gpu.profile.assumed)};
        RunOptions run;
        for (std::size_t i = 0; i < options_.axes.size(); ++i) {
            const SweepAxis& axis = options_.axes[i];
            if (axis.values.empty()) continue;
            const std::string& value = row.written[axis.key] = axis.values[at[i + 2]];
            axis.set(run, value, axis.option.c_str());
        }
        if (!run.techniques.draft.empty()) run.techniques.draft_model = inputs_.drafts.at(run.techniques.draft);
        points.push_back(point(run, model, gpu));
        return row;
    }

    [[nodiscard]] SweepPoint point(const RunOptions& run, const Workload& model, const Gpu& gpu) const {
        try {
            require_software(run, inputs_.software);
            return sweep_point(model, gpu, run_request(run, model, &gpu.profile), inputs_.software);
        } catch (const Error& e) {
            SweepPoint refused;
            refused.reason = e.what();
            return refused;
        }
    }

    const SweepOptions& options_;
    const SweepInputs& inputs_;
    Grid grid_;
    std::int64_t group_ = 1;
};

/// Gives the rows of the shard, group by group, to `take`.
template <class Take>
void for_each_group(const Sweep& sweep, const Shard& shard, Take take) {
    const std::int64_t first = shard.first(sweep.grid().size()), end = shard.end(sweep.grid().size());
    Progress progress(end - first);
    for (std::int64_t start = first / sweep.group() * sweep.group(); start < end; start += sweep.group()) {
        std::vector<SweepRow> rows = sweep.rows(start);
        const std::int64_t before = std::max<std::int64_t>(0, first - start), after = std::min(sweep.group(), end - start);
        rows.erase(rows.begin() + after, rows.end());
        rows.erase(rows.begin(), rows.begin() + before);
        take(rows);
        progress.show(start + after - first);
    }
}

void write_csv(const Sweep& sweep, const Shard& shard, const std::vector<std::string>& extra, const std::string& output) {
    std::unique_ptr<AtomicFile> file;
    if (!output.empty()) file = std::make_unique<AtomicFile>(output);
    const auto put = [&file](const std::string& text) {
        if (file) return file->write(text);
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw std::runtime_error("standard output cannot be written");
    };
    const Table columns = sweep_table(extra);
    put(csv_header(columns));
    for_each_group(sweep, shard, [&](const std::vector<SweepRow>& rows) {
        Table group{.title = {}, .columns = columns.columns, .rows = {}};
        for (const SweepRow& row : rows) group.rows.push_back(sweep_cells(row, extra));
        put(csv_rows(group));
    });
    if (file) file->commit();
}

void add_assumptions(Report& report, const SweepOptions& options, const SweepInputs& inputs) {
    auto notes = nlohmann::ordered_json::array();
    const auto technique = [](const SweepAxis& axis) { return axis.technique && !axis.values.empty(); };
    if (std::any_of(options.axes.begin(), options.axes.end(), technique)) {
        notes.push_back(
            "no measured row has cached prefixes, chunks, drafts or offloading: intervals are those of plain passes; "
            "equations and assumptions: docs/scenarios.md");
        report.after.push_back("note: " + notes.back().get<std::string>());
    }
    auto assumed = nlohmann::ordered_json::array();
    for (const Gpu& gpu : inputs.gpus) {
        for (const Assumption& a : gpu.profile.assumed) {
            assumed.push_back({{"gpu", gpu.profile.id}, {"key", a.key}, {"value", a.value}, {"reason", a.reason}});
            report.after.push_back(fmt::format("{}: {}", gpu.profile.id, assumed_line(a)));
        }
    }
    report.document["notes"] = std::move(notes);
    report.document["assumed"] = std::move(assumed);
}

void run(SweepOptions& options) {
    Notes notes;
    const SweepInputs inputs = loaded(options, notes);
    const Sweep sweep(options, inputs);
    const Shard shard = parse_shard(options.shard);
    const std::int64_t size = sweep.grid().size(), held = shard.end(size) - shard.first(size);
    if (options.common.format == "csv") {
        write_csv(sweep, shard, inputs.extra, options.common.output);
        notes.print();
        return;
    }
    if (held > most_held)
        throw Error({.what = "too many rows to hold in memory",
                     .key = "--format",
                     .found = fmt::format("{} for {} points", options.common.format, held),
                     .expected = fmt::format("at most {} points", most_held),
                     .suggestion = "--format csv writes rows as they come; --shard takes a part"});
    Table table = sweep_table(inputs.extra);
    for_each_group(sweep, shard, [&](const std::vector<SweepRow>& rows) {
        for (const SweepRow& row : rows) table.rows.push_back(sweep_cells(row, inputs.extra));
    });
    Report report = sweep_report(std::move(table));
    report.document["grid_points"] = size;
    report.document["shard"] = fmt::format("{}/{}", shard.index, shard.count);
    add_assumptions(report, options, inputs);
    write(report, options.common);
    notes.print();
}

}  // namespace

void add_sweep_command(CLI::App& app) {
    auto options = std::make_shared<SweepOptions>();
    CLI::App* command =
        app.add_subcommand("sweep", "Grids of predictions: every option takes a list with commas, a row for each combination");
    command->add_option("--gpu", options->gpus, "GPU ids, aliases or profile files")->required();
    command->add_option("--model", options->models, "Model ids, TOML files or Hugging Face config.json")->required();
    add_sweep_options(*command, options->axes);
    command->add_option("--shard", options->shard, "Only part i of n of the grid, written i/n, for job arrays")->capture_default_str();
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
