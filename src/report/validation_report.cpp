#include "report/validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/charts/charts.hpp"
#include "report/describe.hpp"

namespace roofcast {

namespace {

using Json = nlohmann::ordered_json;

struct Figure {
    const char* key;
    const char* title;
    double AccuracySummary::*value;
};
constexpr Figure figures[] = {{"mape_percent", "MAPE %", &AccuracySummary::mape_percent},
                              {"median_ape_percent", "median %", &AccuracySummary::median_ape_percent},
                              {"p90_ape_percent", "P90 %", &AccuracySummary::p90_ape_percent},
                              {"bias_percent", "bias %", &AccuracySummary::bias_percent},
                              {"accuracy_percent", "accuracy %", &AccuracySummary::accuracy_percent}};
constexpr Figure roofline_figures[] = {{"roofline_mape_percent", "roofline MAPE %", &AccuracySummary::mape_percent},
                                       {"roofline_median_ape_percent", "roofline median %", &AccuracySummary::median_ape_percent},
                                       {"roofline_bias_percent", "roofline bias %", &AccuracySummary::bias_percent}};

/// NaN, of no rows, becomes null in JSON and a dash in text.
std::vector<Cell> figure_cells(const AccuracyGroup& group) {
    std::vector<Cell> cells{group.ours.rows};
    for (const auto& figure : figures) cells.emplace_back(group.ours.*figure.value);
    cells.emplace_back(group.ours.rows > 0 ? std::string(name(band(group.ours.accuracy_percent))) : std::string());
    cells.emplace_back(group.coverage_percent.value_or(std::numeric_limits<double>::quiet_NaN()));
    for (const auto& figure : roofline_figures) cells.emplace_back(group.roofline.*figure.value);
    return cells;
}

std::vector<Column> error_columns() {
    std::vector<Column> columns{{"rows", "rows"}};
    for (const auto& figure : figures) columns.push_back({figure.key, figure.title, 3});
    columns.push_back({"band", "band"});
    columns.push_back({"coverage_percent", "in 80 % interval", 3});
    for (const auto& figure : roofline_figures) columns.push_back({figure.key, figure.title, 3});
    return columns;
}

Table accuracy_table(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& by) {
    Table table{"Accuracy by group, the plain data-sheet roofline beside it", {}, {}};
    for (const GroupKey key : by) table.columns.push_back({std::string(name(key)), std::string(name(key))});
    for (auto& column : error_columns()) table.columns.push_back(std::move(column));
    for (const auto& group : group_by(validation, measurements, by)) {
        std::vector<Cell> cells(group.values.begin(), group.values.end());
        for (auto& cell : figure_cells(group)) cells.push_back(std::move(cell));
        table.rows.push_back(std::move(cells));
    }
    return table;
}

Table overall_table(const Validation& validation) {
    return {"Overall", error_columns(), {figure_cells(overall(validation))}};
}

/// What a judged row is, in words.
struct RowText {
    std::string gpu, op, precision, shape, metric, at;
};

RowText text_of(const JudgedRow& row, const Measurements& measurements) {
    if (row.is_model) {
        const ModelRow& m = measurements.models[row.index];
        return {m.gpu,
                "model",
                m.precision ? std::string(name(*m.precision)) : std::string(),
                m.model + " " + shape_text(m),
                std::string(name(m.metric)),
                place_text(m.origin)};
    }
    const KernelRow& k = measurements.kernels[row.index];
    return {k.gpu, k.op_name, std::string(name(k.precision)), shape_text(k.op), "latency_us", place_text(k.origin)};
}

std::vector<Cell> worst_cells(const JudgedRow& row, const Measurements& measurements) {
    const RowText text = text_of(row, measurements);
    std::vector<Cell> cells{text.gpu, text.op, text.precision, text.shape, text.metric, row.measured, row.predicted, row.ape_percent()};
    constexpr Seconds PredictedTerms::*terms[] = {&PredictedTerms::compute, &PredictedTerms::dram,  &PredictedTerms::l2,
                                                  &PredictedTerms::launch,  &PredictedTerms::power, &PredictedTerms::communication};
    for (const auto term : terms) cells.push_back(row.terms ? Cell((*row.terms.*term).in(us)) : Cell(std::monostate{}));
    cells.push_back(row.terms && row.terms->host ? Cell(row.terms->host->in(us)) : Cell(std::monostate{}));
    cells.emplace_back(row.terms ? row.terms->bound : std::string());
    cells.emplace_back(text.at);
    return cells;
}

Table worst_table(const Validation& validation, const Measurements& measurements, std::size_t count) {
    Table table{"Worst rows, with the terms of the prediction",
                {{"gpu", "gpu"},
                 {"op", "op"},
                 {"precision", "precision"},
                 {"shape", "shape"},
                 {"metric", "metric"},
                 {"measured", "measured"},
                 {"predicted", "predicted"},
                 {"ape_percent", "APE %", 3},
                 {"compute_us", "compute us", 3},
                 {"dram_us", "DRAM us", 3},
                 {"l2_us", "L2 us", 3},
                 {"launch_us", "launch us", 3},
                 {"power_us", "power us", 3},
                 {"communication_us", "comm. us", 3},
                 {"host_us", "host us", 3},
                 {"bound", "bound"},
                 {"at", "at"}},
                {}};
    for (const std::size_t i : worst_rows(validation, count)) table.rows.push_back(worst_cells(validation.rows[i], measurements));
    return table;
}

/// What the listing of an impossible row says of it.
struct ImpossibleText {
    const Origin& origin;
    std::string gpu, op, shape, metric;
    double measured;
};

ImpossibleText text_of(const ImpossibleRow& row, const Measurements& measurements) {
    if (row.is_model) {
        const ModelRow& m = measurements.models[row.index];
        return {m.origin, m.gpu, "model", m.model + ' ' + shape_text(m), std::string(name(m.metric)), m.value};
    }
    const KernelRow& k = measurements.kernels[row.index];
    return {k.origin, k.gpu, k.op_name, shape_text(k.op), "latency_us", k.latency.in(us)};
}

constexpr std::size_t listed_impossible = 100;  ///< in the text; JSON lists all

Table impossible_table(const Validation& validation, const Measurements& measurements) {
    const std::size_t listed = std::min(listed_impossible, validation.impossible.size());
    Table table{fmt::format("Set aside: {} rows better than the data sheet allows by more than {:.0f} %{}", validation.impossible.size(),
                            100 * impossible_margin,
                            listed < validation.impossible.size() ? fmt::format("; the first {}, JSON lists all", listed) : ""),
                {{"at", "at"},
                 {"gpu", "gpu"},
                 {"op", "op"},
                 {"shape", "shape"},
                 {"metric", "metric"},
                 {"measured", "measured"},
                 {"limit", "limit"}},
                {}};
    for (std::size_t i = 0; i < listed; ++i) {
        const ImpossibleRow& row = validation.impossible[i];
        const ImpossibleText text = text_of(row, measurements);
        table.rows.push_back({place_text(text.origin), text.gpu, text.op, text.shape, text.metric, text.measured, row.limit});
    }
    return table;
}

/// Skipped rows by reason, most frequent first.
Table skipped_table(const Validation& validation, std::size_t limit) {
    const std::vector<SkippedReason> reasons = validation.skipped.by_rows();
    Table table{
        fmt::format("Skipped: {} rows", validation.skipped.rows()), {{"rows", "rows"}, {"first", "first at"}, {"reason", "reason"}}, {}};
    std::int64_t left = validation.skipped.rows();
    for (std::size_t i = 0; i < std::min(limit, reasons.size()); ++i) {
        const SkippedReason& r = reasons[i];
        table.rows.push_back({r.rows, place_text({{}, {}, r.file, r.line}), r.reason});
        left -= r.rows;
    }
    if (left > 0) table.rows.push_back({left, "", fmt::format("{} other reasons; `format` json lists them", reasons.size() - limit)});
    return table;
}

Json json_document(const Validation& validation, const Measurements& measurements, const Table& accuracy, const Table& worst) {
    Json document;
    Json all = as_json(overall_table(validation)).front();
    Json total;
    for (auto& [key, value] : all.items()) {
        total[key] = value;
        if (key != "rows") continue;
        total["skipped"] = validation.skipped.rows();
        total["impossible"] = validation.impossible.size();
    }
    document["overall"] = std::move(total);
    document["groups"] = as_json(accuracy);
    Json skipped = Json::array();
    for (const SkippedReason& r : validation.skipped.reasons())
        skipped.push_back({{"rows", r.rows}, {"file", r.file}, {"line", r.line}, {"reason", r.reason}});
    document["skipped"] = std::move(skipped);
    Json impossible = Json::array();
    for (const auto& row : validation.impossible) {
        const ImpossibleText text = text_of(row, measurements);
        impossible.push_back({{"file", text.origin.file},
                              {"line", text.origin.line},
                              {"reason", fmt::format("{} {:.4g} measured, physics allows {:.4g} at best ({})", text.metric, text.measured,
                                                     row.limit, text.shape)}});
    }
    document["impossible"] = std::move(impossible);
    document["worst"] = as_json(worst);
    return document;
}

}  // namespace

Report validation_report(const Validation& validation, const Measurements& measurements, const ValidationReportOptions& options) {
    Table accuracy = accuracy_table(validation, measurements, options.by);
    Table worst = worst_table(validation, measurements, options.worst);
    Report report;
    report.document = json_document(validation, measurements, accuracy, worst);
    report.charts = validation_charts(validation, measurements, options.by);
    report.tables = {std::move(accuracy), overall_table(validation)};
    if (!worst.rows.empty()) report.tables.push_back(std::move(worst));
    if (!validation.impossible.empty()) report.tables.push_back(impossible_table(validation, measurements));
    if (!validation.skipped.empty()) report.tables.push_back(skipped_table(validation, options.listed_skips));
    report.before = {fmt::format("{} rows judged, {} set aside as impossible, {} skipped", validation.rows.size(),
                                 validation.impossible.size(), validation.skipped.rows())};
    report.after = {"APE = |predicted - measured| / measured; accuracy = 100 - MAPE; bias = median of predicted / measured - 1",
                    "in 80 % interval: share of rows, in percent, within the interval that predictions come with; near 80 is right",
                    "roofline: flops over data-sheet peak or bytes over data-sheet bandwidth, the larger"};
    return report;
}

}  // namespace roofcast
