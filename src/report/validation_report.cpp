#include "report/validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/op_text.hpp"
#include "measurement/row_text.hpp"
#include "report/run_parts.hpp"

namespace roofcast {

namespace {

using Json = nlohmann::ordered_json;

/// Better bands are plain: what stands out is what to distrust.
Tone tone_of_band(const Cell& cell) {
    return cell == cell_of(Band::needs_improvement) ? Tone::bad : cell == cell_of(Band::fair) ? Tone::warning : Tone::plain;
}

/// NaN, of no rows, becomes null in JSON and a dash in text.
const Fields<AccuracyGroup>& error_fields() {
    using Group = AccuracyGroup;
    using Summary = AccuracySummary;
    const auto ours = [](double Summary::*figure) { return [figure](const Group& group) { return group.ours.*figure; }; };
    const auto roofline = [](double Summary::*figure) { return [figure](const Group& group) { return group.roofline.*figure; }; };
    static const Fields<Group> fields{
        {{"rows", "rows", 4, Show::always}, [](const Group& group) { return group.ours.rows; }},
        {{"mape_percent", "MAPE %", 3, Show::always}, ours(&Summary::mape_percent)},
        {{"median_ape_percent", "median %", 3, Show::always}, ours(&Summary::median_ape_percent)},
        {{"p90_ape_percent", "P90 %", 3}, ours(&Summary::p90_ape_percent)},
        {{"bias_percent", "bias %", 3}, ours(&Summary::bias_percent)},
        {{"accuracy_percent", "accuracy %", 3, Show::wide}, ours(&Summary::accuracy_percent)},
        {{"band", "band", 4, Show::wide, false, tone_of_band},
         [](const Group& group) { return group.ours.rows > 0 ? cell_of(band(group.ours.accuracy_percent)) : Cell(); }},
        {{"coverage_percent", "in 80% interval", 3},
         [](const Group& group) { return group.coverage_percent.value_or(std::numeric_limits<double>::quiet_NaN()); }},
        {{"roofline_mape_percent", "roofline MAPE %", 3}, roofline(&Summary::mape_percent)},
        {{"roofline_median_ape_percent", "roofline median %", 3, Show::wide}, roofline(&Summary::median_ape_percent)},
        {{"roofline_bias_percent", "roofline bias %", 3, Show::wide}, roofline(&Summary::bias_percent)}};
    return fields;
}

Table accuracy_table(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& by) {
    Fields<AccuracyGroup> fields;
    for (std::size_t i = 0; i < by.size(); ++i) {
        const std::string key(name(by[i]));
        fields.push_back({{key, key, 4, Show::always}, [i](const AccuracyGroup& group) { return group.values[i]; }});
    }
    return table_of("Accuracy by group (roofline: the data sheet alone)", group_by(validation, measurements, by),
                    std::move(fields) + error_fields());
}

Table overall_table(const Validation& validation) {
    return table_of("Overall", std::vector{overall(validation)}, error_fields());
}

/// A row of measurements, judged or set aside, in words.
struct RowText {
    std::string gpu, op, precision, shape, metric, at;
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
                place_text(m.origin),
                m.value};
    }
    const KernelRow& k = measurements.kernels[index];
    return {k.gpu, k.op_name, std::string(name(k.precision)), shape_text(k.op), "latency_us", place_text(k.origin), k.latency.in(us)};
}

const Fields<RowText>& row_fields() {
    static const Fields<RowText> fields{
        {{"gpu", "GPU", 4, Show::always}, &RowText::gpu},
        {{"op", "op", 4, Show::setting}, &RowText::op},
        {{"precision", "precision", 4, Show::setting}, [](const RowText& r) { return text_cell(r.precision); }},
        {{"shape", "shape", 4, Show::always, true}, &RowText::shape},
        {{"metric", "metric", 4, Show::setting}, &RowText::metric}};
    return fields;
}

