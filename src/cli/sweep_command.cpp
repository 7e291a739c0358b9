#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "charts/charts.hpp"
#include "cli/command.hpp"
#include "cli/option_names.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/sweep_rows.hpp"
#include "cli/temporary_files.hpp"
#include "io/atomic_file.hpp"
#include "report/run_parts.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

// Rows that are held in memory, of JSON and tables, and of pages that a browser can sort. CSV is written as it comes.
constexpr std::int64_t most_held = 100'000, most_on_page = 5'000;

struct SweepOptions {
    CommonOptions common;
    std::vector<std::string> gpus, models;
    std::vector<SweepAxis> axes = sweep_axes();
    std::string shard = "1/1";
    std::size_t threads = 0;  ///< 0: one for each core
};

/// Gives the rows of the shard, some thousand at a time, to `take`.
template <class Take>
void for_each_part(const Sweep& sweep, const SweepOptions& options, Take take) {
    constexpr std::int64_t points_at_once = 4096;
    const Shard shard = parse_shard(options.shard);
    const std::int64_t first = shard.first(sweep.grid().size()), end = shard.end(sweep.grid().size());
    const std::int64_t step = (points_at_once + sweep.group() - 1) / sweep.group() * sweep.group();
    Progress progress(end - first);
    for (std::int64_t start = first, next = 0; start < end; start = next) {
        next = std::min(end, start / sweep.group() * sweep.group() + step);
        take(sweep.rows_between(start, next, options.threads));
        progress.show(next - first);
    }
}

bool any_runs(const std::vector<SweepRow>& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const SweepRow& row) { return row.point.runs(); });
}

/// One of several parts answers no question: a job array is not to fail where a part of the grid does not fit.
ExitCode code_of(const Shard& shard, bool answered) {
    return answered || shard.count > 1 ? ExitCode::answered : ExitCode::no;
}

/// Whether some point runs.
bool write_csv(const Sweep& sweep, const SweepOptions& options, const std::vector<std::string>& extra) {
    const CommonOptions& common = options.common;
    std::unique_ptr<AtomicFile> file;
    if (!common.output.empty()) file = std::make_unique<AtomicFile>(common.output, &temporary_files());
    const auto put = [&file](const std::string& text) {
        if (file) return file->write(text);
        print(text);
    };
    const Fields<SweepRow> fields = sweep_fields(extra);
    if (!common.no_headers) put(csv_header(chosen_columns(table_of<SweepRow>({}, std::vector<SweepRow>{}, fields), common)));
    bool answered = false;
    for_each_part(sweep, options, [&](const std::vector<SweepRow>& rows) {
        Table group = table_of<SweepRow>({}, rows, fields);
        answered = answered || any_runs(rows);
        put(csv_rows(with_options(chosen_columns(std::move(group), common), *common.command)));
    });
    if (file) file->commit();
    return answered;
}

void add_assumptions(Report& report, const SweepInputs& inputs) {
    auto notes = nlohmann::ordered_json::array();
    const auto technique = [](const SweepAxis& axis) { return axis.technique && !axis.values.empty(); };
    if (std::any_of(inputs.axes.begin(), inputs.axes.end(), technique)) {
        notes.push_back(
            "no measured row has cached prefixes, chunks, drafts or offloading: intervals are those of plain passes "
            "(docs/model/cost.md)");
        report.after.push_back("note: " + notes.back().get<std::string>());
    }
    auto assumed = nlohmann::ordered_json::array();
    for (const Gpu& gpu : inputs.gpus) {
        for (const Assumption& a : gpu.profile.assumed)
            assumed.push_back({{"gpu", gpu.profile.id}, {"key", a.key}, {"value", a.value}, {"reason", a.reason}});
        add_lines(report.after, assumed_lines(gpu.profile.assumed, gpu.profile.id + ": "));
    }
    report.document["notes"] = std::move(notes);
    report.document["assumed"] = std::move(assumed);
}

void run(const SweepOptions& options) {
    Notes notes;
    require_output("--output", options.common.output, options.common);
    const SweepInputs inputs = load_sweep(options.gpus, options.models, options.axes, options.common, notes);
    const Sweep sweep(inputs);
    const Shard shard = parse_shard(options.shard);
    const std::int64_t size = sweep.grid().size(), held = shard.end(size) - shard.first(size);
    if (options.common.format == "csv" && !options.common.plot.empty())
        throw Error({.what = "rows of CSV are written as they come, without a chart",
                     .key = "--plot",
                     .suggestion = "choose another --format, or leave --plot out"});
    if (options.common.format == "csv") {
        const bool answered = write_csv(sweep, options, inputs.extra);
        notes.print(options.common);
        return end_with(code_of(shard, answered));
    }
    const std::int64_t most = options.common.format == "html" ? most_on_page : most_held;
    if (held > most)
        throw Error({.what = "too many rows to hold in memory",
                     .key = "--format",
                     .found = fmt::format("{} for {} points", options.common.format, held),
                     .expected = fmt::format("at most {} points", most),
                     .suggestion = "--format csv writes rows as they come; --shard takes a part"});
    const Fields<SweepRow> fields = sweep_fields(inputs.extra);
    Table table{.title = {}, .columns = columns_of(fields), .rows = {}};
    SweepCharts charts;
    bool answered = false;
    for_each_part(sweep, options, [&](const std::vector<SweepRow>& rows) {
        answered = answered || any_runs(rows);
        for (const SweepRow& row : rows) table.rows.push_back(cells_of(row, fields));
        for (const SweepRow& row : rows) charts.add(row);
    });
    Report report = sweep_report(std::move(table), format_of(options.common));
    report.charts = charts.charts();
    report.document["grid_points"] = size;
    report.document["shard"] = fmt::format("{}/{}", shard.index, shard.count);
    add_assumptions(report, inputs);
    write(std::move(report), options.common);
    notes.print(options.common);
    end_with(code_of(shard, answered));
}

}  // namespace

void add_sweep_command(CLI::App& app) {
    auto options = std::make_shared<SweepOptions>();
    CLI::App* command = app.add_subcommand("sweep");
    command->add_option("-g,--gpu", options->gpus, "GPU ids, aliases or profile files")->required();
    command->add_option("-m,--model", options->models, "Model ids, aliases, hub ids, or files: TOML, config.json, ONNX, GGUF, safetensors")
        ->required();
    add_sweep_options(*command, options->axes);
    command->add_option("--shard", options->shard, "Predict only part I of N of the grid, for job arrays")->capture_default_str();
    command->add_option("--threads", options->threads, "Threads that predict (default: one for each core)")->check(CLI::Range(1, 1024));
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
