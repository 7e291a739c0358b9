#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <ranges>

#include "graph/op_text.hpp"
#include "measurement/row_text.hpp"
#include "report/data_reports.hpp"
#include "report/run_parts.hpp"

namespace roofcast {

namespace {

/// Better bands are plain: what stands out is what to distrust.
Tone tone_of_band(const Cell& cell) {
    return cell == cell_of(Band::needs_improvement) ? Tone::bad : cell == cell_of(Band::fair) ? Tone::warning : Tone::plain;
}

/// NaN, of no rows, becomes null in JSON and a dash in text.
Fields<AccuracyGroup> error_fields() {
    using Group = AccuracyGroup;
    using Summary = AccuracySummary;
    return {{{"rows", "rows", Show::always}, &Group::ours, &Summary::rows},
            {{"mape_percent", "MAPE %", 3, Show::always}, &Group::ours, &Summary::mape_percent},
            {{"median_ape_percent", "median %", 3, Show::always}, &Group::ours, &Summary::median_ape_percent},
            {{"p90_ape_percent", "P90 %", 3}, &Group::ours, &Summary::p90_ape_percent},
            {{"bias_percent", "bias %", 3}, &Group::ours, &Summary::bias_percent},
            {{"accuracy_percent", "accuracy %", 3, Show::wide}, &Group::ours, &Summary::accuracy_percent},
            {{"band", "band", Show::wide, false, tone_of_band},
             [](const Group& group) { return group.ours.rows > 0 ? cell_of(band(group.ours.accuracy_percent)) : Cell(); }},
            {{"coverage_percent", "in 80% interval", 3},
             [](const Group& group) { return group.coverage_percent.value_or(std::numeric_limits<double>::quiet_NaN()); }},
            {{"roofline_mape_percent", "roofline MAPE %", 3}, &Group::roofline, &Summary::mape_percent},
            {{"roofline_median_ape_percent", "roofline median %", 3, Show::wide}, &Group::roofline, &Summary::median_ape_percent},
            {{"roofline_bias_percent", "roofline bias %", 3, Show::wide}, &Group::roofline, &Summary::bias_percent}};
}

Table accuracy_table(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& by) {
    Fields<AccuracyGroup> fields;
    for (std::size_t i = 0; i < by.size(); ++i) {
        const std::string key(name(by[i]));
        fields.push_back({{key, key, Show::always}, [i](const AccuracyGroup& group) { return group.values[i]; }});
    }
    return table_of("Accuracy by group (roofline: the data sheet alone)", group_by(validation, measurements, by),
                    std::move(fields) + error_fields());
}

Table overall_table(const Validation& validation) {
    return table_of("Overall", std::vector{overall(validation)}, error_fields());
}

/// A row of measurements, judged or set aside, in words.
struct RowText {
    std::string gpu, op, precision, shape, metric;
    const Origin* origin = nullptr;
    double measured = 0;
    const JudgedRow* judged = nullptr;
    double limit = 0;  ///< of one that is set aside
};

RowText text_of(bool is_model, std::size_t index, const Measurements& measurements) {
    if (is_model) {
        const ModelRow& m = measurements.models[index];
        return {m.gpu,
                "model",
                m.precision ? std::string(name(*m.precision)) : std::string(),
                m.model + " " + shape_text(m),
                std::string(name(m.metric)),
                &m.origin,
                m.value};
    }
    const KernelRow& k = measurements.kernels[index];
    return {k.gpu, k.op_name, std::string(name(k.precision)), shape_text(k.op), "latency_us", &k.origin, k.latency.in(us)};
}

std::string place_of(const RowText& row) {
    return place_text(*row.origin);
}

Fields<RowText> row_fields() {
    return {{{"gpu", "GPU", Show::always}, &RowText::gpu},
            {{"op", "op", Show::setting}, &RowText::op},
            {{"precision", "precision", Show::setting}, &RowText::precision, text_cell},
            {{"shape", "shape", Show::always, true}, &RowText::shape},
            {{"metric", "metric", Show::setting}, &RowText::metric}};
}

Table worst_table(const Validation& validation, const Measurements& measurements, std::size_t count) {
    const Fields<PredictedTerms> terms =
        term_fields<PredictedTerms>("launch", 3) + Fields<PredictedTerms>{{{"host_us", "CPU us", 3, Show::wide}, &PredictedTerms::host, us},
                                                                          {{"bound", "bound"}, &PredictedTerms::bound, text_cell}};
    const Fields<JudgedRow> judged_fields = Fields<JudgedRow>{{{"measured", "measured", Show::always}, &JudgedRow::measured},
                                                              {{"predicted", "predicted", Show::always}, &JudgedRow::predicted},
                                                              {{"ape_percent", "APE %", 3, Show::always}, &JudgedRow::ape_percent}} +
                                            part_fields(&JudgedRow::terms, terms);
    const Fields<RowText> fields = row_fields() + part_fields(&RowText::judged, judged_fields) + Fields<RowText>{{{"at", "at"}, place_of}};
    std::vector<RowText> rows;
    for (const std::size_t i : worst_rows(validation, count)) {
        const JudgedRow& judged = validation.rows[i];
        rows.push_back(text_of(judged.is_model, judged.index, measurements));
        rows.back().judged = &judged;
    }
    return table_of("Worst rows, with the terms of the prediction", rows, fields);
}

std::vector<RowText> impossible_rows(const Validation& validation, const Measurements& measurements) {
    std::vector<RowText> rows;
    for (const ImpossibleRow& row : validation.impossible) {
        rows.push_back(text_of(row.is_model, row.index, measurements));
        rows.back().limit = row.limit;
    }
    return rows;
}

constexpr std::size_t listed_impossible = 100;  ///< in the text; JSON lists all

Table impossible_table(std::vector<RowText> rows) {
    const std::size_t all = rows.size();
    rows.resize(std::min(listed_impossible, all));
    const Fields<RowText> fields = row_fields() + Fields<RowText>{{{"measured", "measured", Show::always}, &RowText::measured},
                                                                  {{"limit", "limit", Show::always}, &RowText::limit},
                                                                  {{"at", "at"}, place_of}};
    return table_of(
        fmt::format("Set aside: {} rows better than the data sheet allows by more than {:.0f} %{}", all, 100 * impossible_margin,
                    rows.size() < all ? fmt::format(" (the first {}, JSON has all)", rows.size()) : ""),
        rows, fields);
}

/// Skipped rows by reason, most frequent first.
Table skipped_table(const SkippedRows& skipped, std::size_t limit) {
    const Fields<SkippedReason> fields{{{"rows", "rows"}, &SkippedReason::rows},
                                       {{"first", "first at", Show::always},
                                        [](const SkippedReason& r) {
                                            return place_text({{}, {}, r.file, r.line});
                                        }},
                                       {{"reason", "reason", Show::always, true}, &SkippedReason::reason}};
    const std::vector<SkippedReason> reasons = skipped.by_rows();
    const auto listed = reasons | std::views::take(limit);
    Table table = table_of(fmt::format("Skipped: {} rows", skipped.rows()), listed, fields);
    std::int64_t left = skipped.rows();
    for (const SkippedReason& r : listed) left -= r.rows;
    const std::string others = fmt::format("{} other reasons; `format` json lists them", reasons.size() - listed.size());
    if (left > 0) table.rows.push_back({left, std::string(), others});
    return table;
}

Json json_document(const Validation& validation, const Measurements& measurements, const Table& accuracy, const Table& worst) {
    Json document;
    document["overall"]["rows"] = nullptr;  // first
    document["overall"]["skipped"] = validation.skipped.rows();
    document["overall"]["impossible"] = validation.impossible.size();
    document["overall"].update(as_json(overall_table(validation)).front());
    document["groups"] = as_json(accuracy);
    document["skipped"] = skipped_json(validation.skipped);
    const Fields<RowText> impossible{{{"file", "file"}, [](const RowText& row) { return row.origin->file; }},
                                     {{"line", "line"}, [](const RowText& row) { return row.origin->line; }},
                                     {{"reason", "reason"}, [](const RowText& row) {
                                          return fmt::format("{} {:.4g} measured, physics allows {:.4g} at best ({})", row.metric,
                                                             row.measured, row.limit, row.shape);
                                      }}};
    document["impossible"] = as_json(table_of({}, impossible_rows(validation, measurements), impossible));
    document["worst"] = as_json(worst);
    return document;
}

constexpr std::string_view header =
    "gpu,op,function,kernel,model,precision,weight_precision,shape,metric,measured,predicted,roofline,ape_percent,compute_us,dram_us,l2_us,"
    "launch_us,power_us,"
    "communication_us,host_us,bound,launch,cache,software,source,repeats,spread,file,line,family,phase,"
    "low,high\n";

/// The columns from `measured` to `bound`.
std::string predicted_columns(const JudgedRow& row) {
    std::string out = fmt::format("{:.6g},{:.12g},{},{:.4g},", row.measured, row.predicted,
                                  row.roofline ? fmt::format("{:.6g}", *row.roofline) : "", row.ape_percent());
    if (!row.terms) return out + ",,,,,,,";
    const PredictedTerms& t = *row.terms;
    for (const Seconds term : {t.compute, t.dram, t.l2, t.launch, t.power, t.communication})
        fmt::format_to(std::back_inserter(out), "{:.5g},", term.in(us));
    if (t.host) fmt::format_to(std::back_inserter(out), "{:.5g}", t.host->in(us));
    return out + ',' + t.bound;
}

/// The columns `low` and `high`.
std::string interval_fields(const JudgedRow& row) {
    if (!row.low || !row.high) return ",\n";
    return fmt::format("{:.6g},{:.6g}\n", *row.low, *row.high);
}

/// The columns from `software` to `line`.
std::string origin_fields(const Origin& origin, const Repeats& repeats) {
    return fmt::format("{},{},{},{:.4g},{},{},", csv_field(origin.software), csv_field(origin.source), repeats.rows, repeats.spread,
                       csv_field(origin.file), origin.line);
}

void add_kernel(std::string& out, const JudgedRow& row, const KernelRow& k) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{},,{},{},{},latency_us,{},{},{},{}", csv_field(k.gpu), k.op_name,
                   csv_field(k.function), csv_field(k.kernel), name(k.precision), k.weights ? name(*k.weights) : "", shape_text(k.op),
                   predicted_columns(row), k.launch_included ? "included" : "excluded", name(k.cache),
                   origin_fields(k.origin, k.repeats) + ",," + interval_fields(row));
}

