#include "report/comparison_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/cost_figures.hpp"
#include "report/run_parts.hpp"

namespace roofcast {

namespace {

using Compared = ComparedRun;
using Keys = std::initializer_list<std::string_view>;

/// `fields` of the prediction, of its run, or of another part of the contestant; empty where there is none.
Fields<Compared> of_prediction(const Fields<Prediction>& fields) {
    return part_fields<Compared>(
        "", [](const Compared& row) -> const auto& { return row.run->prediction; }, fields);
}
Fields<Compared> of_request(Keys keys) {
    return of_prediction(part_fields<Prediction>(
        "", [](const Prediction& p) { return &p.request; }, picked(run_fields(), keys)));
}
template <class Part>
Fields<Compared> of_run(auto part, const Fields<Part>& fields, Keys keys) {
    return part_fields<Compared>(
        "", [part](const Compared& row) -> const auto& { return row.run->*part; }, picked(fields, keys));
}

Tone tone_of_decision(const Cell& cell) {
    return cell == Cell(false) ? Tone::warning : Tone::plain;
}
Tone tone_of_reason(const Cell& cell) {
    return cell == Cell() ? Tone::plain : Tone::bad;
}

/// `key`, its bounds, and whether they leave 1 to one side.
Fields<Compared> ratio_fields(const std::string& key, const std::string& title, auto ratio) {
    const Fields<SpeedUp> fields =
        Fields<SpeedUp>{{{key, title, 3, Show::always}, &SpeedUp::ratio}} +
        bound_fields<SpeedUp>(
            key, 2, Show::always, [](const SpeedUp&) { return 1.0; }, [](const SpeedUp& r) { return r.interval; }) +
        Fields<SpeedUp>{{{key + "_decides", "decided", 4, Show::usual, false, tone_of_decision},
                         [](const SpeedUp& r) { return r.interval ? Cell(r.decides()) : Cell(); }}};
    return part_fields<Compared>("", ratio, fields);
}

}  // namespace

std::vector<ComparedRun> compared_runs(const std::string& policy, const Comparison& comparison) {
    std::vector<ComparedRun> rows;
    for (const ContestantRun& run : comparison.runs) rows.push_back({&run, &comparison, policy});
    return rows;
}

std::optional<SpeedUp> dollar_ratio(const Comparison& comparison, const ContestantRun& run) {
    return comparison.reference ? per_dollar_ratio(comparison.runs[*comparison.reference], run) : std::nullopt;
}

bool offloads(const ContestantRun& run) {
    return run.prediction && run.prediction->request.techniques.offload > 0;
}

Fields<ComparedRun> compared_settings(const Comparison& comparison) {
    const Show execution = comparison.why.empty() ? Show::usual : Show::setting;
    const Show offload = std::any_of(comparison.runs.begin(), comparison.runs.end(), offloads) ? Show::always : Show::data;
    return Fields<Compared>{{{"gpu", "GPU", 4, Show::always}, [](const Compared& row) { return row.run->contestant.gpu->profile.id; }}} +
           of_request({"precision", "weights", "batch"}) + shown(of_request({"execution"}), execution) +
           of_prediction(
               {{{"offload_percent", "offload %", 3, offload}, [](const Prediction& p) { return 100 * p.request.techniques.offload; }}});
}

Fields<ComparedRun> compared_speeds(std::int64_t items) {
    const Fields<Prediction> times = time_fields<Prediction>(Show::wide);
    return of_prediction(shown(picked(times, {"latency_ms"}), Show::usual) + picked(times, {"latency_ms_low", "latency_ms_high"}) +
                         Fields<Prediction>{{{"time_per_item_ms", "ms/item", 4, Show::wide}, time_per_item, ms},
                                            {{"items_per_minute", "items/min", 4, Show::always},
                                             [](const Prediction& p) { return 60 * p.items_per_second; }}} +
                         picked(times, {"tokens_per_s"}) +
                         Fields<Prediction>{{{"job_s", fmt::format("s for {} items", items), 4, Show::wide},
                                             [items](const Prediction& p) { return job_time(p, items); },
                                             s}}) +
           ratio_fields("speedup", "speed-up", [](const Compared& row) { return row.run->speedup; }) +
           Fields<Compared>{{{"reason", "why not", 4, Show::always, true, tone_of_reason},
                             [](const Compared& row) { return text_cell(row.run->reason); }}};
}

Fields<ComparedRun> compared_resources() {
    const auto utilization = [](const Compared& row) { return row.run->prediction ? &row.run->utilization : nullptr; };
    return of_prediction(
               {{{"memory_gb", "memory GB", 3}, [](const Prediction& p) { return p.memory.total(); }, gb},
                {{"memory_percent", "% of memory", 3},
                 [](const Prediction& p) { return p.memory.usable ? Cell(100 * p.memory.total().in(*p.memory.usable)) : Cell(); }}}) +
           part_fields<Compared>("", utilization, picked(utilization_fields(), {"compute_percent", "bandwidth_percent"})) +
           of_run(&ContestantRun::energy, energy_fields(), {"watts_per_gpu", "joules_per_item"}) +
           of_run(&ContestantRun::rental, rental_fields(), {"usd_per_hour", "usd_per_1000_items"});
}

Fields<ComparedRun> compared_details() {
    return shown(of_request({"gpus"}), Show::usual) + of_prediction(picked(time_fields<Prediction>(), {"ttft_ms", "tpot_ms"})) +
           of_run(&ContestantRun::energy, energy_fields(), {"joules_per_output_token"}) +
           of_run(&ContestantRun::rental, rental_fields(), {"usd_per_item", "usd_per_million_output_tokens"});
}

Fields<ComparedRun> compared_costs() {
    const Fields<RentalCost> rent = rental_fields() + Fields<RentalCost>{{{"items_per_usd", "items/USD", 4, Show::always},
                                                                          [](const RentalCost& r) { return 1 / r.per_item.in(usd); }}};
    return of_run(&ContestantRun::rental, rent, {"usd_per_hour", "usd_per_item", "items_per_usd"}) +
           ratio_fields("items_per_usd_ratio", "vs first", [](const Compared& row) { return dollar_ratio(*row.comparison, *row.run); }) +
           of_run(&ContestantRun::energy, energy_fields(), {"joules_per_item"});
}

Fields<ComparedRun> compared_basis() {
    return Fields<Compared>{
               {{"choices", "choices"}, [](const Compared& row) { return fmt::format("{}", fmt::join(row.run->choices, "; ")); }}} +
           part_fields<Compared>(
               "rental_price_", [](const Compared& row) -> const auto& { return row.run->contestant.rental_price; }, price_fields()) +
           Fields<Compared>{
               {{"assumed", "assumed"}, [](const Compared& row) { return assumed_keys(row.run->contestant.gpu->profile.assumed); }}};
}

}  // namespace roofcast
