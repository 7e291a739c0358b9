#include "report/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "report/describe.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

namespace {

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

/// A setting: of the completed run, else as the user wrote it.
Field<SweepRow> setting(const std::string& key, const std::string& title, auto value) {
    return {{key, title, 4, Show::setting},
            [key, value](const SweepRow& row) { return row.point.request ? Cell(value(*row.point.request)) : written_cell(row, key); }};
}

Cell if_given(std::int64_t value) {
    return value > 0 ? Cell(value) : Cell();
}

Cell streams_of(const Run& run) {
    if (!run.streams && !run.software.empty()) return {};  // the software's own
    return std::int64_t{run.streams.value_or(1)};
}

const Fields<SweepRow>& sweep_settings() {
    static const Fields<SweepRow> fields{
        {{"model", "model", 4, Show::always}, [](const SweepRow& row) { return row.model; }},
        {{"gpu", "GPU", 4, Show::always}, [](const SweepRow& row) { return row.gpu; }},
        setting("precision", "precision", [](const Run& run) { return std::string(name(run.precision)); }),
        setting("weights", "weights", weights_text),
        setting("kv_precision", "KV", [](const Run& run) { return std::string(name(run.cache_precision())); }),
        setting("execution", "execution", [](const Run& run) { return std::string(name(run.execution)); }),
        setting("batch", "batch", [](const Run& run) { return run.batch; }),
        setting("prompt_tokens", "prompt", [](const Run& run) { return if_given(run.prompt_tokens); }),
        setting("output_tokens", "output", [](const Run& run) { return if_given(run.generate_tokens); }),
        setting("image_size", "pixels", [](const Run& run) { return if_given(run.image_size); }),
        setting("gpus", "GPUs", [](const Run& run) { return run.parallel.gpus(); }),
        setting("tensor_parallel", "tp", [](const Run& run) { return run.parallel.tensor; }),
        setting("pipeline_parallel", "pp", [](const Run& run) { return run.parallel.pipeline; }),
        setting("data_parallel", "dp", [](const Run& run) { return run.parallel.data; }),
        setting("streams", "streams", streams_of)};
    return fields;
}

/// A figure of a point that runs, which `figure` gives as anything that a cell can hold.
std::function<Cell(const SweepRow&)> of_point(auto figure) {
    return [figure](const SweepRow& row) { return row.point.runs() ? Cell(figure(row.point)) : Cell(); };
}
auto number_if(std::optional<double> SweepPoint::*value) {
    return of_point([value](const SweepPoint& p) { return cell_if(p.*value, std::identity{}); });
}
auto percent(double Utilization::*rate) {
    return of_point([rate](const SweepPoint& p) { return 100 * p.utilization.*rate; });
}
auto of_memory(auto figure) {
    return [figure](const SweepRow& row) { return row.point.memory ? Cell(figure(*row.point.memory)) : Cell(); };
}

Fields<SweepRow> latency_fields() {
    const auto latency = of_point([](const SweepPoint& p) { return p.latency.in(ms); });
    const Fields<SweepRow> fields{{{"latency_ms", "latency ms", 4, Show::always}, latency}};
    return fields + bound_fields<SweepRow>("latency_ms", 4, Show::usual, latency, [](const SweepRow& row) {
               return row.point.intervals ? std::optional(row.point.intervals->latency) : std::nullopt;
           });
}

const Fields<SweepRow>& sweep_figures() {
    using Point = SweepPoint;
    static const Fields<SweepRow> fields =
        latency_fields() +
        Fields<SweepRow>{
            {{"ttft_ms", "TTFT ms"}, of_point([](const Point& p) { return cell_in(p.ttft, ms); })},
            {{"tpot_ms", "TPOT ms"}, of_point([](const Point& p) { return cell_in(p.tpot, ms); })},
            {{"throughput_per_s", "items/s", 4, Show::wide}, of_point([](const Point& p) { return p.items_per_second; })},
            {{"tokens_per_s", "tokens/s"}, number_if(&Point::tokens_per_second)},
            {{"memory_gb", "memory GB", 3}, of_memory([](const MemoryEstimate& m) { return m.total().in(gb); })},
            {{"capacity_gb", "usable GB", 3, Show::wide}, of_memory([](const MemoryEstimate& m) { return cell_in(m.usable, gb); })},
            {{"fits", "fits", 4, Show::always, false, tone_of_fit},
             of_memory([](const MemoryEstimate& m) { return cell_if(m.fits(), std::identity{}); })},
            {{"bound", "bound", 4, Show::wide}, of_point([](const Point& p) { return p.bound; })},
            {{"compute_percent", "% of peak", 3, Show::wide}, percent(&Utilization::compute)},
            {{"bandwidth_percent", "% of bandwidth", 3, Show::wide}, percent(&Utilization::bandwidth)},
            {{"power_percent", "% of TDP", 3, Show::wide}, percent(&Utilization::power)},
            {{"interval_percent", "interval %", 4, Show::data},
             of_point([](const Point& p) { return p.intervals ? Cell(std::int64_t{interval_percent}) : Cell(); })},
            {{"speedup", "speed-up", 3, Show::wide}, number_if(&Point::speedup)},
            {{"parallel_efficiency", "efficiency", 3, Show::wide}, number_if(&Point::parallel_efficiency)},
            {{"streams_speedup", "streams gain", 3, Show::wide}, number_if(&Point::streams_speedup)},
            {{"reason", "why not", 4, Show::always, true},
             [](const SweepRow& row) { return row.point.runs() ? Cell() : Cell(row.point.reason); }},
            {{"assumed", "assumed", 4, Show::data}, [](const SweepRow& row) { return text_cell(row.assumed); }}};
    return fields;
}

}  // namespace

bool is_sweep_column(const std::string& key) {
    return std::any_of(sweep_settings().begin(), sweep_settings().end(), [&](const auto& field) { return field.column.key == key; });
}

Fields<SweepRow> sweep_fields(const std::vector<std::string>& extra) {
    Fields<SweepRow> fields = sweep_settings();
    for (const std::string& key : extra)
        fields.push_back({{key, key, 4, Show::setting}, [key](const SweepRow& row) { return written_cell(row, key); }});
    return std::move(fields) + sweep_figures();
}

Report sweep_report(Table table, Format wanted) {
    Report report;
    if (wanted == Format::json || wanted == Format::html) report.document["points"] = as_json(table);
    report.tables.push_back(std::move(table));
    report.after = {fmt::format("{} and {} bound the latency. Speed-up and efficiency compare with the same settings on the fewest GPUs.",
                                bound_title("low"), bound_title("high"))};
    return report;
}

}  // namespace roofcast
