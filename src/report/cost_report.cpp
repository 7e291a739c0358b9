#include "report/cost_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/charts/charts.hpp"
#include "report/cost_figures.hpp"
#include "report/prediction_lines.hpp"
#include "report/prediction_tables.hpp"

namespace roofcast {

namespace {

using Part = Figure::Part;

void add_row(Table& table, const std::vector<Figure>& figures, const auto& wanted) {
    const bool first = table.columns.empty();
    std::vector<Cell> row;
    for (const Figure& figure : figures) {
        if (!wanted(figure)) continue;
        if (first) table.columns.push_back(figure.column);
        row.push_back(figure.cell);
    }
    table.rows.push_back(std::move(row));
}

void drop_empty_columns(Table& table) {
    for (std::size_t c = table.columns.size(); c-- > 0;) {
        const auto empty = [c](const std::vector<Cell>& row) { return std::holds_alternative<std::monostate>(row[c]); };
        if (!std::all_of(table.rows.begin(), table.rows.end(), empty)) continue;
        table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(c));
        for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
    }
}

/// Text tables: what the run is, then one part of the figures.
std::vector<Table> text_tables(const std::vector<NamedCost>& costs, const CostSettings& settings) {
    const double horizon = settings.horizon_years.value_or(settings.life_years);
    const std::pair<Part, std::string> parts[] = {
        {Part::rent, "Renting"},
        {Part::energy, "Energy of the GPUs: modelled, not measured; GeForce boards draw a multiple of it when they decode"},
        {Part::owning,
         fmt::format("Owning: TCO is depreciation and electricity; ROI over {} years, if every hour at work would otherwise be rented",
                     significant(horizon))}};
    std::vector<Table> tables;
    for (const auto& [part, title] : parts) {
        Table table{.title = title, .columns = {}, .rows = {}};
        for (const NamedCost& c : costs) {
            const bool has = part == Part::rent     ? c.estimate.rental.has_value()
                             : part == Part::energy ? c.estimate.energy.has_value()
                                                    : c.estimate.owning.has_value();
            // What does not run stays in the first table, without figures.
            const bool stays = part == Part::rent && !c.named.prediction.runs();
            if (!has && !stays) continue;
            add_row(table, figures_of(c),
                    [wanted = part](const Figure& f) { return f.in_text && (f.part == Part::run || f.part == wanted); });
        }
        if (table.rows.empty()) continue;
        drop_empty_columns(table);
        tables.push_back(std::move(table));
    }
    return tables;
}

nlohmann::ordered_json document_of(const NamedCost& c) {
    Table table;
    add_row(table, figures_of(c), [](const Figure&) { return true; });
    nlohmann::ordered_json document = as_json(table).front();
    auto phases = nlohmann::ordered_json::array();
    if (c.estimate.energy) {
        for (const PhaseEnergy& e : c.estimate.energy->phases)
            phases.push_back(
                {{"phase", e.phase}, {"watts_per_gpu", e.watts.in(watt)}, {"joules", e.joules.in(joule)}, {"capped", e.capped}});
    }
    document["phases"] = std::move(phases);
    document["rental_price"] = as_json(c.estimate.rental_price);
    document["purchase_price"] = as_json(c.estimate.purchase_price);
    const Prediction& p = c.named.prediction;
    document["fits"] = p.memory.usable ? nlohmann::ordered_json(*p.memory.fits()) : nlohmann::ordered_json();
    document["obstacle"] = p.runs() ? nlohmann::ordered_json() : nlohmann::ordered_json(obstacle(p));
    document["remedies"] = c.named.advice.remedies;
    document["notes"] = c.notes;
    for (const auto& text : c.named.prediction.notes) document["notes"].push_back(text);
    document["assumed"] = as_json(c.named.assumed);
    return document;
}

std::vector<std::string> lines_of(const NamedCost& c) {
    std::vector<std::string> lines;
    const std::string& gpu = c.named.gpu_id;
    for (const auto& text : obstacle_lines(c.named)) lines.push_back(fmt::format("{} on {}: {}", c.named.model_id, gpu, text));
    if (c.estimate.rental_price) lines.push_back(fmt::format("rent of {}: {}", gpu, described(*c.estimate.rental_price)));
    if (c.estimate.purchase_price) lines.push_back(fmt::format("purchase of {}: {}", gpu, described(*c.estimate.purchase_price)));
    for (const auto& text : c.notes) lines.push_back("note: " + text);
    for (const auto& text : c.named.prediction.notes) lines.push_back(fmt::format("note, {}: {}", gpu, text));
    for (const Assumption& a : c.named.assumed) lines.push_back(fmt::format("{}: {}", gpu, assumed_line(a)));
    return lines;
}

}  // namespace

