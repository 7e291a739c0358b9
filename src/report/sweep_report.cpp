#include "report/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "report/condensed.hpp"
#include "report/describe.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

namespace {

const std::vector<Column>& setting_columns() {
    static const std::vector<Column> columns{{"model", "model"},
                                             {"gpu", "GPU"},
                                             {"precision", "precision"},
                                             {"weights", "weights"},
                                             {"kv_precision", "KV"},
                                             {"execution", "execution"},
                                             {"batch", "batch"},
                                             {"prompt_tokens", "prompt"},
                                             {"output_tokens", "output"},
                                             {"image_size", "pixels"},
                                             {"gpus", "GPUs"},
                                             {"tensor_parallel", "tp"},
                                             {"pipeline_parallel", "pp"},
                                             {"data_parallel", "dp"},
                                             {"streams", "streams"}};
    return columns;
}

const std::vector<Column>& figure_columns() {
    static const std::vector<Column> columns{{"latency_ms", "latency ms"},
                                             {"latency_ms_low", bound_title("low")},
                                             {"latency_ms_high", bound_title("high")},
                                             {"ttft_ms", "TTFT ms"},
                                             {"tpot_ms", "TPOT ms"},
                                             {"throughput_per_s", "items/s"},
                                             {"tokens_per_s", "tokens/s"},
                                             {"memory_gb", "memory GB", 3},
                                             {"capacity_gb", "of GB", 3},
                                             {"fits", "fits"},
                                             {"bound", "bound"},
                                             {"compute_percent", "% of peak", 3},
                                             {"bandwidth_percent", "% of bandwidth", 3},
                                             {"power_percent", "% of TDP", 3},
                                             {"interval_percent", "interval %"},
                                             {"speedup", "speed-up", 3},
                                             {"parallel_efficiency", "efficiency", 3},
                                             {"streams_speedup", "streams gain", 3},
                                             {"reason", "cannot run because"},
                                             {"assumed", "assumed"}};
    return columns;
}

template <class T>
Cell if_given(T value) {
    return value > 0 ? Cell(static_cast<std::int64_t>(value)) : Cell();
}

/// A setting that was completed, by column.
Cell setting(const Run& run, const std::string& key) {
    if (key == "precision") return std::string(name(run.precision));
    if (key == "weights") return weights_text(run);
    if (key == "kv_precision") return std::string(name(run.cache_precision()));
    if (key == "execution") return std::string(name(run.execution));
    if (key == "batch") return run.batch;
    if (key == "prompt_tokens") return if_given(run.prompt_tokens);
    if (key == "output_tokens") return if_given(run.generate_tokens);
    if (key == "image_size") return if_given(run.image_size);
    if (key == "gpus") return run.parallel.gpus();
    if (key == "tensor_parallel") return run.parallel.tensor;
    if (key == "pipeline_parallel") return run.parallel.pipeline;
    if (key == "data_parallel") return run.parallel.data;
    if (!run.streams && !run.software.empty()) return {};  // the software's own
    return std::int64_t{run.streams.value_or(1)};
}

/// As the user wrote it: a number where it is one.
Cell written_cell(const SweepRow& row, const std::string& key) {
    const auto found = row.written.find(key);
    if (found == row.written.end()) return {};
    const std::string& text = found->second;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return text;
    if (text.find_first_not_of("0123456789") == std::string::npos) return static_cast<std::int64_t>(value);
    return value;
}

/// Cells of the figures, filled in by key.
class Figures {
public:
    Figures() : cells_(figure_columns().size()) {}
    template <class Value>
    void put(std::string_view key, Value value) {
        const auto& columns = figure_columns();
        const auto at = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.key == key; });
        cells_[static_cast<std::size_t>(at - columns.begin())] = std::move(value);
    }
    void put_if(std::string_view key, const std::optional<double>& value) {
        if (value) put(key, *value);
    }
    std::vector<Cell> take() { return std::move(cells_); }

private:
    std::vector<Cell> cells_;
};

void put_memory(Figures& figures, const MemoryEstimate& memory) {
    figures.put("memory_gb", memory.total().in(gb));
    if (!memory.usable) return;
    figures.put("capacity_gb", memory.usable->in(gb));
    figures.put("fits", *memory.fits());
}

void put_run(Figures& figures, const SweepPoint& p) {
    figures.put("latency_ms", p.latency.in(ms));
    if (p.intervals) {
        figures.put("latency_ms_low", p.intervals->latency.low * p.latency.in(ms));
        figures.put("latency_ms_high", p.intervals->latency.high * p.latency.in(ms));
        figures.put("interval_percent", std::int64_t{interval_percent});
    }
    if (p.ttft) figures.put("ttft_ms", p.ttft->in(ms));
    if (p.tpot) figures.put("tpot_ms", p.tpot->in(ms));
    figures.put("throughput_per_s", p.items_per_second);
    figures.put_if("tokens_per_s", p.tokens_per_second);
    figures.put("bound", p.bound);
    figures.put("compute_percent", 100 * p.utilization.compute);
    figures.put("bandwidth_percent", 100 * p.utilization.bandwidth);
    figures.put("power_percent", 100 * p.utilization.power);
    figures.put_if("speedup", p.speedup);
    figures.put_if("parallel_efficiency", p.parallel_efficiency);
    figures.put_if("streams_speedup", p.streams_speedup);
}

std::vector<Cell> figure_cells(const SweepRow& row) {
    Figures figures;
    if (row.point.memory) put_memory(figures, *row.point.memory);
    if (row.point.runs()) put_run(figures, row.point);
    if (!row.point.runs()) figures.put("reason", row.point.reason);
    if (!row.assumed.empty()) figures.put("assumed", row.assumed);
    return figures.take();
}

}  // namespace

bool is_sweep_column(const std::string& key) {
    return std::any_of(setting_columns().begin(), setting_columns().end(), [&](const Column& c) { return c.key == key; });
}

Table sweep_table(const std::vector<std::string>& extra) {
    Table table{.title = {}, .columns = setting_columns(), .rows = {}};
    for (const std::string& key : extra) table.columns.push_back({key, key});
    table.columns.insert(table.columns.end(), figure_columns().begin(), figure_columns().end());
    return table;
}

std::vector<Cell> sweep_cells(const SweepRow& row, const std::vector<std::string>& extra) {
    std::vector<Cell> cells{row.model, row.gpu};
    for (const Column& column : setting_columns()) {
        if (column.key == "model" || column.key == "gpu") continue;
        cells.push_back(row.point.request ? setting(*row.point.request, column.key) : written_cell(row, column.key));
    }
    for (const std::string& key : extra) cells.push_back(written_cell(row, key));
    std::vector<Cell> figures = figure_cells(row);
    cells.insert(cells.end(), std::make_move_iterator(figures.begin()), std::make_move_iterator(figures.end()));
    return cells;
}

Report sweep_report(Table table) {
    Report report;
    report.document["points"] = as_json(table);
    if (!table.rows.empty())
        report.tables.push_back(
            condensed(table, {.settings = figure_columns().front().key, .unread = {"assumed", "interval_percent"}}, report.before));
    report.after.push_back(fmt::format(
        "{}, {}: interval of the latency. speed-up: items/s against the point of equal other settings with the fewest GPUs that "
        "can run; efficiency: that over the ratio of GPUs. What does not fit has no times.",
        bound_title("low"), bound_title("high")));
    report.csv = std::move(table);
    return report;
}

}  // namespace roofcast
