#include "report/calibration_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "report/charts/charts.hpp"
#include "report/refinement_lines.hpp"

namespace roofcast {

namespace {

using Json = nlohmann::ordered_json;

Cell figure(const std::optional<AccuracySummary>& summary, double AccuracySummary::*member) {
    if (!summary || summary->rows == 0) return {};
    return (*summary).*member;
}

const std::vector<Column> accuracy_columns{{"gpu", "gpu"},
                                           {"op", "op"},
                                           {"precision", "precision"},
                                           {"rows", "rows"},
                                           {"start_mape_percent", "unfitted MAPE %", 3},
                                           {"fit_mape_percent", "in fit MAPE %", 3},
                                           {"fit_median_ape_percent", "median %", 3},
                                           {"fit_bias_percent", "bias %", 3},
                                           {"cross_validated_mape_percent", "cross-validated MAPE %", 3},
                                           {"cross_validated_p90_ape_percent", "P90 %", 3},
                                           {"held_out_rows", "held-out rows"},
                                           {"held_out_mape_percent", "held-out MAPE %", 3},
                                           {"gpu_left_out_mape_percent", "GPU left out MAPE %", 3}};

std::vector<Cell> accuracy_row(const FitAccuracy& a) {
    return {a.gpu.empty() ? "all" : a.gpu,
            a.op,
            a.precision,
            a.start.rows,
            figure(a.start, &AccuracySummary::mape_percent),
            figure(a.fit, &AccuracySummary::mape_percent),
            figure(a.fit, &AccuracySummary::median_ape_percent),
            figure(a.fit, &AccuracySummary::bias_percent),
            figure(a.cross_validated, &AccuracySummary::mape_percent),
            figure(a.cross_validated, &AccuracySummary::p90_ape_percent),
            a.held_out ? a.held_out->rows : std::int64_t{0},
            figure(a.held_out, &AccuracySummary::mape_percent),
            figure(a.gpu_left_out, &AccuracySummary::mape_percent)};
}

Table accuracy_table(const NamedFit& named) {
    Table table{fmt::format("Accuracy of the fit of {}", named.title), accuracy_columns, {}};
    for (const FitAccuracy& group : named.fit.groups) table.rows.push_back(accuracy_row(group));
    table.rows.push_back(accuracy_row(named.fit.overall));
    return table;
}

Table stage_table(const Fit& fit) {
    Table table{"Stages",
                {{"name", "stage"},
                 {"rows", "rows"},
                 {"parameters", "parameters"},
                 {"evaluations", "evaluations"},
                 {"mape_before_percent", "MAPE % before", 3},
                 {"mape_after_percent", "after", 3},
                 {"loss_before", "loss before", 3},
                 {"loss_after", "after", 3},
                 {"condition", "condition", 3},
                 {"stop", "stopped by"}},
                {}};
    for (const StageFit& s : fit.stages) {
        Cell condition;
        if (!s.singular_values.empty() && s.singular_values.back() > 0) condition = s.singular_values.front() / s.singular_values.back();
        table.rows.push_back({s.name, s.rows, s.parameters, s.evaluations, s.mape_before_percent, s.mape_after_percent, s.loss_before,
                              s.loss_after, condition, std::string(name(s.stop))});
    }
    return table;
}

std::string remark(const FittedParameter& p) {
    if (!p.fitted()) return p.unchanged ? "as shipped" : "kept";
    std::string text = p.hit == BoundHit::lower ? "at lower bound" : p.hit == BoundHit::upper ? "at upper bound" : "";
    if (!p.identifiable) text += text.empty() ? "not identified" : ", not identified";
    return text;
}

Table parameter_table(const Fit& fit) {
    Table table{"Parameters: sensitivity is the change of the stage's MAPE, in points, when the value is 10 % smaller or larger",
                {{"name", "parameter"},
                 {"unit", "unit"},
                 {"before", "before"},
                 {"after", "after"},
                 {"standard_error", "± std. error", 2},
                 {"lower", "lower", 3},
                 {"upper", "upper", 3},
                 {"mape_change_minus", "MAPE at -10 %", 2},
                 {"mape_change_plus", "at +10 %", 2},
                 {"plateau_lower", "plateau from", 3},
                 {"plateau_upper", "to", 3},
                 {"remark", "remark"}},
                {}};
    for (const FittedParameter& p : fit.details) {
        const ParameterSpec& spec = parameter_specs()[p.spec];
        const auto of_fitted = [&](double value) { return p.fitted() ? Cell(value) : Cell(); };
        table.rows.push_back({spec.name, spec.unit, p.before, p.after, p.standard_error ? Cell(*p.standard_error) : Cell(),
                              spec.fitted_lower, spec.fitted_upper, of_fitted(p.mape_change_minus), of_fitted(p.mape_change_plus),
                              of_fitted(p.plateau_lower), of_fitted(p.plateau_upper), remark(p)});
    }
    return table;
}

Table interval_table(const Fit& fit) {
    Table table{"80 % of measurements that the fit did not see lie within, relative to the prediction",
                {{"op", "op"}, {"rows", "rows"}, {"lower", "from", 3}, {"upper", "to", 3}},
                {}};
    for (const ResidualInterval& i : fit.intervals) table.rows.push_back({i.op, i.rows, std::exp(i.lower), std::exp(i.upper)});
    return table;
}

/// Reasons without their figures, with counts and the first line.
Table dropped_table(const Fit& fit) {
    Table table{"Rows set aside", {{"file", "file"}, {"op", "op"}, {"reason", "reason"}, {"rows", "rows"}, {"first", "first row"}}, {}};
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
    for (const auto& [key, count] : counts) table.rows.push_back({key[0], key[1], key[2], count.rows, count.first});
    return table;
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
    Json json{{"title", named.title}, {"file", named.file}, {"written", named.written}, {"gpus", fit.gpus}, {"seed", fit.seed}};
    json["folds"] = fit.folds;
    json["holdout"] = fit.holdout;
    json["host_bound_rows"] = fit.host_bound_rows;
    json["accuracy"] = as_json(accuracy_table(named));
    json["stages"] = as_json(stage_table(fit));
    json["parameters"] = as_json(parameter_table(fit));
    json["intervals"] = as_json(interval_table(fit));
    json["dropped"] = Json::array();
    for (const DroppedRow& row : fit.dropped)
        json["dropped"].push_back({{"file", row.file}, {"line", row.line}, {"gpu", row.gpu}, {"op", row.op}, {"reason", row.reason}});
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
    report.charts = calibration_charts(fits);
    for (const NamedFit& named : fits) {
        report.document["fits"].push_back(document(named));
        report.tables.push_back(accuracy_table(named));
        if (report.csv.columns.empty()) report.csv.columns = accuracy_columns;
        for (const auto& row : report.tables.back().rows) report.csv.rows.push_back(row);
        report.tables.push_back(stage_table(named.fit));
        report.tables.push_back(parameter_table(named.fit));
        if (!named.fit.intervals.empty()) report.tables.push_back(interval_table(named.fit));
        if (!named.fit.dropped.empty()) report.tables.push_back(dropped_table(named.fit));
        for (const auto& host : named.fit.hosts)
            report.after.push_back(
                fmt::format("launch cost read off the rows: {} on {}, {}: at least {:.3g} us a call, {:.3g} us around a kernel",
                            host.source, host.gpu, host.op, host.floor.in(us), host.around.in(us)));
        if (named.fit.host_bound_rows > 0)
            report.after.push_back(
                fmt::format("{} rows ran at the pace of the host: they only bound the GPU's time from above", named.fit.host_bound_rows));
        for (const auto& warning : named.fit.warnings) report.after.push_back("warning: " + warning);
        for (std::string& line : factor_lines(named.fit)) report.after.push_back(std::move(line));
        if (named.fit.refinement) report.after.push_back(comparison_line(named.fit));
        report.after.push_back(closing_line(named));
    }
    return report;
}

Report left_out_report(const std::vector<LeftOutGpu>& left_out) {
    Table table{"Accuracy on GPUs that the fit did not see",
                {{"gpu", "gpu left out"},
                 {"architecture", "architecture"},
                 {"op", "op"},
                 {"precision", "precision"},
                 {"rows", "rows"},
                 {"unfitted_mape_percent", "unfitted MAPE %", 3},
                 {"mape_percent", "MAPE %", 3},
                 {"median_ape_percent", "median %", 3},
                 {"bias_percent", "bias %", 3},
                 {"fitted_on", "fitted on"}},
                {}};
    for (const LeftOutGpu& gpu : left_out) {
        for (const FitAccuracy& group : gpu.groups) {
            if (!group.held_out) continue;
            table.rows.push_back({gpu.gpu, gpu.architecture, group.op.empty() ? "all" : group.op, group.precision, group.held_out->rows,
                                  figure(group.start, &AccuracySummary::mape_percent), group.held_out->mape_percent,
                                  group.held_out->median_ape_percent, group.held_out->bias_percent,
                                  fmt::format("{}", fmt::join(gpu.fitted_on, " "))});
        }
    }
    Report report;
    report.document["left_out"] = as_json(table);
    report.tables.push_back(std::move(table));
    return report;
}

}  // namespace roofcast
