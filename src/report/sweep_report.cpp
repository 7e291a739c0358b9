#include "report/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "report/run_parts.hpp"

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

/// Those of the completed run, else as the user wrote them.
Fields<SweepRow> sweep_settings() {
    Fields<SweepRow> fields{{{"model", "model", 4, Show::always}, &SweepRow::model}, {{"gpu", "GPU", 4, Show::always}, &SweepRow::gpu}};
    for (const Field<Run>& field : run_fields()) {
        fields.push_back({field.column, [&field](const SweepRow& row) {
                              return row.point.request ? field.cell(*row.point.request) : written_cell(row, field.column.key);
                          }});
    }
    return fields;
}

Fields<SweepRow> sweep_figures() {
    using Point = SweepPoint;
    const auto if_it_runs = [](const Fields<Point>& fields) {
        return part_fields<SweepRow>(
            "", [](const SweepRow& row) { return row.point.runs() ? &row.point : nullptr; }, fields);
    };
    const Fields<Point> utilization = part_fields<Point>(
        "", [](const Point& p) { return &p.utilization; }, shown(utilization_fields(), Show::wide));
    return if_it_runs(time_fields<Point>()) +
           part_fields<SweepRow>(
               "", [](const SweepRow& row) -> const auto& { return row.point.memory; }, memory_fields()) +
           if_it_runs(Fields<Point>{{{"bound", "bound", 4, Show::wide}, &Point::bound}} + utilization +
                      Fields<Point>{{{"interval_percent", "interval %", 4, Show::data},
                                     [](const Point& p) { return p.intervals ? std::optional(interval_percent) : std::nullopt; }},
                                    {{"speedup", "speed-up", 3, Show::wide}, &Point::speedup},
                                    {{"parallel_efficiency", "efficiency", 3, Show::wide}, &Point::parallel_efficiency},
                                    {{"streams_speedup", "streams gain", 3, Show::wide}, &Point::streams_speedup}}) +
           Fields<SweepRow>{{{"reason", "why not", 4, Show::always, true}, [](const SweepRow& row) { return text_cell(row.point.reason); }},
                            {{"assumed", "assumed", 4, Show::data}, [](const SweepRow& row) { return text_cell(row.assumed); }}};
}

}  // namespace

bool is_sweep_column(const std::string& key) {
    const auto has_key = [&key](const auto& field) { return field.column.key == key; };
    return key == "model" || key == "gpu" || std::any_of(run_fields().begin(), run_fields().end(), has_key);
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
