#include "report/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

Cell figure(const std::optional<double>& value) {
    return value ? Cell(*value) : Cell();
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

std::vector<Column> statistics_columns() {
    return {{"count", "count"}, {"mean", "mean"}, {"std", "std"},
            {"min", "min"},     {"max", "max"},   {"median", "median"},
            {"p95", "p95"},     {"p99", "p99"},   {"variation_percent", "variation %", 3}};
}

std::vector<Cell> statistics_cells(const SampleStatistics& s) {
    return {s.count > 0 ? Cell(s.count) : Cell(),
            figure(s.mean),
            figure(s.std),
            figure(s.min),
            figure(s.max),
            figure(s.median),
            figure(s.p95),
            figure(s.p99),
            figure(s.variation_percent())};
}

void append(std::vector<Cell>& row, const std::vector<Cell>& cells) {
    row.insert(row.end(), cells.begin(), cells.end());
}

nlohmann::ordered_json skipped_json(const SkippedRows& skipped) {
    auto list = nlohmann::ordered_json::array();
    for (const SkippedReason& s : skipped.reasons())
        list.push_back({{"rows", s.rows}, {"file", s.file}, {"line", s.line}, {"reason", s.reason}});
    return list;
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
    return fmt::format("high variance: {} series with a standard deviation above {} % of the typical value; their differences may be noise",
                       unsteady_series, high_variance_percent);
}

/// A row per series. `text` writes relative performance for people, the other form for programs.
Table summary_table(const BenchData& data, const std::vector<Standing>& standing, const std::vector<std::string>& keys, bool text) {
    Table table{{}, {{"work", "work"}}, {}};
    for (const auto& key : keys) table.columns.push_back({key, key});
    table.columns.push_back({"metric", "metric"});
    for (auto& c : statistics_columns()) table.columns.push_back(c);
    table.columns.push_back({"relative", "relative"});
    table.columns.push_back({"fastest", "fastest"});
    table.columns.push_back({"high_variance", "high variance"});
    for (std::size_t i = 0; i < data.series.size(); ++i) {
        const BenchSeries& s = data.series[i];
        std::vector<Cell> row{described(s.work)};
        for (const auto& key : keys) row.push_back(value_of(s.run_by, key));
        row.emplace_back(s.metric);
        append(row, statistics_cells(s.statistics));
        row.push_back(text ? Cell(relative_text(standing[i].relative)) : Cell(standing[i].relative));
        row.push_back(text && !standing[i].fastest ? Cell() : Cell(standing[i].fastest));
        row.push_back(text && !unsteady(s) ? Cell() : Cell(unsteady(s)));
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table comparison_table(const BenchComparison& comparison, bool text) {
    Table table{{}, {{"work", "work"}, {"metric", "metric"}, {"contestant", "contestant"}}, {}};
    for (auto& c : statistics_columns()) table.columns.push_back(c);
    table.columns.push_back({"relative", "relative"});
    table.columns.push_back({"change_percent", "change"});
    table.columns.push_back({"fastest", "fastest"});
    table.columns.push_back({"high_variance", "high variance"});
    for (const auto& work : comparison.works) {
        for (std::size_t c = 0; c < work.by_contestant.size(); ++c) {
            const BenchSeries& s = work.by_contestant[c];
            const double relative = relative_performance(work.by_contestant.front(), s);
            std::vector<Cell> row{described(work.work), work.metric, comparison.contestants[c]};
            append(row, statistics_cells(s.statistics));
            row.push_back(text ? Cell(relative_text(relative)) : Cell(relative));
            row.push_back(text ? Cell(change_text(relative)) : Cell(100 * (relative - 1)));
            const bool fastest = work.fastest == c;
            row.push_back(text && !fastest ? Cell() : Cell(fastest));
            row.push_back(text && !unsteady(s) ? Cell() : Cell(unsteady(s)));
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

Table contestants_table(const BenchComparison& comparison, bool text) {
    Table table{"Summary: relative performance is the geometric mean over all works",
                {{"metric", "metric"},
                 {"contestant", "contestant"},
                 {"works", "works"},
                 {"relative", "relative"},
                 {"change_percent", "change"},
                 {"fastest", "fastest in"},
                 {"high_variance", "high variance in"}},
                {}};
    for (const auto& summary : comparison.summaries) {
        for (std::size_t c = 0; c < comparison.contestants.size(); ++c) {
            const auto& of = summary.by_contestant[c];
            table.rows.push_back({summary.metric, comparison.contestants[c], summary.works,
                                  text ? Cell(relative_text(of.relative)) : Cell(of.relative),
                                  text ? Cell(change_text(of.relative)) : Cell(100 * (of.relative - 1)), of.fastest, of.unsteady});
        }
    }
    return table;
}

}  // namespace

std::string relative_text(double relative) {
    return fmt::format("{:.2f}×", relative);
}

std::string change_text(double relative) {
    const double percent = 100 * (relative - 1);
    return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 10 ? 1 : 0);
}

Report bench_summary_report(const BenchData& data, Format wanted) {
    const auto standing = standings(data.series);
    const auto keys = shown_keys(data.series);
    Report report;
    Table table = summary_table(data, standing, keys, wanted == Format::table || wanted == Format::html);
    if (wanted == Format::json || wanted == Format::html) {
        report.document["series"] = as_json(table);
        report.document["skipped"] = skipped_json(data.skipped);
        if (wanted == Format::json) return report;
    }
    report.tables.push_back(std::move(table));
    const auto count = std::count_if(data.series.begin(), data.series.end(), unsteady);
    if (count > 0) report.after.push_back(variance_line(count));
    for (auto& line : skipped_lines(data.skipped)) report.after.push_back(std::move(line));
    return report;
}

Report bench_comparison_report(const BenchComparison& comparison, const SkippedRows& skipped) {
    Report report;
    report.csv = comparison_table(comparison, false);
    report.tables = {comparison_table(comparison, true), contestants_table(comparison, true)};
    report.before.push_back(fmt::format("baseline: {}", comparison.contestants.front()));
    if (!comparison.also_differs.empty())
        report.before.push_back(fmt::format("the contestants also differ in: {}", fmt::join(comparison.also_differs, ", ")));
    report.document["contestants"] = comparison.contestants;
    report.document["also_differs"] = comparison.also_differs;
    report.document["summaries"] = as_json(contestants_table(comparison, false));
    report.document["works"] = as_json(report.csv);
    report.document["unmatched_series"] = comparison.unmatched;
    report.document["skipped"] = skipped_json(skipped);
    std::int64_t count = 0;
    for (const auto& work : comparison.works) count += std::count_if(work.by_contestant.begin(), work.by_contestant.end(), unsteady);
    if (count > 0) report.after.push_back(variance_line(count));
    if (comparison.unmatched > 0) report.after.push_back(fmt::format("{} series without a counterpart", comparison.unmatched));
    for (auto& line : skipped_lines(skipped)) report.after.push_back(std::move(line));
    return report;
}

}  // namespace roofcast
