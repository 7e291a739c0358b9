#include "report/bench_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "document/field.hpp"

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

/// Statistics of the series that `of` gives of a row.
template <class Row>
Fields<Row> statistics_fields(auto of) {
    const auto figure = [of](auto value) {
        return [of, value](const Row& row) { return cell_if(std::invoke(value, of(row).statistics), std::identity{}); };
    };
    return {{{"count", "count", 4, Show::wide},
             [of](const Row& row) {
                 const std::int64_t count = of(row).statistics.count;
                 return count > 0 ? Cell(count) : Cell();
             }},
            {{"mean", "mean", 4, Show::always}, figure(&SampleStatistics::mean)},
            {{"std", "std", 4, Show::wide}, figure(&SampleStatistics::std)},
            {{"min", "min", 4, Show::wide}, figure(&SampleStatistics::min)},
            {{"max", "max", 4, Show::wide}, figure(&SampleStatistics::max)},
            {{"median", "median"}, figure(&SampleStatistics::median)},
            {{"p95", "P95", 4, Show::wide}, figure(&SampleStatistics::p95)},
            {{"p99", "P99", 4, Show::wide}, figure(&SampleStatistics::p99)},
            {{"variation_percent", "variation %", 3}, figure(&SampleStatistics::variation_percent)}};
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
    return fmt::format(
        "High variance: {} series have a standard deviation above {} % of the typical value. Their differences may be noise.",
        unsteady_series, high_variance_percent);
}

Table summary_table(const BenchData& data, const std::vector<std::string>& keys) {
    struct Row {
        const BenchSeries& series;
        Standing standing;
    };
    const auto series = [](const Row& row) -> const BenchSeries& { return row.series; };
    Fields<Row> fields{{{"work", "work", 4, Show::always, true}, [](const Row& row) { return described(row.series.work); }}};
    for (const auto& key : keys)
        fields.push_back({{key, key, 4, Show::setting}, [key](const Row& row) { return value_of(row.series.run_by, key); }});
    fields.push_back({{"metric", "metric", 4, Show::setting}, [](const Row& row) { return row.series.metric; }});
    const Fields<Row> judged{
        {{"relative", "relative ×", 3, Show::always}, [](const Row& row) { return row.standing.relative; }},
        {{"fastest", "fastest", 4, Show::usual, false, tone_of_fastest}, [](const Row& row) { return row.standing.fastest; }},
        {{"high_variance", "high variance", 4, Show::usual, false, tone_of_variance}, [](const Row& row) { return unsteady(row.series); }}};
    const std::vector<Standing> standing = standings(data.series);
    std::vector<Row> rows;
    for (std::size_t i = 0; i < data.series.size(); ++i) rows.push_back({data.series[i], standing[i]});
    return table_of<Row>({}, rows, std::move(fields) + statistics_fields<Row>(series) + judged);
}

Table comparison_table(const BenchComparison& comparison) {
    struct Row {
        const ComparedWork& work;
        const BenchSeries& series;
        std::string contestant;
        double relative;
        bool fastest;
    };
    const auto series = [](const Row& row) -> const BenchSeries& { return row.series; };
    const Fields<Row> fields =
        Fields<Row>{{{"work", "work", 4, Show::always, true}, [](const Row& row) { return described(row.work.work); }},
                    {{"metric", "metric", 4, Show::setting}, [](const Row& row) { return row.work.metric; }},
                    {{"contestant", "contestant", 4, Show::always}, [](const Row& row) { return row.contestant; }}} +
        statistics_fields<Row>(series) +
        Fields<Row>{{{"relative", "relative ×", 3, Show::always}, [](const Row& row) { return row.relative; }},
                    {{"change_percent", "change %", 3}, [](const Row& row) { return 100 * (row.relative - 1); }},
                    {{"fastest", "fastest", 4, Show::usual, false, tone_of_fastest}, [](const Row& row) { return row.fastest; }},
                    {{"high_variance", "high variance", 4, Show::usual, false, tone_of_variance},
                     [](const Row& row) { return unsteady(row.series); }}};
    std::vector<Row> rows;
    for (const auto& work : comparison.works) {
        for (std::size_t c = 0; c < work.by_contestant.size(); ++c) {
            const BenchSeries& s = work.by_contestant[c];
            rows.push_back({work, s, comparison.contestants[c], relative_performance(work.by_contestant.front(), s), work.fastest == c});
        }
    }
    return table_of<Row>({}, rows, fields);
}

Table contestants_table(const BenchComparison& comparison) {
    Table table{"Summary: relative performance is the geometric mean over all works",
                {{"metric", "metric", 4, Show::setting},
                 {"contestant", "contestant", 4, Show::always},
                 {"works", "works", 4, Show::always},
                 {"relative", "relative ×", 3, Show::always},
                 {"change_percent", "change %", 3},
                 {"fastest", "fastest in"},
                 {"high_variance", "high variance in"}},
                {}};
    for (const auto& summary : comparison.summaries) {
        for (std::size_t c = 0; c < comparison.contestants.size(); ++c) {
            const auto& of = summary.by_contestant[c];
            table.rows.push_back(
                {summary.metric, comparison.contestants[c], summary.works, of.relative, 100 * (of.relative - 1), of.fastest, of.unsteady});
        }
    }
    return table;
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
    for (auto& line : skipped_lines(data.skipped)) report.after.push_back(std::move(line));
    return report;
}

Report bench_comparison_report(const BenchComparison& comparison, const SkippedRows& skipped) {
    Report report;
    report.tables = {comparison_table(comparison), contestants_table(comparison)};
    report.before.push_back(fmt::format("baseline: {}", comparison.contestants.front()));
    if (!comparison.also_differs.empty())
        report.before.push_back(fmt::format("the contestants also differ in: {}", fmt::join(comparison.also_differs, ", ")));
    report.document["contestants"] = comparison.contestants;
    report.document["also_differs"] = comparison.also_differs;
    report.document["summaries"] = as_json(report.tables.back());
    report.document["works"] = as_json(report.tables.front());
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
