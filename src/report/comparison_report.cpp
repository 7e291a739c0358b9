#include "report/comparison_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/comparison_rows.hpp"
#include "report/cost_figures.hpp"
#include "report/run_parts.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast {

namespace {

std::string headline(const NamedComparison& n) {
    const Run& run = n.request.run;
    std::string text = n.model_name;
    const auto& runs = (n.baseline ? n.baseline : n.optimized)->runs;
    const auto any = std::find_if(runs.begin(), runs.end(), [](const ContestantRun& r) { return r.prediction.has_value(); });
    if (any != runs.end()) text += tokens_text(*any->prediction);
    if (run.image_size > 0) text += fmt::format(", {} pixels", run.image_size);
    return text + parallel_text(run.parallel);
}

/// GPUs that the reference cannot be told from by `ratio_of`, speed-ups or items per dollar.
std::vector<std::string> undecided(const std::vector<ComparedRun>& rows, std::string_view what, const auto& ratio_of) {
    const Comparison& comparison = *rows.front().comparison;
    const std::string& policy = rows.front().policy;
    if (!comparison.reference) return {fmt::format("{}: No GPU runs it, so there is nothing to compare.", policy)};
    const ContestantRun& reference = comparison.runs[*comparison.reference];
    const std::string& first = reference.contestant.gpu->profile.id;
    std::vector<std::string> lines;
    if (*comparison.reference != 0) lines.push_back(fmt::format("{}: The reference is {}, the first GPU that runs it.", policy, first));
    for (const ComparedRun& row : rows) {
        const std::optional<SpeedUp> ratio = ratio_of(row);
        if (!ratio || row.run == &reference || ratio->decides()) continue;
        lines.push_back(fmt::format("{}: The {} of {} against {} is undecided: {}.", policy, what, row.run->contestant.gpu->profile.id,
                                    first, ratio->interval ? "its interval contains 1" : "the errors of one of them are unknown"));
    }
    return lines;
}

struct PolicyText {
    std::string name, why;
    std::vector<std::string> open;  ///< what it leaves undecided
};

/// The rows of a policy in JSON, CSV and lines.
void add_rows(Report& report, const PolicyText& policy, const std::vector<ComparedRun>& rows, const Fields<ComparedRun>& fields) {
    const Comparison& comparison = *rows.front().comparison;
    auto list = nlohmann::ordered_json::array();
    for (const ComparedRun& row : rows) {
        list.push_back(json_of(row, fields));
        list.back()["choices"] = row.run->choices;
    }
    const Cell reference = comparison.reference ? comparison.runs[*comparison.reference].contestant.gpu->profile.id : Cell();
    report.document["policies"].push_back(
        {{"policy", policy.name}, {"why", policy.why}, {"reference", as_json(reference)}, {"rows", list}, {"undecided", policy.open}});
    const Fields<ComparedRun> policy_field{{{"policy", "policy"}, [](const ComparedRun& row) { return row.policy; }}};
    Table csv = table_of({}, rows, policy_field + fields + compared_basis());
    // Rows of costs have other columns: they are CSV where nothing else is.
    if (report.csv.columns.empty()) {
        report.csv = std::move(csv);
    } else if (policy.name != "cost") {
        report.csv.rows.insert(report.csv.rows.end(), csv.rows.begin(), csv.rows.end());
    }
    add_lines(report.after, policy.open);
}

void add_policy(Report& report, const std::string& policy, const std::string& why, const Comparison& comparison, std::int64_t items) {
    const std::vector<ComparedRun> rows = compared_runs(policy, comparison);
    const Fields<ComparedRun> speeds = compared_settings(comparison) + compared_speeds(items);
    report.tables.push_back(table_of(fmt::format("{}: {}", policy, why), rows, speeds));
    std::vector<ComparedRun> running;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(running),
                 [](const ComparedRun& row) { return row.run->prediction.has_value(); });
    if (!running.empty())
        report.tables.push_back(
            table_of(policy + ": memory, utilization, energy and rent", running, picked(speeds, {"gpu"}) + compared_resources()));
    for (const ComparedRun& row : rows)
        add_lines(report.after, row.run->choices, fmt::format("{}, {}: ", policy, row.run->contestant.gpu->profile.id));
    add_rows(report, {policy, why, undecided(rows, "speed-up", [](const ComparedRun& row) { return row.run->speedup; })}, rows,
             speeds + compared_resources() + compared_details());
}

void add_cost(Report& report, const Comparison& comparison) {
    const std::string why = "items per dollar and joules per item of the optimized settings";
    const std::vector<ComparedRun> rows = compared_runs("cost", comparison);
    const Fields<ComparedRun> fields = compared_settings(comparison) + compared_costs();
    report.tables.push_back(table_of("cost: " + why, rows, fields));
    add_rows(report,
             {"cost", why, undecided(rows, "items/USD", [](const ComparedRun& row) { return dollar_ratio(*row.comparison, *row.run); })},
             rows, fields);
}

void add_prices(Report& report, const Comparison& comparison) {
    report.document["prices"] = nlohmann::ordered_json::object();
    report.document["assumed"] = nlohmann::ordered_json::object();
    for (const ContestantRun& run : comparison.runs) {
        const GpuProfile& gpu = run.contestant.gpu->profile;
        const auto& price = run.contestant.rental_price;
        report.document["prices"][gpu.id] = as_json(price);
        if (price) report.after.push_back(fmt::format("rent of {}: {}", gpu.id, described(*price)));
        add_assumed(report, gpu);
    }
}

std::vector<std::string> remarks_on(const NamedComparison& named) {
    std::vector<std::string> remarks{"A speed-up compares the time per item with that of the first GPU that runs.",
                                     "The bounds of a speed-up take the errors of the two GPUs as independent.",
                                     "Gains between settings of one GPU have no interval.",
                                     "Rent is that of GPUs that work in all paid hours."};
    add_lines(remarks, energy_remarks());
    const auto any_offloads = [](const std::optional<Comparison>& c) { return c && std::any_of(c->runs.begin(), c->runs.end(), offloads); };
    if (any_offloads(named.baseline) || any_offloads(named.optimized)) {
        remarks.emplace_back("Offloaded weights are copied from pinned host memory in each pass, over a PCIe link of each GPU.");
        remarks.emplace_back("The host memory is assumed to hold them and to keep up with all links.");
        remarks.emplace_back("No measured row has offloading: the intervals are those of runs without it.");
    }
    return remarks;
}

}  // namespace

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
    report.facts = {{"model", headline(named)}, {"prices", fmt::format("US dollars, as of {}", to_string(named.today))}};
    if (named.baseline)
        add_policy(report, "baseline",
                   fmt::format("equal settings ({}; batch {}, {})", named.baseline->why, request.run.batch, name(request.run.execution)),
                   *named.baseline, named.items);
    if (named.optimized && named.shows_optimized)
        add_policy(report, "optimized", fmt::format("each GPU at its best {}", name(request.objective)), *named.optimized, named.items);
    if (named.optimized && named.shows_cost) add_cost(report, *named.optimized);
    report.document["grid"] = nullptr;
    if (named.optimized) {
        const std::string grid = search_grid_text(request);
        report.document["grid"] = grid;
        report.after.push_back("The search covers " + grid + ".");
    }
    add_prices(report, named.baseline ? *named.baseline : *named.optimized);
    add_lines(report.after, named.notes, "note: ");
    report.document["notes"] = named.notes;
    const auto remarks = remarks_on(named);
    report.document["remarks"] = remarks;
    add_lines(report.after, remarks);
    return report;
}

}  // namespace roofcast
