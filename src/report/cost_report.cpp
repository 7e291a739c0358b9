#include "report/cost_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/number_text.hpp"
#include "report/cost_figures.hpp"
#include "report/describe.hpp"
#include "report/field_parts.hpp"
#include "report/prediction_lines.hpp"
#include "report/prediction_tables.hpp"
#include "scenario/assumptions.hpp"

namespace roofcast {

namespace {

auto of_estimate(auto part) {
    return [part](const NamedCost& c) -> const auto& {
        return c.estimate.*part;
    };
}

Fields<NamedCost> run_fields() {
    Fields<NamedCost> fields = part_fields<NamedCost>(
        "", [](const NamedCost& c) { return &c.named; },
        picked(prediction_fields(), {"model", "gpu", "precision", "weights", "batch", "prompt_tokens", "output_tokens", "execution", "fits",
                                     "throughput_per_s"}));
    fields.front().column.show = Show::setting;
    return std::move(fields) + Fields<NamedCost>{{{"gpus", "GPUs", 4, Show::setting},
                                                  [](const NamedCost& c) { return c.named.prediction.request.parallel.gpus(); }}};
}

/// The interval of the latency stands behind the cost of items.
Fields<NamedCost> rent_fields() {
    const auto rent = part_fields<NamedCost>("", of_estimate(&CostEstimate::rental), rental_fields());
    const auto item = std::find_if(rent.begin(), rent.end(), [](const auto& field) { return field.column.key == "usd_per_1000_items"; });
    const auto bounds = bound_fields<NamedCost>("usd_per_1000_items", 4, Show::usual, item->cell, [](const NamedCost& c) {
        const auto& intervals = c.named.prediction.intervals;
        return intervals ? std::optional(intervals->latency) : std::nullopt;
    });
    return Fields<NamedCost>(rent.begin(), item + 1) + bounds + Fields<NamedCost>(item + 1, rent.end());
}

Fields<NamedCost> run_energy_fields() {
    return part_fields<NamedCost>("", of_estimate(&CostEstimate::energy), energy_fields());
}

Fields<NamedCost> ownership_fields() {
    return part_fields<NamedCost>("", of_estimate(&CostEstimate::owning), owning_fields()) +
           part_fields<NamedCost>("", of_estimate(&CostEstimate::buy_or_rent), buy_or_rent_fields());
}

/// What CSV has beyond the figures. `settings` outlives the fields.
Fields<NamedCost> basis_fields(const CostSettings& settings) {
    const auto joined = [](const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, ";")); };
    return part_fields<NamedCost>("rental_price_", of_estimate(&CostEstimate::rental_price), price_fields()) +
           part_fields<NamedCost>("purchase_price_", of_estimate(&CostEstimate::purchase_price), price_fields()) +
           part_fields<NamedCost>(
               "", [&settings](const NamedCost&) { return &settings; }, cost_settings_fields()) +
           Fields<NamedCost>{{{"assumed", "assumed"}, [](const NamedCost& c) { return assumed_keys(c.named.assumed); }},
                             {{"notes", "notes"}, [joined](const NamedCost& c) { return joined(c.notes); }},
                             {{"obstacle", "why not"},
                              [](const NamedCost& c) { return c.named.prediction.runs() ? Cell() : Cell(obstacle(c.named.prediction)); }}};
}

/// Rent of all runs, then energy and ownership of those that have them.
std::vector<Table> cost_tables(const std::vector<NamedCost>& costs, const CostSettings& settings) {
    std::vector<Table> tables{table_of("Rent", costs, run_fields() + rent_fields())};
    const auto add = [&](std::string title, const auto& part, const Fields<NamedCost>& fields) {
        std::vector<std::reference_wrapper<const NamedCost>> rows;
        std::copy_if(costs.begin(), costs.end(), std::back_inserter(rows), part);
        if (!rows.empty()) tables.push_back(table_of(std::move(title), rows, picked(run_fields(), {"model", "gpu", "gpus"}) + fields));
    };
    add("Energy of the GPUs (modelled)", of_estimate(&CostEstimate::energy), run_energy_fields());
    add(fmt::format("Ownership: TCO is depreciation and electricity, ROI is over {} years",
                    significant(settings.horizon_years.value_or(settings.life_years))),
        of_estimate(&CostEstimate::owning), ownership_fields());
    return tables;
}

