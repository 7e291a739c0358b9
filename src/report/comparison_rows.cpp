#include "report/comparison_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/cost_figures.hpp"
#include "report/describe.hpp"
#include "report/field_parts.hpp"
#include "report/prediction_report.hpp"

namespace roofcast {

namespace {

using Compared = ComparedRun;

auto of_contestant(auto part) {
    return [part](const Compared& row) -> const auto& {
        return row.run->*part;
    };
}

/// What `value` makes of the prediction; empty where there is none.
auto if_predicted(auto value) {
    return [value](const Compared& row) { return row.run->prediction ? Cell(value(*row.run->prediction)) : Cell(); };
}
auto percent_of(double Utilization::*rate) {
    return [rate](const Compared& row) { return row.run->prediction ? Cell(100 * row.run->utilization.*rate) : Cell(); };
}

Tone tone_of_decision(const Cell& cell) {
    const auto* decides = std::get_if<bool>(&cell);
    return decides != nullptr && !*decides ? Tone::warning : Tone::plain;
}
Tone tone_of_reason(const Cell& cell) {
    return std::holds_alternative<std::monostate>(cell) ? Tone::plain : Tone::bad;
}

/// `key`, its bounds, and whether they leave 1 to one side.
Fields<Compared> ratio_fields(const std::string& key, const std::string& title, auto ratio) {
    const auto interval = [ratio](const Compared& row) {
        const std::optional<SpeedUp> r = ratio(row);
        return r ? r->interval : std::nullopt;
    };
    return Fields<Compared>{{{key, title, 3, Show::always},
                             [ratio](const Compared& row) {
                                 return cell_if(std::optional<SpeedUp>(ratio(row)), [](const SpeedUp& r) { return r.ratio; });
                             }}} +
           bound_fields<Compared>(
               key, 2, Show::always, [](const Compared&) { return 1.0; }, interval) +
           Fields<Compared>{{{key + "_decides", "decided", 4, Show::usual, false, tone_of_decision}, [ratio](const Compared& row) {
                                 const std::optional<SpeedUp> r = ratio(row);
                                 return r && r->interval ? Cell(r->decides()) : Cell();
                             }}};
}

std::optional<SpeedUp> dollar_ratio_of(const Compared& row) {
    return dollar_ratio(*row.comparison, *row.run);
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
    return {{{"gpu", "GPU", 4, Show::always}, [](const Compared& row) { return row.run->contestant.gpu->profile.id; }},
            {{"precision", "precision", 4, Show::setting},
             if_predicted([](const Prediction& p) { return std::string(name(p.request.precision)); })},
            {{"weights", "weights", 4, Show::setting}, if_predicted([](const Prediction& p) { return weights_text(p.request); })},
            {{"batch", "batch", 4, Show::setting}, if_predicted([](const Prediction& p) { return p.request.batch; })},
            {{"execution", "execution", 4, execution},
             if_predicted([](const Prediction& p) { return std::string(name(p.request.execution)); })},
            {{"offload_percent", "offload %", 3, offload},
             if_predicted([](const Prediction& p) { return 100 * p.request.techniques.offload; })}};
}

Fields<ComparedRun> compared_speeds(std::int64_t items) {
    const auto latency = if_predicted([](const Prediction& p) { return p.latency.in(ms); });
    const auto interval = [](const Compared& row) {
        const auto& p = row.run->prediction;
        return p && p->intervals ? std::optional(p->intervals->latency) : std::nullopt;
    };
    return Fields<Compared>{{{"latency_ms", "latency ms"}, latency}} +
           bound_fields<Compared>("latency_ms", 4, Show::wide, latency, interval) +
           Fields<Compared>{
               {{"time_per_item_ms", "ms/item", 4, Show::wide}, if_predicted([](const Prediction& p) { return time_per_item(p).in(ms); })},
               {{"items_per_minute", "items/min", 4, Show::always},
                if_predicted([](const Prediction& p) { return 60 * p.items_per_second; })},
               {{"tokens_per_s", "tokens/s"},
                if_predicted([](const Prediction& p) { return cell_if(p.tokens_per_second, std::identity{}); })},
               {{"job_s", fmt::format("s for {} items", items), 4, Show::wide},
                if_predicted([items](const Prediction& p) { return job_time(p, items).in(s); })}} +
           ratio_fields("speedup", "speed-up", [](const Compared& row) { return row.run->speedup; }) +
           Fields<Compared>{{{"reason", "why not", 4, Show::always, true, tone_of_reason},
                             [](const Compared& row) { return text_cell(row.run->reason); }}};
}

Fields<ComparedRun> compared_resources() {
    return Fields<Compared>{{{"memory_gb", "memory GB", 3}, if_predicted([](const Prediction& p) { return p.memory.total().in(gb); })},
                            {{"memory_percent", "% of memory", 3}, if_predicted([](const Prediction& p) {
                                 return cell_if(p.memory.usable, [&p](Bytes usable) { return 100 * p.memory.total().in(usable); });
                             })},
                            {{"compute_percent", "% of peak", 3}, percent_of(&Utilization::compute)},
                            {{"bandwidth_percent", "% of bandwidth", 3}, percent_of(&Utilization::bandwidth)}} +
           part_fields<Compared>("", of_contestant(&ContestantRun::energy), picked(energy_fields(), {"watts_per_gpu", "joules_per_item"})) +
           part_fields<Compared>("", of_contestant(&ContestantRun::rental),
                                 picked(rental_fields(), {"usd_per_hour", "usd_per_1000_items"}));
}

Fields<ComparedRun> compared_details() {
    return Fields<Compared>{{{"gpus", "GPUs"}, if_predicted([](const Prediction& p) { return p.request.parallel.gpus(); })},
                            {{"ttft_ms", "TTFT ms"}, if_predicted([](const Prediction& p) { return cell_in(p.ttft, ms); })},
                            {{"tpot_ms", "TPOT ms"}, if_predicted([](const Prediction& p) { return cell_in(p.tpot, ms); })}} +
           part_fields<Compared>("", of_contestant(&ContestantRun::energy), picked(energy_fields(), {"joules_per_output_token"})) +
           part_fields<Compared>("", of_contestant(&ContestantRun::rental),
                                 picked(rental_fields(), {"usd_per_item", "usd_per_million_output_tokens"}));
}

Fields<ComparedRun> compared_costs() {
    return part_fields<Compared>("", of_contestant(&ContestantRun::rental), picked(rental_fields(), {"usd_per_hour", "usd_per_item"})) +
           part_fields<Compared>("", of_contestant(&ContestantRun::rental),
                                 Fields<RentalCost>{{{"items_per_usd", "items/USD", 4, Show::always},
                                                     [](const RentalCost& rent) { return 1 / rent.per_item.in(usd); }}}) +
           ratio_fields("items_per_usd_ratio", "vs first", dollar_ratio_of) +
           part_fields<Compared>("", of_contestant(&ContestantRun::energy), picked(energy_fields(), {"joules_per_item"}));
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
