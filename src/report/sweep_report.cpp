#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "report/run_parts.hpp"
#include "report/run_reports.hpp"

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
    Fields<SweepRow> fields{{{"model", "model", Show::always}, &SweepRow::model}, {{"gpu", "GPU", Show::always}, &SweepRow::gpu}};
    for (const Field<Run>& field : run_fields()) {
        fields.push_back({field.column, [field](const SweepRow& row) {
                              return row.point.request ? field.cell(*row.point.request) : written_cell(row, field.column.key);
                          }});
    }
    return fields;
}

Fields<SweepRow> sweep_figures() {
    using Point = SweepPoint;
    const auto interval = [](const Point& p) { return p.intervals ? std::optional(interval_percent) : std::nullopt; };
    const Fields<Point> figures = Fields<Point>{{{"bound", "bound", Show::wide}, &Point::bound}} +
                                  part_fields(&Point::utilization, shown(utilization_fields(), Show::wide)) +
                                  Fields<Point>{{{"interval_percent", "interval %", Show::data}, interval},
                                                {{"speedup", "speed-up", 3, Show::wide}, &Point::speedup},
                                                {{"parallel_efficiency", "efficiency", 3, Show::wide}, &Point::parallel_efficiency},
                                                {{"streams_speedup", "streams gain", 3, Show::wide}, &Point::streams_speedup}};
    return part_fields(&SweepRow::point, if_it_runs(time_fields<Point>()) + part_fields(&Point::memory, memory_fields()) +
                                             if_it_runs(figures) +
                                             Fields<Point>{{{"reason", "why not", Show::always, true}, &Point::reason, text_cell}}) +
           Fields<SweepRow>{{{"assumed", "assumed", Show::data}, &SweepRow::assumed, text_cell}};
}

}  // namespace

bool is_sweep_column(const std::string& key) {
    return key == "model" || key == "gpu" || !picked(run_fields(), {key}).empty();
}

Fields<SweepRow> sweep_fields(const std::vector<std::string>& extra) {
    Fields<SweepRow> fields = sweep_settings();
    for (const std::string& key : extra)
        fields.push_back({{key, key, Show::setting}, [key](const SweepRow& row) { return written_cell(row, key); }});
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
