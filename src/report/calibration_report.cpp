#include <fmt/format.h>

#include <cmath>
#include <map>
#include <ranges>

#include "calibration/refinement_text.hpp"
#include "document/field.hpp"
#include "report/data_reports.hpp"

namespace roofcast {

namespace {

/// A figure of a summary that need not be there.
Field<FitAccuracy> accuracy_field(const char* key, const char* title, auto FitAccuracy::*of, double AccuracySummary::*figure,
                                  Show show = Show::usual) {
    return {{key, title, 3, show}, [of, figure](const FitAccuracy& a) {
                const std::optional<AccuracySummary> summary = a.*of;
                return summary && summary->rows > 0 ? Cell((*summary).*figure) : Cell();
            }};
}

Fields<FitAccuracy> accuracy_fields() {
    using Fit = FitAccuracy;
    using Summary = AccuracySummary;
    return {{{"gpu", "GPU", Show::setting}, [](const Fit& a) { return a.gpu.empty() ? "all" : a.gpu; }},
            {{"op", "op", Show::always}, &Fit::op},
            {{"precision", "precision", Show::always}, &Fit::precision},
            {{"rows", "rows", Show::always}, [](const Fit& a) { return a.start.rows; }},
            accuracy_field("start_mape_percent", "unfitted MAPE %", &Fit::start, &Summary::mape_percent),
            accuracy_field("fit_mape_percent", "in fit MAPE %", &Fit::fit, &Summary::mape_percent),
            accuracy_field("fit_median_ape_percent", "median %", &Fit::fit, &Summary::median_ape_percent, Show::wide),
            accuracy_field("fit_bias_percent", "bias %", &Fit::fit, &Summary::bias_percent, Show::wide),
            accuracy_field("cross_validated_mape_percent", "cross-validated MAPE %", &Fit::cross_validated, &Summary::mape_percent,
                           Show::always),
            accuracy_field("cross_validated_p90_ape_percent", "P90 %", &Fit::cross_validated, &Summary::p90_ape_percent),
            {{"held_out_rows", "held-out rows", Show::wide}, [](const Fit& a) { return a.held_out ? a.held_out->rows : std::int64_t{0}; }},
            accuracy_field("held_out_mape_percent", "held-out MAPE %", &Fit::held_out, &Summary::mape_percent),
            accuracy_field("gpu_left_out_mape_percent", "GPU left out MAPE %", &Fit::gpu_left_out, &Summary::mape_percent)};
}

/// Groups, then all.
Table accuracy_table(const NamedFit& named) {
    std::vector<FitAccuracy> rows = named.fit.groups;
    rows.push_back(named.fit.overall);
    return table_of(fmt::format("Accuracy of the fit of {}", named.title), rows, accuracy_fields());
}

Table stage_table(const Fit& fit) {
    using Stage = StageFit;
    const Fields<Stage> fields{{{"name", "stage", Show::always}, &Stage::name},
                               {{"rows", "rows", Show::always}, &Stage::rows},
                               {{"parameters", "parameters"}, &Stage::parameters},
                               {{"evaluations", "evaluations", Show::wide}, &Stage::evaluations},
                               {{"mape_before_percent", "MAPE % before", 3, Show::always}, &Stage::mape_before_percent},
                               {{"mape_after_percent", "after", 3, Show::always}, &Stage::mape_after_percent},
                               {{"loss_before", "loss before", 3, Show::wide}, &Stage::loss_before},
                               {{"loss_after", "loss after", 3, Show::wide}, &Stage::loss_after},
                               {{"condition", "condition number", 3, Show::wide},
                                [](const Stage& s) {
                                    const bool known = !s.singular_values.empty() && s.singular_values.back() > 0;
                                    return known ? Cell(s.singular_values.front() / s.singular_values.back()) : Cell();
                                }},
                               {{"stop", "stopped by", Show::wide}, &Stage::stop}};
    return table_of("Stages", fit.stages, fields);
}

std::string remark(const FittedParameter& p) {
    if (!p.fitted()) return p.unchanged ? "as shipped" : "kept";
    std::string text = p.hit == BoundHit::lower ? "at lower bound" : p.hit == BoundHit::upper ? "at upper bound" : "";
    if (!p.identifiable) text += text.empty() ? "weakly identified" : ", weakly identified";
    return text;
}

Table parameter_table(const Fit& fit) {
    using Fitted = FittedParameter;
    const auto spec = [](const Fitted& p) -> const ParameterSpec& { return parameter_specs()[p.spec]; };
    const auto if_fitted = [](auto value) { return [value](const Fitted& p) { return p.fitted() ? Cell(p.*value) : Cell(); }; };
    const Fields<Fitted> fields{{{"name", "parameter", Show::always}, [spec](const Fitted& p) { return spec(p).name; }},
                                {{"unit", "unit", Show::wide}, [spec](const Fitted& p) { return spec(p).unit; }},
                                {{"before", "before", Show::always}, &Fitted::before},
                                {{"after", "after", Show::always}, &Fitted::after},
                                {{"standard_error", "± std. error", 2}, &Fitted::standard_error},
                                {{"lower", "lower bound", 3, Show::wide}, [spec](const Fitted& p) { return spec(p).fitted_lower; }},
                                {{"upper", "upper bound", 3, Show::wide}, [spec](const Fitted& p) { return spec(p).fitted_upper; }},
                                {{"mape_change_minus", "MAPE at -10 %", 2, Show::wide}, if_fitted(&Fitted::mape_change_minus)},
                                {{"mape_change_plus", "MAPE at +10 %", 2, Show::wide}, if_fitted(&Fitted::mape_change_plus)},
                                {{"plateau_lower", "plateau from", 3, Show::wide}, if_fitted(&Fitted::plateau_lower)},
                                {{"plateau_upper", "to", 3, Show::wide}, if_fitted(&Fitted::plateau_upper)},
                                {{"remark", "remark", Show::always}, [](const Fitted& p) { return text_cell(remark(p)); }}};
    return table_of("Parameters (MAPE at -10 %, +10 %: change of the stage's MAPE, in points, at a value 10 % smaller or larger)",
                    fit.details, fields);
}

Table interval_table(const Fit& fit) {
    using Interval = ResidualInterval;
    const Fields<Interval> fields{{{"op", "op", Show::always}, &Interval::op},
                                  {{"rows", "rows"}, &Interval::rows},
                                  {{"lower", "from", 3}, [](const Interval& i) { return std::exp(i.lower); }},
                                  {{"upper", "to", 3}, [](const Interval& i) { return std::exp(i.upper); }}};
    return table_of("80 % of the measurements that the fit did not see lie within these multiples of the prediction", fit.intervals,
                    fields);
}

/// Reasons without their figures, with counts and the first line.
Table dropped_table(const Fit& fit) {
    struct Count {
        std::int64_t rows = 0;
        std::string first;
    };
    std::map<std::array<std::string, 3>, Count> counts;
    for (const DroppedRow& row : fit.dropped) {
        const auto file = std::filesystem::path(row.file).filename().string();
        Count& c = counts[{file, row.op, row.reason.substr(0, row.reason.find(':'))}];
        if (c.rows++ == 0) c.first = fmt::format("line {}: {}", row.line, row.reason);
    }
    using Dropped = std::pair<const std::array<std::string, 3>, Count>;
    const Fields<Dropped> fields{{{"file", "file", Show::wide}, [](const Dropped& d) { return d.first[0]; }},
                                 {{"op", "op", Show::always}, [](const Dropped& d) { return d.first[1]; }},
                                 {{"reason", "reason", Show::always, true}, [](const Dropped& d) { return d.first[2]; }},
                                 {{"rows", "rows", Show::always}, [](const Dropped& d) { return d.second.rows; }},
                                 {{"first", "first row", Show::wide, true}, [](const Dropped& d) { return d.second.first; }}};
    return table_of("Rows set aside", counts, fields);
}

Json summary_json(const AccuracySummary& a) {
    return {{"rows", a.rows}, {"mape_percent", a.mape_percent}, {"median_ape_percent", a.median_ape_percent}};
}

Json factors_json(const Fit& fit) {
    Json list = Json::array();
    for (const FittedParameter& p : fit.details) {
        if (!p.fitted() || !parameter_specs()[p.spec].of_machine) continue;
        list.push_back({{"name", parameter_specs()[p.spec].name}, {"value", p.after}});
        if (p.interval_low) list.back()["interval_low"] = *p.interval_low;
        if (p.interval_high) list.back()["interval_high"] = *p.interval_high;
    }
    return list;
}

Json refinement_json(const Refinement& r) {
    Json json{{"refines", r.refines}, {"better", r.better()}, {"before", summary_json(r.before)}, {"after", summary_json(r.after)}};
    if (r.shipped_before) json["shipped_rows_before"] = summary_json(*r.shipped_before);
    if (r.shipped_after) json["shipped_rows_after"] = summary_json(*r.shipped_after);
    return json;
}

Json document(const NamedFit& named) {
    const Fit& fit = named.fit;
    const Fields<DroppedRow> dropped{{{"file", "file"}, &DroppedRow::file},
                                     {{"line", "line"}, &DroppedRow::line},
                                     {{"gpu", "GPU"}, &DroppedRow::gpu},
                                     {{"op", "op"}, &DroppedRow::op},
                                     {{"reason", "reason"}, &DroppedRow::reason}};
    Json json{{"title", named.title},
              {"file", named.file},
              {"written", named.written},
              {"gpus", fit.gpus},
              {"seed", fit.seed},
              {"folds", fit.folds},
              {"holdout", fit.holdout},
              {"host_bound_rows", fit.host_bound_rows},
              {"accuracy", as_json(accuracy_table(named))},
              {"stages", as_json(stage_table(fit))},
              {"parameters", as_json(parameter_table(fit))},
              {"intervals", as_json(interval_table(fit))},
              {"dropped", as_json(table_of({}, fit.dropped, dropped))}};
    if (fit.refinement) {
        json["comparison"] = refinement_json(*fit.refinement);
        json["time_factors"] = factors_json(fit);
    }
    json["warnings"] = fit.warnings;
    return json;
}

std::string closing_line(const NamedFit& named) {
    if (!named.written && named.fit.refinement && (!named.fit.refinement->better() || named.fit.stages.empty()))
        return fmt::format("{}: nothing to write: {}", named.title, why_not_written(named.fit));
    if (named.written) return fmt::format("{} written to {}", named.title, named.file);
    return fmt::format("{}: nothing written{}{}", named.title, named.how_to_write.empty() ? "" : "; ", named.how_to_write);
}

}  // namespace

Report calibration_report(const std::vector<NamedFit>& fits) {
    Report report;
    report.document["fits"] = Json::array();
    for (const NamedFit& named : fits) {
        report.document["fits"].push_back(document(named));
        report.tables.push_back(accuracy_table(named));
        append(report.csv, report.tables.back());
        report.tables.push_back(stage_table(named.fit));
        report.tables.push_back(parameter_table(named.fit));
        add_table(report.tables, interval_table(named.fit));
        add_table(report.tables, dropped_table(named.fit));
        for (const auto& host : named.fit.hosts)
            report.after.push_back(
                fmt::format("Launch overhead read from the rows: {} on {}, {}: at least {:.3g} us a call, {:.3g} us around a kernel",
                            host.source, host.gpu, host.op, host.floor.in(us), host.around.in(us)));
        if (named.fit.host_bound_rows > 0)
            report.after.push_back(fmt::format("{} rows are bound by launches on the CPU. They only bound the time of the GPU from above.",
                                               named.fit.host_bound_rows));
        add_lines(report.after, named.fit.warnings, "warning: ");
        add_lines(report.after, factor_lines(named.fit));
        if (named.fit.refinement) report.after.push_back(comparison_line(named.fit));
        report.after.push_back(closing_line(named));
    }
    return report;
}

Report left_out_report(const std::vector<LeftOutGpu>& left_out) {
    using Fit = FitAccuracy;
    using Summary = AccuracySummary;
    Table table{.title = "Accuracy on GPUs that the fit did not see", .columns = {}, .rows = {}};
    for (const LeftOutGpu& gpu : left_out) {
        const Fields<Fit> fields{{{"gpu", "GPU left out", Show::always}, [&gpu](const Fit&) { return gpu.gpu; }},
                                 {{"architecture", "architecture", Show::setting}, [&gpu](const Fit&) { return gpu.architecture; }},
                                 {{"op", "op", Show::always}, [](const Fit& a) { return a.op.empty() ? "all" : a.op; }},
                                 {{"precision", "precision", Show::always}, &Fit::precision},
                                 {{"rows", "rows"}, [](const Fit& a) { return a.held_out->rows; }},
                                 accuracy_field("unfitted_mape_percent", "unfitted MAPE %", &Fit::start, &Summary::mape_percent),
                                 accuracy_field("mape_percent", "MAPE %", &Fit::held_out, &Summary::mape_percent, Show::always),
                                 accuracy_field("median_ape_percent", "median %", &Fit::held_out, &Summary::median_ape_percent),
                                 accuracy_field("bias_percent", "bias %", &Fit::held_out, &Summary::bias_percent),
                                 {{"fitted_on", "fitted on", Show::wide, true},
                                  [&gpu](const Fit&) { return fmt::format("{}", fmt::join(gpu.fitted_on, " ")); }}};
        append(table, table_of({}, gpu.groups | std::views::filter([](const Fit& a) { return a.held_out.has_value(); }), fields));
    }
    return table_report("left_out", std::move(table));
}

}  // namespace roofcast