const Fields<PredictedTerms>& judged_terms() {
    using Terms = PredictedTerms;
    static const Fields<Terms> fields = shown(Fields<Terms>{{{"compute_us", "compute us", 3}, &Terms::compute, us},
                                                            {{"dram_us", "DRAM us", 3}, &Terms::dram, us},
                                                            {{"l2_us", "L2 us", 3}, &Terms::l2, us},
                                                            {{"launch_us", "launch us", 3}, &Terms::launch, us},
                                                            {{"power_us", "power us", 3}, &Terms::power, us},
                                                            {{"communication_us", "comm. us", 3}, &Terms::communication, us},
                                                            {{"host_us", "CPU us", 3}, &Terms::host, us}},
                                              Show::wide) +
                                        Fields<Terms>{{{"bound", "bound"}, [](const Terms& t) { return text_cell(t.bound); }}};
    return fields;
}

Table worst_table(const Validation& validation, const Measurements& measurements, std::size_t count) {
    const Fields<JudgedRow> judged_fields = Fields<JudgedRow>{{{"measured", "measured", 4, Show::always}, &JudgedRow::measured},
                                                              {{"predicted", "predicted", 4, Show::always}, &JudgedRow::predicted},
                                                              {{"ape_percent", "APE %", 3, Show::always}, &JudgedRow::ape_percent}} +
                                            part_fields<JudgedRow>("", &JudgedRow::terms, judged_terms());
    const Fields<RowText> fields =
        row_fields() + part_fields<RowText>("", &RowText::judged, judged_fields) + Fields<RowText>{{{"at", "at"}, &RowText::at}};
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
    const Fields<RowText> fields = row_fields() + Fields<RowText>{{{"measured", "measured", 4, Show::always}, &RowText::measured},
                                                                  {{"limit", "limit", 4, Show::always}, &RowText::limit},
                                                                  {{"at", "at"}, &RowText::at}};
    return table_of(
        fmt::format("Set aside: {} rows better than the data sheet allows by more than {:.0f} %{}", all, 100 * impossible_margin,
                    rows.size() < all ? fmt::format(" (the first {}, JSON has all)", rows.size()) : ""),
        rows, fields);
}

/// Skipped rows by reason, most frequent first.
Table skipped_table(const Validation& validation, std::size_t limit) {
    struct Row {
        std::int64_t rows;
        std::string first, reason;
    };
    static const Fields<Row> fields{{{"rows", "rows"}, &Row::rows},
                                    {{"first", "first at", 4, Show::always}, &Row::first},
                                    {{"reason", "reason", 4, Show::always, true}, &Row::reason}};
    const std::vector<SkippedReason> reasons = validation.skipped.by_rows();
    std::int64_t left = validation.skipped.rows();
    std::vector<Row> rows;
    for (std::size_t i = 0; i < std::min(limit, reasons.size()); ++i) {
        const SkippedReason& r = reasons[i];
        rows.push_back({r.rows, place_text({{}, {}, r.file, r.line}), r.reason});
        left -= r.rows;
    }
    if (left > 0) rows.push_back({left, "", fmt::format("{} other reasons; `format` json lists them", reasons.size() - limit)});
    return table_of(fmt::format("Skipped: {} rows", validation.skipped.rows()), rows, fields);
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
    document["skipped"] = skipped_json(validation.skipped);
    Json impossible = Json::array();
    for (std::size_t i = 0; i < validation.impossible.size(); ++i) {
        const ImpossibleRow& row = validation.impossible[i];
        const Origin& origin = row.is_model ? measurements.models[row.index].origin : measurements.kernels[row.index].origin;
        const RowText text = text_of(row.is_model, row.index, measurements);
        impossible.push_back({{"file", origin.file},
                              {"line", origin.line},
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
    report.tables = {std::move(accuracy), overall_table(validation)};
    if (!worst.rows.empty()) report.tables.push_back(std::move(worst));
    if (!validation.impossible.empty()) report.tables.push_back(impossible_table(impossible_rows(validation, measurements)));
    if (!validation.skipped.empty()) report.tables.push_back(skipped_table(validation, options.listed_skips));
    report.before = {fmt::format("{} rows judged, {} set aside as impossible, {} skipped", validation.rows.size(),
                                 validation.impossible.size(), validation.skipped.rows())};
    report.after = {"APE is |predicted - measured| / measured, MAPE its mean. Bias is the median of predicted / measured - 1.",
                    "In 80% interval: the percentage of rows within the interval of their prediction. Near 80 is right.",
                    "Roofline: FLOPs over the data-sheet peak or bytes over the data-sheet bandwidth, whichever is longer."};
    return report;
}

}  // namespace roofcast
