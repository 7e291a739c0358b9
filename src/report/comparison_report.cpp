#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "report/run_parts.hpp"
#include "report/run_reports.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast {

namespace {

using Keys = std::initializer_list<std::string_view>;
using Contestants = Fields<ContestantRun>;

/// Fields of the run that was predicted; empty where there is none.
Contestants of_request(Keys keys) {
    return part_fields(&ContestantRun::prediction, part_fields(&Prediction::request, picked(run_fields(), keys)));
}
Contestants of_energy(Keys keys) {
    return part_fields(&ContestantRun::energy, picked(energy_fields(), keys));
}
Contestants of_rental(Keys keys) {
    return part_fields(&ContestantRun::rental, picked(rental_fields(), keys));
}

/// `key`, its bounds, and whether they leave 1 to one side.
Contestants ratio_fields(const std::string& key, const std::string& title, auto ratio) {
    return part_fields<ContestantRun>(ratio,
                                      Fields<SpeedUp>{{{key, title, 3, Show::always}, &SpeedUp::ratio}} +
                                          bound_fields<SpeedUp>(
                                              key, 2, Show::always, [](const SpeedUp&) { return 1.0; }, &SpeedUp::interval) +
                                          Fields<SpeedUp>{{{key + "_decides", "decided", Show::usual, false, tone_of(false, Tone::warning)},
                                                           [](const SpeedUp& r) { return r.interval ? Cell(r.decides()) : Cell(); }}});
}

/// Whether the run keeps weights in host memory.
bool offloads(const ContestantRun& run) {
    return run.prediction && run.prediction->request.techniques.offload > 0;
}

const std::string& gpu_of(const ContestantRun& run) {
    return run.contestant.gpu->profile.id;
}

/// GPU and settings; those that all GPUs of `comparison` share by intent are said once.
Contestants compared_settings(const Comparison& comparison) {
    const Show execution = comparison.why.empty() ? Show::usual : Show::setting;
    const Show offload = std::any_of(comparison.runs.begin(), comparison.runs.end(), offloads) ? Show::always : Show::data;
    return Contestants{{{"gpu", "GPU", Show::always}, gpu_of}} + of_request({"precision", "weights", "batch"}) +
           shown(of_request({"execution"}), execution) +
           part_fields(&ContestantRun::prediction, {{{"offload_percent", "offload %", 3, offload},
                                                     [](const Prediction& p) { return 100 * p.request.techniques.offload; }}});
}

/// Times, the speed-up, and why there are none; `items` is the batch job.
Contestants compared_speeds(std::int64_t items) {
    const Fields<Prediction> known = time_fields<Prediction>(Show::wide);
    const Fields<Prediction> times =
        shown(picked(known, {"latency_ms"}), Show::usual) + picked(known, {"latency_ms_low", "latency_ms_high"}) +
        Fields<Prediction>{{{"time_per_item_ms", "ms/item", Show::wide}, time_per_item, ms},
                           {{"items_per_minute", "items/min", Show::always}, [](const Prediction& p) { return 60 * p.items_per_second; }}} +
        picked(known, {"tokens_per_s"}) +
        Fields<Prediction>{
            {{"job_s", fmt::format("s for {} items", items), Show::wide}, [items](const Prediction& p) { return job_time(p, items); }, s}};
    const auto tone_of_reason = [](const Cell& cell) { return cell == Cell() ? Tone::plain : Tone::bad; };
    return part_fields(&ContestantRun::prediction, times) + ratio_fields("speedup", "speed-up", &ContestantRun::speedup) +
           Contestants{{{"reason", "why not", Show::always, true, tone_of_reason}, &ContestantRun::reason, text_cell}};
}

/// Memory, utilization, energy and rent.
Contestants compared_resources() {
    const auto utilization = [](const ContestantRun& run) { return run.prediction ? &run.utilization : nullptr; };
    const Fields<MemoryEstimate> memory{{{"memory_gb", "memory GB", 3}, &MemoryEstimate::total, gb},
                                        {{"memory_percent", "% of memory", 3},
                                         [](const MemoryEstimate& m) { return m.usable ? Cell(100 * m.total().in(*m.usable)) : Cell(); }}};
    return part_fields(&ContestantRun::prediction, part_fields(&Prediction::memory, memory)) +
           part_fields<ContestantRun>(utilization, picked(utilization_fields(), {"compute_percent", "bandwidth_percent"})) +
           of_energy({"watts_per_gpu", "joules_per_item"}) + of_rental({"usd_per_hour", "usd_per_1000_items"});
}

/// Figures for JSON and CSV alone.
Contestants compared_details() {
    return shown(of_request({"gpus"}), Show::usual) +
           part_fields(&ContestantRun::prediction, picked(time_fields<Prediction>(), {"ttft_ms", "tpot_ms"})) +
           of_energy({"joules_per_output_token"}) + of_rental({"usd_per_item", "usd_per_million_output_tokens"});
}

/// Items per dollar and joules per item; `ratio` compares dollars.
Contestants compared_costs(auto ratio) {
    return of_rental({"usd_per_hour", "usd_per_item"}) +
           part_fields(&ContestantRun::rental,
                       {{{"items_per_usd", "items/USD", Show::always}, [](const RentalCost& r) { return 1 / r.per_item.in(usd); }}}) +
           ratio_fields("items_per_usd_ratio", "vs first", ratio) + of_energy({"joules_per_item"});
}

/// What rows of CSV end with: choices, the price they count with, assumptions.
Contestants compared_basis() {
    const auto price = [](const ContestantRun& run) -> const auto& {
        return run.contestant.rental_price;
    };
    return Contestants{{{"choices", "choices"}, [](const ContestantRun& run) { return fmt::format("{}", fmt::join(run.choices, "; ")); }}} +
           prefixed("rental_price_", part_fields<ContestantRun>(price, price_fields())) +
           Contestants{
               {{"assumed", "assumed"}, [](const ContestantRun& run) { return assumed_keys(run.contestant.gpu->profile.assumed); }}};
}

std::string headline(const NamedComparison& n) {
    const Run& run = n.request.run;
    std::string text = n.model_name;
    const auto& runs = (n.baseline ? n.baseline : n.optimized)->runs;
    const auto any = std::find_if(runs.begin(), runs.end(), [](const ContestantRun& r) { return r.prediction.has_value(); });
    if (any != runs.end()) text += tokens_text(*any->prediction);
    if (run.image_size > 0) text += fmt::format(", {} pixels", run.image_size);
    return text + parallel_text(run.parallel);
}

/// A policy with what it says: `ratio` is speed-ups, or items per dollar.
struct Policy {
    std::string name, why, what;
    const Comparison& comparison;
    std::function<std::optional<SpeedUp>(const ContestantRun&)> ratio;
};

/// GPUs that the reference cannot be told from.
std::vector<std::string> undecided(const Policy& policy) {
    const Comparison& comparison = policy.comparison;
    if (!comparison.reference) return {fmt::format("{}: No GPU runs it, so there is nothing to compare.", policy.name)};
    const std::string& first = gpu_of(comparison.runs[*comparison.reference]);
    std::vector<std::string> lines;
    if (*comparison.reference != 0)
        lines.push_back(fmt::format("{}: The reference is {}, the first GPU that runs it.", policy.name, first));
    for (const ContestantRun& run : comparison.runs) {
        const std::optional<SpeedUp> ratio = policy.ratio(run);
        if (!ratio || &run == &comparison.runs[*comparison.reference] || ratio->decides()) continue;
        lines.push_back(fmt::format("{}: The {} of {} against {} is undecided: {}.", policy.name, policy.what, gpu_of(run), first,
                                    ratio->interval ? "its interval contains 1" : "the errors of one of them are unknown"));
    }
    return lines;
}

/// The table of a policy, and its rows in JSON and CSV with `more` fields.
void add_policy(Report& report, const Policy& policy, const Contestants& fields, const Contestants& more = {}) {
    const Comparison& comparison = policy.comparison;
    const Contestants all = fields + more;
    report.tables.push_back(table_of(fmt::format("{}: {}", policy.name, policy.why), comparison.runs, fields));
    auto list = Json::array();
    for (const ContestantRun& run : comparison.runs) {
        list.push_back(json_of(run, all));
        list.back()["choices"] = run.choices;
    }
    const Cell reference = comparison.reference ? gpu_of(comparison.runs[*comparison.reference]) : Cell();
    const std::vector<std::string> open = undecided(policy);
    report.document["policies"].push_back(
        {{"policy", policy.name}, {"why", policy.why}, {"reference", as_json(reference)}, {"rows", list}, {"undecided", open}});
    const Contestants name{{{"policy", "policy"}, [&policy](const ContestantRun&) { return policy.name; }}};
    // Rows of costs have other columns: they are CSV where nothing else is.
    if (report.csv.columns.empty() || policy.name != "cost")
        append(report.csv, table_of({}, comparison.runs, name + all + compared_basis()));
    add_lines(report.after, open);
}

/// Speeds, and the resources of those that run.
void add_speeds(Report& report, const std::string& policy, const std::string& why, const Comparison& comparison, std::int64_t items) {
    for (const ContestantRun& run : comparison.runs) add_lines(report.after, run.choices, fmt::format("{}, {}: ", policy, gpu_of(run)));
    const Contestants speeds = compared_settings(comparison) + compared_speeds(items), resources = compared_resources();
    add_policy(report, {policy, why, "speed-up", comparison, &ContestantRun::speedup}, speeds, resources + compared_details());
    const auto runs = [](const ContestantRun& run) { return run.prediction.has_value(); };
    add_table(report.tables, table_of(policy + ": memory, utilization, energy and rent", comparison.runs | std::views::filter(runs),
                                      picked(speeds, {"gpu"}) + resources));
}

void add_cost(Report& report, const Comparison& comparison) {
    const auto ratio = [&comparison](const ContestantRun& run) { return dollar_ratio(comparison, run); };
    add_policy(report, {"cost", "items per dollar and joules per item of the optimized settings", "items/USD", comparison, ratio},
               compared_settings(comparison) + compared_costs(ratio));
}

void add_prices(Report& report, const Comparison& comparison) {
    report.document["prices"] = Json::object();
    report.document["assumed"] = Json::object();
    for (const ContestantRun& run : comparison.runs) {
        const GpuProfile& gpu = run.contestant.gpu->profile;
        const auto& price = run.contestant.rental_price;
        report.document["prices"][gpu.id] = json_of(price, price_fields());
        if (price) report.after.push_back(fmt::format("rent of {}: {}", gpu.id, described(*price)));
        add_assumed(report, gpu);
    }
}

std::vector<std::string> remarks_on(const NamedComparison& named) {
    const auto& runs = (named.baseline ? named.baseline : named.optimized)->runs;
    const bool changed =
        std::any_of(runs.begin(), runs.end(), [](const ContestantRun& run) { return !run.contestant.gpu->profile.changed_from.empty(); });
    std::vector<std::string> remarks{"A speed-up compares the time per item with that of the first GPU that runs.",
                                     fmt::format("The bounds of a speed-up take the errors of two GPUs as independent{}.",
                                                 changed ? ", and those of a changed GPU and its origin as one" : ""),
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

std::optional<SpeedUp> dollar_ratio(const Comparison& comparison, const ContestantRun& run) {
    return comparison.reference ? per_dollar_ratio(comparison.runs[*comparison.reference], run) : std::nullopt;
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
                       {"policies", Json::array()}};
    report.facts = {{"model", headline(named)}, {"prices", fmt::format("US dollars, as of {}", to_string(named.today))}};
    if (named.baseline)
        add_speeds(report, "baseline",
                   fmt::format("equal settings ({}; batch {}, {})", named.baseline->why, request.run.batch, name(request.run.execution)),
                   *named.baseline, named.items);
    if (named.optimized && named.shows_optimized)
        add_speeds(report, "optimized", fmt::format("each GPU at its best {}", name(request.objective)), *named.optimized, named.items);
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
