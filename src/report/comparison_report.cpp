#include "report/comparison_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/charts/charts.hpp"
#include "report/comparison_rows.hpp"
#include "report/cost_figures.hpp"
#include "report/cost_report.hpp"
#include "report/prediction_report.hpp"

namespace roofcast {

namespace {

std::string headline(const NamedComparison& n) {
    const Run& run = n.request.run;
    std::string text = fmt::format("{}", n.model_name);
    const auto& runs = (n.baseline ? n.baseline : n.optimized)->runs;
    const auto any = std::find_if(runs.begin(), runs.end(), [](const ContestantRun& r) { return r.prediction.has_value(); });
    if (any != runs.end()) {
        const Run& taken = any->prediction->request;
        if (any->prediction->ttft) text += fmt::format(", {} prompt and {} output tokens", taken.prompt_tokens, taken.generate_tokens);
        if (!any->prediction->ttft && taken.prompt_tokens > 0) text += fmt::format(", {} tokens", taken.prompt_tokens);
    }
    if (run.image_size > 0) text += fmt::format(", {} pixels", run.image_size);
    const Parallelism& p = run.parallel;
    if (p.gpus() > 1) text += fmt::format(", {} GPUs of each (tp {}, pp {}, dp {})", p.gpus(), p.tensor, p.pipeline, p.data);
    return text + fmt::format("; prices in US dollars as of {}", to_string(n.today));
}

/// What the comparison leaves open: GPUs that the others cannot be told from by `ratio_of`, speed-ups or items per dollar.
std::vector<std::string> undecided(const std::string& policy, const Comparison& comparison, const auto& ratio_of) {
    std::vector<std::string> lines;
    if (!comparison.reference) return {fmt::format("{}: no GPU runs it, so there is nothing to compare", policy)};
    const std::string& reference = comparison.runs[*comparison.reference].contestant.gpu->profile.id;
    if (*comparison.reference != 0) lines.push_back(fmt::format("{}: against {}, the first that runs", policy, reference));
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
        const ContestantRun& run = comparison.runs[i];
        const std::optional<SpeedUp> ratio = ratio_of(run);
        if (!ratio || i == *comparison.reference || ratio->decides()) continue;
        const char* why = ratio->interval ? "the interval holds 1" : "nothing is known of the errors of one of them";
        lines.push_back(fmt::format("{}: between {} and {} this comparison decides nothing: {}", policy, run.contestant.gpu->profile.id,
                                    reference, why));
    }
    return lines;
}

std::vector<std::string> undecided_speeds(const std::string& policy, const Comparison& comparison) {
    return undecided(policy, comparison, [](const ContestantRun& run) { return run.speedup; });
}

std::vector<std::string> undecided_dollars(const Comparison& comparison) {
    return undecided("cost", comparison, [&comparison](const ContestantRun& run) {
        return comparison.reference ? per_dollar_ratio(comparison.runs[*comparison.reference], run) : std::nullopt;
    });
}

nlohmann::ordered_json document_of(const std::string& policy, const std::string& why, const Comparison& comparison, const Table& rows,
                                   const std::vector<std::string>& open) {
    auto list = as_json(rows);
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) list[i]["choices"] = comparison.runs[i].choices;
    const auto reference = comparison.reference ? nlohmann::ordered_json(comparison.runs[*comparison.reference].contestant.gpu->profile.id)
                                                : nlohmann::ordered_json();
    return {{"policy", policy}, {"why", why}, {"reference", reference}, {"rows", std::move(list)}, {"undecided", open}};
}

/// What rows of CSV end with: why these settings, what rent they count with, and what was assumed.
std::vector<Figure> csv_endings(const ContestantRun& run) {
    std::vector<Figure> endings;
    endings.push_back({Figure::Part::run, {"choices", ""}, fmt::format("{}", fmt::join(run.choices, "; "))});
    add_price_columns(endings, "rental_price", run.contestant.rental_price);
    endings.push_back({Figure::Part::run, {"assumed", ""}, assumed_keys(run.contestant.gpu->profile.assumed)});
    return endings;
}

/// Rows of one policy, which opens each.
void add_csv(Table& csv, const std::string& policy, const Comparison& comparison, const Table& rows) {
    if (csv.columns.empty()) {
        csv.columns.push_back({"policy", ""});
        csv.columns.insert(csv.columns.end(), rows.columns.begin(), rows.columns.end());
        for (const Figure& ending : csv_endings(comparison.runs.front())) csv.columns.push_back(ending.column);
    }
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        std::vector<Cell> row{policy};
        row.insert(row.end(), rows.rows[i].begin(), rows.rows[i].end());
        for (const Figure& ending : csv_endings(comparison.runs[i])) row.push_back(ending.cell);
        csv.rows.push_back(std::move(row));
    }
}