void add_model(std::string& out, const JudgedRow& row, const ModelRow& m) {
    fmt::format_to(std::back_inserter(out), "{},{},{},,{},{},{},{},{},{},{},,{}", csv_field(m.gpu), m.block ? m.block->op_name : "model",
                   m.block ? csv_field(m.block->function) : "", csv_field(m.model), m.precision ? name(*m.precision) : "",
                   m.weights ? name(*m.weights) : "", csv_field(shape_text(m)), name(m.metric), predicted_columns(row),
                   !m.block                   ? ""
                   : m.block->launch_included ? "included"
                                              : "excluded",
                   origin_fields(m.origin, m.repeats) + csv_field(m.family) + ',' + csv_field(m.phase) + ',' + interval_fields(row));
}

}  // namespace

Report validation_report(const Validation& validation, const Measurements& measurements, const ValidationReportOptions& options) {
    Table accuracy = accuracy_table(validation, measurements, options.by);
    Table worst = worst_table(validation, measurements, options.worst);
    Report report;
    report.document = json_document(validation, measurements, accuracy, worst);
    report.tables = {std::move(accuracy), overall_table(validation)};
    add_table(report.tables, std::move(worst));
    add_table(report.tables, impossible_table(impossible_rows(validation, measurements)));
    add_table(report.tables, skipped_table(validation.skipped, options.listed_skips));
    report.before = {fmt::format("{} rows judged, {} set aside as impossible, {} skipped", validation.rows.size(),
                                 validation.impossible.size(), validation.skipped.rows())};
    report.after = {"APE is |predicted - measured| / measured, MAPE its mean. Bias is the median of predicted / measured - 1.",
                    "In 80% interval: the percentage of rows within the interval of their prediction. Near 80 is right.",
                    "Roofline: FLOPs over the data-sheet peak or bytes over the data-sheet bandwidth, whichever is longer."};
    return report;
}

std::string rows_csv(const Validation& validation, const Measurements& measurements) {
    std::string out(header);
    for (const JudgedRow& row : validation.rows) {
        if (row.is_model) {
            add_model(out, row, measurements.models[row.index]);
        } else {
            add_kernel(out, row, measurements.kernels[row.index]);
        }
    }
    return out;
}

}  // namespace roofcast
