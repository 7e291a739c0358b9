#include <fmt/format.h>

#include <algorithm>

#include "report/data_reports.hpp"
#include "report/run_parts.hpp"

namespace roofcast {

namespace {

bool unsteady(const BenchSeries& s) {
    return s.statistics.variation_percent().value_or(0) > high_variance_percent;
}

Cell value_of(const Labels& labels, const std::string& key) {
    for (const auto& [name, value] : labels) {
        if (name == key) return value;
    }
    return {};
}

/// Keys of contestants that say something: present, and for the file, more than one of them.
std::vector<std::string> shown_keys(const std::vector<BenchSeries>& series) {
    std::vector<std::string> keys;
    for (const auto& key : contestant_keys()) {
        const bool present = std::any_of(series.begin(), series.end(), [&](const auto& s) { return value_of(s.run_by, key) != Cell(); });
        const bool differs = std::any_of(series.begin(), series.end(),
                                         [&](const auto& s) { return value_of(s.run_by, key) != value_of(series.front().run_by, key); });
        if (present && (differs || (key != "file" && key != "source" && key != "software"))) keys.push_back(key);
    }
    return keys;
}

Fields<SampleStatistics> statistics_fields() {
    using Statistics = SampleStatistics;
    return {{{"count", "count", Show::wide}, &Statistics::count, count_cell},
            {{"mean", "mean", Show::always}, &Statistics::mean},
            {{"std", "std", Show::wide}, &Statistics::std},
            {{"min", "min", Show::wide}, &Statistics::min},
            {{"max", "max", Show::wide}, &Statistics::max},
            {{"median", "median"}, &Statistics::median},
            {{"p95", "P95", Show::wide}, &Statistics::p95},
            {{"p99", "P99", Show::wide}, &Statistics::p99},
            {{"variation_percent", "variation %", 3}, &Statistics::variation_percent}};
}

std::vector<std::string> skipped_lines(const SkippedRows& skipped) {
    constexpr std::size_t most = 5;
    std::vector<std::string> lines;
    const std::vector<SkippedReason> reasons = skipped.by_rows();
    std::int64_t left = skipped.rows();
    for (std::size_t i = 0; i < std::min(most, reasons.size()); ++i) {
        lines.push_back("skipped: " + skipped_text(reasons[i]));
        left -= reasons[i].rows;
    }
    if (left > 0) lines.push_back(fmt::format("skipped: {} rows more, for {} other reasons", left, reasons.size() - most));
    return lines;
}

std::string variance_line(std::int64_t unsteady_series) {
    return fmt::format(
        "High variance: {} series have a standard deviation above {} % of the typical value. Their differences may be noise.",
        unsteady_series, high_variance_percent);
}

/// A series beside those that it competes with.
struct ComparedSeries {
    const BenchSeries& series;
    const Labels& work;  ///< of it and all that it competes with
    Standing standing;
    std::string contestant{};
};
using SeriesFields = Fields<ComparedSeries>;

SeriesFields work_field() {
    return {{{"work", "work", Show::always, true}, [](const ComparedSeries& row) { return described(row.work); }}};
}
SeriesFields metric_field() {
    return {{{"metric", "metric", Show::setting}, [](const ComparedSeries& row) { return row.series.metric; }}};
}

/// Its statistics, then how it stands, in the order of `keys`.
SeriesFields standing_fields(std::initializer_list<std::string_view> keys) {
    using Row = ComparedSeries;
    const SeriesFields fields{
        {{"relative", "relative ×", 3, Show::always}, [](const Row& row) { return row.standing.relative; }},
        {{"change_percent", "change %", 3}, [](const Row& row) { return 100 * (row.standing.relative - 1); }},
        {{"fastest", "fastest", Show::usual, false, tone_of(true, Tone::good)}, [](const Row& row) { return row.standing.fastest; }},
        {{"high_variance", "high variance", Show::usual, false, tone_of(true, Tone::warning)},
         [](const Row& row) { return unsteady(row.series); }}};
    return part_fields<Row>([](const Row& row) { return &row.series.statistics; }, statistics_fields()) + picked(fields, keys);
}

Table summary_table(const BenchData& data, const std::vector<std::string>& keys) {
    SeriesFields fields = work_field();
    for (const auto& key : keys)
        fields.push_back({{key, key, Show::setting}, [key](const ComparedSeries& row) { return value_of(row.series.run_by, key); }});
    const std::vector<Standing> standing = standings(data.series);
    std::vector<ComparedSeries> rows;
    for (std::size_t i = 0; i < data.series.size(); ++i) rows.push_back({data.series[i], data.series[i].work, standing[i]});
    return table_of({}, rows, std::move(fields) + metric_field() + standing_fields({"relative", "fastest", "high_variance"}));
}

Table comparison_table(const BenchComparison& comparison) {
    const SeriesFields contestant{{{"contestant", "contestant", Show::always}, &ComparedSeries::contestant}};
    std::vector<ComparedSeries> rows;
    for (const auto& work : comparison.works) {
        for (std::size_t c = 0; c < work.by_contestant.size(); ++c) {
            const BenchSeries& series = work.by_contestant[c];
            const Standing standing{relative_performance(work.by_contestant.front(), series), work.fastest == c};
            rows.push_back({series, work.work, standing, comparison.contestants[c]});
        }
    }
    return table_of(
        {}, rows, work_field() + metric_field() + contestant + standing_fields({"relative", "change_percent", "fastest", "high_variance"}));
}

Table contestants_table(const BenchComparison& comparison) {
    struct Row {
        const MetricSummary& summary;
        std::size_t contestant;
        [[nodiscard]] const auto& result() const { return summary.by_contestant[contestant]; }
    };
    const Fields<Row> fields{
        {{"metric", "metric", Show::setting}, [](const Row& row) { return row.summary.metric; }},
        {{"contestant", "contestant", Show::always}, [&](const Row& row) { return comparison.contestants[row.contestant]; }},
        {{"works", "works", Show::always}, [](const Row& row) { return row.summary.works; }},
        {{"relative", "relative ×", 3, Show::always}, [](const Row& row) { return row.result().relative; }},
        {{"change_percent", "change %", 3}, [](const Row& row) { return 100 * (row.result().relative - 1); }},
        {{"fastest", "fastest in"}, [](const Row& row) { return row.result().fastest; }},
        {{"high_variance", "high variance in"}, [](const Row& row) { return row.result().unsteady; }}};
    std::vector<Row> rows;
    for (const auto& summary : comparison.summaries) {
        for (std::size_t c = 0; c < comparison.contestants.size(); ++c) rows.push_back({summary, c});
    }
    return table_of("Summary: relative performance is the geometric mean over all works", rows, fields);
}

}  // namespace

Report bench_summary_report(const BenchData& data, Format wanted) {
    Report report;
    report.tables = {summary_table(data, shown_keys(data.series))};
    if (wanted == Format::json || wanted == Format::html) {
        report.document["series"] = as_json(report.tables.front());
        report.document["skipped"] = skipped_json(data.skipped);
    }
    const auto count = std::count_if(data.series.begin(), data.series.end(), unsteady);
    if (count > 0) report.after.push_back(variance_line(count));
    add_lines(report.after, skipped_lines(data.skipped));
    return report;
}

Report bench_comparison_report(const BenchComparison& comparison, const SkippedRows& skipped) {
    Report report;
    report.tables = {comparison_table(comparison), contestants_table(comparison)};
    report.before.push_back(fmt::format("baseline: {}", comparison.contestants.front()));
    if (!comparison.also_differs.empty())
        report.before.push_back(fmt::format("the contestants also differ in: {}", fmt::join(comparison.also_differs, ", ")));
    report.document = {{"contestants", comparison.contestants},      {"also_differs", comparison.also_differs},
                       {"summaries", as_json(report.tables.back())}, {"works", as_json(report.tables.front())},
                       {"unmatched_series", comparison.unmatched},   {"skipped", skipped_json(skipped)}};
    std::int64_t count = 0;
    for (const auto& work : comparison.works) count += std::count_if(work.by_contestant.begin(), work.by_contestant.end(), unsteady);
    if (count > 0) report.after.push_back(variance_line(count));
    if (comparison.unmatched > 0) report.after.push_back(fmt::format("{} series without a counterpart", comparison.unmatched));
    add_lines(report.after, skipped_lines(skipped));
    return report;
}

}  // namespace roofcast