void add_policy(Report& report, const std::string& policy, const std::string& why, const Comparison& comparison,
                const NamedComparison& named) {
    const Table rows = full_rows(comparison, named);
    const auto open = undecided_speeds(policy, comparison);
    report.document["policies"].push_back(document_of(policy, why, comparison, rows, open));
    add_csv(report.csv, policy, comparison, rows);
    Table speeds = speed_table(comparison, named), resources = resource_table(comparison);
    speeds.title = fmt::format("{}: {}", policy, why);
    resources.title = fmt::format("{}: memory, utilization, energy and rent", policy);
    report.tables.push_back(std::move(speeds));
    if (!resources.rows.empty()) report.tables.push_back(std::move(resources));
    for (const ContestantRun& run : comparison.runs) {
        for (const auto& choice : run.choices)
            report.after.push_back(fmt::format("{}, {}: {}", policy, run.contestant.gpu->profile.id, choice));
    }
    report.after.insert(report.after.end(), open.begin(), open.end());
}

void add_cost(Report& report, const NamedComparison& named) {
    const Comparison& comparison = *named.optimized;
    const std::string why = "items per dollar and joules per item of the optimized settings";
    const Table rows = cost_table(comparison, false);
    const auto open = undecided_dollars(comparison);
    report.document["policies"].push_back(document_of("cost", why, comparison, rows, open));
    report.after.insert(report.after.end(), open.begin(), open.end());
    if (report.csv.columns.empty()) add_csv(report.csv, "cost", comparison, rows);
    Table text = cost_table(comparison, true);
    text.title = "cost: " + why;
    report.tables.push_back(std::move(text));
}

void add_prices(Report& report, const Comparison& comparison) {
    auto prices = nlohmann::ordered_json::object(), assumed = nlohmann::ordered_json::object();
    for (const ContestantRun& run : comparison.runs) {
        const GpuProfile& gpu = run.contestant.gpu->profile;
        const auto& price = run.contestant.rental_price;
        prices[gpu.id] = as_json(price);
        assumed[gpu.id] = as_json(gpu.assumed);
        if (price) report.after.push_back(fmt::format("rent of {}: {}", gpu.id, described(*price)));
        for (const Assumption& a : gpu.assumed) report.after.push_back(fmt::format("{}: {}", gpu.id, assumed_line(a)));
    }
    report.document["prices"] = std::move(prices);
    report.document["assumed"] = std::move(assumed);
}

std::vector<std::string> remarks_on(const NamedComparison& named) {
    std::vector<std::string> remarks{
        fmt::format(
            "Speed-ups compare times per item; in brackets their {} % interval, errors of two GPUs taken as independent. Gains between "
            "settings of one GPU have none.",
            interval_percent),
        "Rent at all hours at work.", energy_remark()};
    if ((named.baseline && any_offloads(*named.baseline)) || (named.optimized && any_offloads(*named.optimized)))
        remarks.emplace_back(
            "Offloaded weights are copied from pinned host memory in each pass; assumed: a PCIe link to each GPU, host memory that holds "
            "them and keeps up. No measured row has offloading: intervals are those of plain passes.");
    return remarks;
}

}  // namespace

std::string text_of(const SpeedUp& speedup) {
    constexpr int digits = 2;
    const auto short_text = [](double x) { return significant(x, x >= 10 ? digits + 1 : digits); };
    if (!speedup.interval) return short_text(speedup.ratio) + "×";
    return fmt::format("{}× ({} to {})", short_text(speedup.ratio), short_text(speedup.interval->low), short_text(speedup.interval->high));
}

Report comparison_report(const NamedComparison& named) {
    const ComparisonRequest& request = named.request;
    Report report;
    report.document = {{"model", named.model_id},
                       {"currency", "USD"},
                       {"date", to_string(named.today)},
                       {"objective", std::string(name(request.objective))},
                       {"allow_quantization", request.allow_quantization},
                       {"items", named.items},
                       {"policies", nlohmann::ordered_json::array()}};
    report.before.push_back(headline(named));
    report.charts = comparison_charts(named);
    if (named.baseline)
        add_policy(report, "baseline",
                   fmt::format("the same on all: {}; batch {}, {}", named.baseline->why, request.run.batch, name(request.run.execution)),
                   *named.baseline, named);
    const std::string grid = search_grid_text(request);
    if (named.optimized && named.shows_optimized)
        add_policy(report, "optimized", fmt::format("each GPU at its best {}", name(request.objective)), *named.optimized, named);
    if (named.optimized && named.shows_cost) add_cost(report, named);
    if (named.optimized) report.after.push_back("searched: " + grid);
    report.document["grid"] = named.optimized ? nlohmann::ordered_json(grid) : nlohmann::ordered_json();
    add_prices(report, named.baseline ? *named.baseline : *named.optimized);
    for (const auto& text : named.notes) report.after.push_back("note: " + text);
    report.document["notes"] = named.notes;
    const auto remarks = remarks_on(named);
    report.document["remarks"] = remarks;
    report.after.insert(report.after.end(), remarks.begin(), remarks.end());
    return report;
}

}  // namespace roofcast
