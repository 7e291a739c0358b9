#include <fmt/format.h>

#include <ranges>

#include "io/number_text.hpp"
#include "report/run_parts.hpp"
#include "report/run_reports.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast {

namespace {

/// `fields` of a part of the estimate.
template <class Part>
Fields<NamedCost> of_estimate(Part CostEstimate::*part, const Fields<typename decltype(pointed_to<Part>())::type>& fields) {
    return part_fields(&NamedCost::estimate, part_fields(part, fields));
}

Fields<NamedCost> cost_run_fields() {
    const auto named = [](std::initializer_list<std::string_view> keys) {
        return part_fields(&NamedCost::named, picked(prediction_fields(), keys));
    };
    return shown(named({"model"}), Show::setting) +
           named({"gpu", "precision", "weights", "batch", "prompt_tokens", "output_tokens", "execution", "fits", "throughput_per_s"}) +
           part_fields<NamedCost>([](const NamedCost& c) { return &c.named.prediction.request; }, picked(run_fields(), {"gpus"}));
}

/// The interval of the latency stands behind the cost of items.
Fields<NamedCost> rent_fields() {
    return with_bounds(of_estimate(&CostEstimate::rental, rental_fields()), "usd_per_1000_items", Show::usual,
                       [](const NamedCost& c) { return latency_interval(c.named.prediction); });
}

Fields<NamedCost> ownership_fields() {
    return of_estimate(&CostEstimate::owning, owning_fields()) + of_estimate(&CostEstimate::buy_or_rent, buy_or_rent_fields());
}

Fields<NamedCost> figure_fields() {
    return cost_run_fields() + rent_fields() + of_estimate(&CostEstimate::energy, energy_fields()) + ownership_fields();
}

Cell obstacle_cell(const NamedCost& c) {
    return text_cell(obstacle(c.named.prediction));
}

/// What CSV has beyond the figures. `settings` outlives the fields.
Fields<NamedCost> basis_fields(const CostSettings& settings) {
    return prefixed("rental_price_", of_estimate(&CostEstimate::rental_price, price_fields())) +
           prefixed("purchase_price_", of_estimate(&CostEstimate::purchase_price, price_fields())) +
           part_fields<NamedCost>([&settings](const NamedCost&) { return &settings; }, cost_settings_fields()) +
           Fields<NamedCost>{{{"assumed", "assumed"}, [](const NamedCost& c) { return assumed_keys(c.named.assumed); }},
                             {{"notes", "notes"}, [](const NamedCost& c) { return fmt::format("{}", fmt::join(c.notes, ";")); }},
                             {{"obstacle", "why not"}, obstacle_cell}};
}

/// Rent of all runs, then energy and ownership of those that have them.
std::vector<Table> cost_tables(const std::vector<NamedCost>& costs, const CostSettings& settings) {
    std::vector<Table> tables{table_of("Rent", costs, cost_run_fields() + rent_fields())};
    const auto add = [&](std::string title, auto part, const Fields<NamedCost>& fields) {
        auto known = costs | std::views::filter([part](const NamedCost& c) { return (c.estimate.*part).has_value(); });
        add_table(tables, table_of(std::move(title), known, picked(cost_run_fields(), {"model", "gpu", "gpus"}) + fields));
    };
    add("Energy of the GPUs (modelled)", &CostEstimate::energy, of_estimate(&CostEstimate::energy, energy_fields()));
    add(fmt::format("Ownership: TCO is depreciation and electricity, ROI is over {} years",
                    significant(settings.horizon_years.value_or(settings.life_years))),
        &CostEstimate::owning, ownership_fields());
    return tables;
}

Json document_of(const NamedCost& c) {
    Json document = json_of(c, figure_fields());
    const Fields<PhaseEnergy> phase_fields{{{"phase", "phase"}, &PhaseEnergy::phase},
                                           {{"watts_per_gpu", "W/GPU"}, &PhaseEnergy::watts, watt},
                                           {{"joules", "J"}, &PhaseEnergy::joules, joule},
                                           {{"capped", "capped"}, &PhaseEnergy::capped}};
    const std::vector<PhaseEnergy> none;
    document["phases"] = as_json(table_of({}, c.estimate.energy ? c.estimate.energy->phases : none, phase_fields));
    document["rental_price"] = json_of(c.estimate.rental_price, price_fields());
    document["purchase_price"] = json_of(c.estimate.purchase_price, price_fields());
    document["obstacle"] = as_json(obstacle_cell(c));
    document["remedies"] = c.named.advice.remedies;
    document["notes"] = c.notes;
    for (const auto& text : c.named.prediction.notes) document["notes"].push_back(text);
    document["assumed"] = as_json(c.named.assumed);
    return document;
}

void add_cost_lines(std::vector<std::string>& lines, const NamedCost& c) {
    const std::string& gpu = c.named.gpu_id;
    add_once(lines, obstacle_lines(c.named), fmt::format("{} on {}: ", c.named.model_id, gpu));
    if (c.estimate.rental_price) add_once(lines, {described(*c.estimate.rental_price)}, fmt::format("rent of {}: ", gpu));
    if (c.estimate.purchase_price) add_once(lines, {described(*c.estimate.purchase_price)}, fmt::format("purchase of {}: ", gpu));
    add_once(lines, c.notes, "note: ");
    add_once(lines, c.named.prediction.notes, fmt::format("note, {}: ", gpu));
    add_once(lines, assumed_lines(c.named.assumed, gpu + ": "));
}

}  // namespace

Report cost_report(const std::vector<NamedCost>& costs, const CostSettings& settings, Date today) {
    Report report;
    report.document = {{"currency", "USD"}, {"date", to_string(today)}, {"assumptions", json_of(settings, cost_settings_fields())}};
    report.facts = {{"prices", fmt::format("US dollars, as of {}", to_string(today))}};
    auto& rows = report.document["rows"] = Json::array();
    for (const NamedCost& c : costs) {
        rows.push_back(document_of(c));
        add_cost_lines(report.after, c);
    }
    report.csv = table_of({}, costs, figure_fields() + basis_fields(settings));
    report.tables = cost_tables(costs, settings);
    add_once(report.after, cost_assumptions(settings));
    std::vector<std::string> remarks{"Rent is paid for all hours and includes electricity.",
                                     "Ownership counts GPUs and electricity only: no interest, staff, space or network.",
                                     "ROI assumes that every working hour would otherwise be rented.",
                                     bound_title("low") + " and " + bound_title("high") + " bound the cost of 1000 items."};
    add_lines(remarks, energy_remarks());
    report.document["remarks"] = remarks;
    add_once(report.after, remarks);
    return report;
}

}  // namespace roofcast