nlohmann::ordered_json document_of(const NamedCost& c) {
    nlohmann::ordered_json document = json_of(c, run_fields() + rent_fields() + run_energy_fields() + ownership_fields());
    auto& phases = document["phases"] = nlohmann::ordered_json::array();
    if (c.estimate.energy) {
        for (const PhaseEnergy& e : c.estimate.energy->phases)
            phases.push_back(
                {{"phase", e.phase}, {"watts_per_gpu", e.watts.in(watt)}, {"joules", e.joules.in(joule)}, {"capped", e.capped}});
    }
    document["rental_price"] = as_json(c.estimate.rental_price);
    document["purchase_price"] = as_json(c.estimate.purchase_price);
    const Prediction& p = c.named.prediction;
    document["obstacle"] = p.runs() ? nlohmann::ordered_json() : nlohmann::ordered_json(obstacle(p));
    document["remedies"] = c.named.advice.remedies;
    document["notes"] = c.notes;
    for (const auto& text : p.notes) document["notes"].push_back(text);
    document["assumed"] = as_json(c.named.assumed);
    return document;
}

std::vector<std::string> lines_of(const NamedCost& c) {
    std::vector<std::string> lines;
    const std::string& gpu = c.named.gpu_id;
    const auto add = [&](const std::string& name, const std::string& text) { lines.push_back(name + ": " + text); };
    for (const auto& text : obstacle_lines(c.named)) add(fmt::format("{} on {}", c.named.model_id, gpu), text);
    if (c.estimate.rental_price) add("rent of " + gpu, described(*c.estimate.rental_price));
    if (c.estimate.purchase_price) add("purchase of " + gpu, described(*c.estimate.purchase_price));
    for (const auto& text : c.notes) add("note", text);
    for (const auto& text : c.named.prediction.notes) add("note, " + gpu, text);
    for (std::string& line : assumed_lines(c.named.assumed, gpu + ": ")) lines.push_back(std::move(line));
    return lines;
}

}  // namespace

nlohmann::ordered_json as_json(const std::optional<PriceChoice>& choice) {
    return choice ? json_of(*choice, price_fields()) : nlohmann::ordered_json();
}

Report cost_report(const std::vector<NamedCost>& costs, const CostSettings& settings, Date today) {
    Report report;
    report.document = {{"currency", "USD"}, {"date", to_string(today)}, {"assumptions", json_of(settings, cost_settings_fields())}};
    report.facts = {{"prices", fmt::format("US dollars, as of {}", to_string(today))}};
    const auto once = [&report](std::string line) {
        if (std::find(report.after.begin(), report.after.end(), line) == report.after.end()) report.after.push_back(std::move(line));
    };
    auto& rows = report.document["rows"] = nlohmann::ordered_json::array();
    for (const NamedCost& c : costs) {
        rows.push_back(document_of(c));
        for (std::string& line : lines_of(c)) once(std::move(line));
    }
    report.csv = table_of({}, costs, run_fields() + rent_fields() + run_energy_fields() + ownership_fields() + basis_fields(settings));
    report.tables = cost_tables(costs, settings);
    for (std::string& line : cost_assumptions(settings)) once(std::move(line));
    std::vector<std::string> remarks{"Rent is paid for all hours and includes electricity.",
                                     "Ownership counts GPUs and electricity only: no interest, staff, space or network.",
                                     "ROI assumes that every working hour would otherwise be rented.",
                                     bound_title("low") + " and " + bound_title("high") + " bound the cost of 1000 items."};
    for (std::string& remark : energy_remarks()) remarks.push_back(std::move(remark));
    report.document["remarks"] = remarks;
    for (const std::string& remark : remarks) once(remark);
    return report;
}

}  // namespace roofcast
