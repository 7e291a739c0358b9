#include "report/validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "document/field.hpp"
#include "graph/op_text.hpp"
#include "measurement/row_text.hpp"

namespace roofcast {

namespace {

using Json = nlohmann::ordered_json;

/// Better bands are plain: what stands out is what to distrust.
Tone tone_of_band(const Cell& cell) {
    const auto* text = std::get_if<std::string>(&cell);
    if (text == nullptr) return Tone::plain;
    return *text == name(Band::needs_improvement) ? Tone::bad : *text == name(Band::fair) ? Tone::warning : Tone::plain;
}

/// NaN, of no rows, becomes null in JSON and a dash in text.
Field<AccuracyGroup> error_field(const char* key, const char* title, AccuracySummary AccuracyGroup::*of, double AccuracySummary::*value,
                                 Show show = Show::usual) {
    return {{key, title, 3, show}, [of, value](const AccuracyGroup& group) { return group.*of.*value; }};
}

const Fields<AccuracyGroup>& error_fields() {
    using Summary = AccuracySummary;
    static const Fields<AccuracyGroup> fields{
        {{"rows", "rows", 4, Show::always}, [](const AccuracyGroup& group) { return group.ours.rows; }},
        error_field("mape_percent", "MAPE %", &AccuracyGroup::ours, &Summary::mape_percent, Show::always),
        error_field("median_ape_percent", "median %", &AccuracyGroup::ours, &Summary::median_ape_percent, Show::always),
        error_field("p90_ape_percent", "P90 %", &AccuracyGroup::ours, &Summary::p90_ape_percent),
        error_field("bias_percent", "bias %", &AccuracyGroup::ours, &Summary::bias_percent),
        error_field("accuracy_percent", "accuracy %", &AccuracyGroup::ours, &Summary::accuracy_percent, Show::wide),
        {{"band", "band", 4, Show::wide, false, tone_of_band},
         [](const AccuracyGroup& group) {
             return group.ours.rows > 0 ? Cell(std::string(name(band(group.ours.accuracy_percent)))) : Cell();
         }},
        {{"coverage_percent", "in 80% interval", 3},
         [](const AccuracyGroup& group) { return group.coverage_percent.value_or(std::numeric_limits<double>::quiet_NaN()); }},
        error_field("roofline_mape_percent", "roofline MAPE %", &AccuracyGroup::roofline, &Summary::mape_percent),
        error_field("roofline_median_ape_percent", "roofline median %", &AccuracyGroup::roofline, &Summary::median_ape_percent, Show::wide),
        error_field("roofline_bias_percent", "roofline bias %", &AccuracyGroup::roofline, &Summary::bias_percent, Show::wide)};
    return fields;
}

Table accuracy_table(const Validation& validation, const Measurements& measurements, const std::vector<GroupKey>& by) {
    Fields<AccuracyGroup> fields;
    for (std::size_t i = 0; i < by.size(); ++i)
        fields.push_back({{std::string(name(by[i])), std::string(name(by[i])), 4, Show::always},
                          [i](const AccuracyGroup& group) { return group.values[i]; }});
    return table_of<AccuracyGroup>("Accuracy by group (roofline: the data sheet alone)", group_by(validation, measurements, by),
                                   std::move(fields) + error_fields());
}

Table overall_table(const Validation& validation) {
    return table_of<AccuracyGroup>("Overall", std::vector{overall(validation)}, error_fields());
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

Fields<RowText> row_fields() {
    return {{{"gpu", "GPU", 4, Show::always}, [](const RowText& row) { return row.gpu; }},
            {{"op", "op", 4, Show::setting}, [](const RowText& row) { return row.op; }},
            {{"precision", "precision", 4, Show::setting}, [](const RowText& row) { return text_cell(row.precision); }},
            {{"shape", "shape", 4, Show::always, true}, [](const RowText& row) { return row.shape; }},
            {{"metric", "metric", 4, Show::setting}, [](const RowText& row) { return row.metric; }}};
}

Table worst_table(const Validation& validation, const Measurements& measurements, std::size_t count) {
    const auto term = [](Seconds PredictedTerms::*part) {
        return [part](const RowText& row) { return row.judged->terms ? Cell(((*row.judged->terms).*part).in(us)) : Cell(); };
    };
    const Fields<RowText> fields =
        row_fields() +
        Fields<RowText>{
            {{"measured", "measured", 4, Show::always}, [](const RowText& row) { return row.judged->measured; }},
            {{"predicted", "predicted", 4, Show::always}, [](const RowText& row) { return row.judged->predicted; }},
            {{"ape_percent", "APE %", 3, Show::always}, [](const RowText& row) { return row.judged->ape_percent(); }},
            {{"compute_us", "compute us", 3, Show::wide}, term(&PredictedTerms::compute)},
            {{"dram_us", "DRAM us", 3, Show::wide}, term(&PredictedTerms::dram)},
            {{"l2_us", "L2 us", 3, Show::wide}, term(&PredictedTerms::l2)},
            {{"launch_us", "launch us", 3, Show::wide}, term(&PredictedTerms::launch)},
            {{"power_us", "power us", 3, Show::wide}, term(&PredictedTerms::power)},
            {{"communication_us", "comm. us", 3, Show::wide}, term(&PredictedTerms::communication)},
            {{"host_us", "CPU us", 3, Show::wide},
             [](const RowText& row) { return row.judged->terms ? cell_in(row.judged->terms->host, us) : Cell(); }},
            {{"bound", "bound"}, [](const RowText& row) { return row.judged->terms ? text_cell(row.judged->terms->bound) : Cell(); }},
            {{"at", "at"}, [](const RowText& row) { return row.at; }}};
    std::vector<RowText> rows;
    for (const std::size_t i : worst_rows(validation, count)) {
        const JudgedRow& judged = validation.rows[i];
        rows.push_back(text_of(judged.is_model, judged.index, measurements));
        rows.back().judged = &judged;
    }
    return table_of<RowText>("Worst rows, with the terms of the prediction", rows, fields);
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
    const Fields<RowText> fields =
        row_fields() + Fields<RowText>{{{"measured", "measured", 4, Show::always}, [](const RowText& row) { return row.measured; }},
                                       {{"limit", "limit", 4, Show::always}, [](const RowText& row) { return row.limit; }},
                                       {{"at", "at"}, [](const RowText& row) { return row.at; }}};
    return table_of<RowText>(
        fmt::format("Set aside: {} rows better than the data sheet allows by more than {:.0f} %{}", all, 100 * impossible_margin,
                    rows.size() < all ? fmt::format(" (the first {}, JSON has all)", rows.size()) : ""),
        rows, fields);
}

/// Skipped rows by reason, most frequent first.
Table skipped_table(const Validation& validation, std::size_t limit) {
    const std::vector<SkippedReason> reasons = validation.skipped.by_rows();
    Table table{fmt::format("Skipped: {} rows", validation.skipped.rows()),
                {{"rows", "rows"}, {"first", "first at", 4, Show::always}, {"reason", "reason", 4, Show::always, true}},
                {}};
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
