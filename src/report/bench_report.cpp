#include "report/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/run_parts.hpp"

namespace roofcast {

namespace {

Tone tone_of_fastest(const Cell& cell) {
    return cell == Cell(true) ? Tone::good : Tone::plain;
}
Tone tone_of_variance(const Cell& cell) {
    return cell == Cell(true) ? Tone::warning : Tone::plain;
}

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

const Fields<SampleStatistics>& statistics_fields() {
    using Statistics = SampleStatistics;
    static const Fields<Statistics> fields{{{"count", "count", 4, Show::wide}, [](const Statistics& x) { return count_cell(x.count); }},
                                           {{"mean", "mean", 4, Show::always}, &Statistics::mean},
                                           {{"std", "std", 4, Show::wide}, &Statistics::std},
                                           {{"min", "min", 4, Show::wide}, &Statistics::min},
                                           {{"max", "max", 4, Show::wide}, &Statistics::max},
                                           {{"median", "median"}, &Statistics::median},
                                           {{"p95", "P95", 4, Show::wide}, &Statistics::p95},
                                           {{"p99", "P99", 4, Show::wide}, &Statistics::p99},
                                           {{"variation_percent", "variation %", 3}, &Statistics::variation_percent}};
    return fields;
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
    const Labels& work;
    Standing standing;
    std::string contestant{};
};

Fields<ComparedSeries> series_statistics() {
    return part_fields<ComparedSeries>(
        "", [](const ComparedSeries& row) { return &row.series.statistics; }, statistics_fields());
}
Field<ComparedSeries> work_field() {
    return {{"work", "work", 4, Show::always, true}, [](const ComparedSeries& row) { return described(row.work); }};
}
Field<ComparedSeries> metric_field() {
    return {{"metric", "metric", 4, Show::setting}, [](const ComparedSeries& row) { return row.series.metric; }};
}

/// How a series stands, in the order of `keys`.
Fields<ComparedSeries> standing_fields(std::initializer_list<std::string_view> keys) {
    using Row = ComparedSeries;
    static const Fields<Row> fields{
        {{"relative", "relative ×", 3, Show::always}, [](const Row& row) { return row.standing.relative; }},
        {{"change_percent", "change %", 3}, [](const Row& row) { return 100 * (row.standing.relative - 1); }},
        {{"fastest", "fastest", 4, Show::usual, false, tone_of_fastest}, [](const Row& row) { return row.standing.fastest; }},
        {{"high_variance", "high variance", 4, Show::usual, false, tone_of_variance}, [](const Row& row) { return unsteady(row.series); }}};
    return picked(fields, keys);
}

Table summary_table(const BenchData& data, const std::vector<std::string>& keys) {
    Fields<ComparedSeries> fields{work_field()};
    for (const auto& key : keys)
        fields.push_back({{key, key, 4, Show::setting}, [key](const ComparedSeries& row) { return value_of(row.series.run_by, key); }});
    fields.push_back(metric_field());
    const std::vector<Standing> standing = standings(data.series);
    std::vector<ComparedSeries> rows;
    for (std::size_t i = 0; i < data.series.size(); ++i) rows.push_back({data.series[i], data.series[i].work, standing[i]});
    return table_of({}, rows, std::move(fields) + series_statistics() + standing_fields({"relative", "fastest", "high_variance"}));
}

Table comparison_table(const BenchComparison& comparison) {
    const Fields<ComparedSeries> fields =
        Fields<ComparedSeries>{work_field(), metric_field(), {{"contestant", "contestant", 4, Show::always}, &ComparedSeries::contestant}} +
        series_statistics() + standing_fields({"relative", "change_percent", "fastest", "high_variance"});
    std::vector<ComparedSeries> rows;
    for (const auto& work : comparison.works) {
        for (std::size_t c = 0; c < work.by_contestant.size(); ++c) {
            const BenchSeries& series = work.by_contestant[c];
            const Standing standing{relative_performance(work.by_contestant.front(), series), work.fastest == c};
            rows.push_back({series, work.work, standing, comparison.contestants[c]});
        }
    }
    return table_of({}, rows, fields);
}

Table contestants_table(const BenchComparison& comparison) {
    struct Row {
        const MetricSummary& summary;
        std::size_t contestant;
        [[nodiscard]] const auto& result() const { return summary.by_contestant[contestant]; }
    };
    const Fields<Row> fields{
        {{"metric", "metric", 4, Show::setting}, [](const Row& row) { return row.summary.metric; }},
        {{"contestant", "contestant", 4, Show::always}, [&](const Row& row) { return comparison.contestants[row.contestant]; }},
        {{"works", "works", 4, Show::always}, [](const Row& row) { return row.summary.works; }},
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