nlohmann::ordered_json as_json(const std::optional<PriceChoice>& choice) {
    if (!choice) return nullptr;
    const Price& p = choice->price;
    const auto text = [](const std::string& value) { return value.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(value); };
    return {{"kind", p.kind},
            {"usd", p.usd.in(usd)},
            {"provider", text(p.provider)},
            {"instance", text(p.instance)},
            {"date", text(p.date)},
            {"age_days", choice->age_days ? nlohmann::ordered_json(*choice->age_days) : nlohmann::ordered_json()},
            {"older_than_a_year", choice->is_old()},
            {"offers", choice->offers},
            {"provider_kind", p.provider_kind ? nlohmann::ordered_json(name(*p.provider_kind)) : nlohmann::ordered_json()},
            {"fallback", choice->fallback},
            {"gpus_in_instance", p.gpus_in_instance ? nlohmann::ordered_json(*p.gpus_in_instance) : nlohmann::ordered_json()},
            {"source", p.source}};
}

nlohmann::ordered_json as_json(const CostSettings& settings) {
    return {{"utilization", settings.utilization},
            {"electricity_usd_per_kwh", settings.electricity.in(usd / kilowatt_hour)},
            {"pue", settings.pue},
            {"host_watts", settings.host.in(watt)},
            {"life_years", settings.life_years},
            {"residual", settings.residual},
            {"horizon_years", settings.horizon_years.value_or(settings.life_years)}};
}

std::string energy_remark() {
    return "Energy: the boards alone, modelled from FLOPs and DRAM bytes, at most TDP. Near published figures for an H200; consumer boards "
           "draw a multiple of it when they decode (docs/known_misses.md).";
}

std::vector<std::string> assumption_lines(const CostSettings& c) {
    const CostSettings defaults;
    const double usd_per_kwh = c.electricity.in(usd / kilowatt_hour);
    const auto source = [](bool is_default, const char* text) { return is_default ? text : "given"; };
    return {fmt::format("assumed: utilization {} of the hours paid for (`utilization`)", significant(c.utilization)),
            fmt::format(
                "assumed: electricity {} USD/kWh ({}; `electricity`), PUE {} ({}; `pue`)", significant(usd_per_kwh),
                source(c.electricity == defaults.electricity, "commercial customers in Virginia, 2023: EIA, Electric Power Annual 2023"),
                significant(c.pue), source(c.pue == defaults.pue, "mean of the Uptime Institute's survey of 2024")),
            fmt::format("assumed: {} years of use ({}; `life_years`), {} % of the price left then (`residual`), {} W of host for each GPU "
                        "(`host`)",
                        significant(c.life_years), source(c.life_years == defaults.life_years, "Amazon's servers: form 10-K of 2024"),
                        significant(100 * c.residual), significant(c.host.in(watt)))};
}

Report cost_report(const std::vector<NamedCost>& costs, const CostSettings& settings, Date today) {
    Report report;
    const nlohmann::ordered_json assumptions = as_json(settings);
    report.document = {{"currency", "USD"}, {"date", to_string(today)}, {"assumptions", assumptions}};
    report.document["rows"] = nlohmann::ordered_json::array();
    report.before.push_back(fmt::format("Costs in US dollars, prices as of {}", to_string(today)));
    const auto once = [&report](std::string line) {
        if (std::find(report.after.begin(), report.after.end(), line) == report.after.end()) report.after.push_back(std::move(line));
    };
    for (const NamedCost& c : costs) {
        report.document["rows"].push_back(document_of(c));
        std::vector<Figure> figures = figures_of(c);
        add_price_columns(figures, "rental_price", c.estimate.rental_price);
        add_price_columns(figures, "purchase_price", c.estimate.purchase_price);
        for (const auto& [key, value] : assumptions.items()) figures.push_back({Part::run, {key, ""}, value.get<double>()});
        figures.push_back({Part::run, {"assumed", ""}, assumed_keys(c.named.assumed)});
        figures.push_back({Part::run, {"notes", ""}, fmt::format("{}", fmt::join(c.notes, ";"))});
        figures.push_back({Part::run, {"obstacle", ""}, c.named.prediction.runs() ? Cell() : Cell(obstacle(c.named.prediction))});
        add_row(report.csv, figures, [](const Figure&) { return true; });
        for (std::string& line : lines_of(c)) once(std::move(line));
    }
    report.tables = text_tables(costs, settings);
    report.charts = cost_charts(costs);
    for (std::string& line : assumption_lines(settings)) once(std::move(line));
    const std::string remarks[] = {
        "Renting pays all hours and includes electricity. Owning counts the GPUs and electricity alone: no interest, staff, space, "
        "network.",
        fmt::format("{}, {}: interval of the latency.", bound_title("low"), bound_title("high")), energy_remark()};
    report.document["remarks"] = remarks;
    for (const std::string& remark : remarks) once(remark);
    return report;
}

}  // namespace roofcast
