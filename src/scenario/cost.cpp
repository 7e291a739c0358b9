#include "roofcast/cost.hpp"

#include <fmt/format.h>

#include <cmath>

#include "prediction/sound.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

void require(const char* field, double value, double low, bool low_allowed, double high) {
    if (std::isfinite(value) && (low_allowed ? value >= low : value > low) && value <= high) return;
    throw Error({.what = "out of range",
                 .key = field,
                 .found = fmt::format("{}", value),
                 .expected = fmt::format("a number {} {} and at most {}", low_allowed ? "from" : "above", low, high)});
}

OwningCost owning_cost(const Prediction& p, const RunEnergy& energy, UsDollars purchase_of_one, const CostSettings& settings) {
    OwningCost cost{.purchase = static_cast<double>(energy.gpus) * purchase_of_one,
                    .depreciation = {},
                    .electricity = electricity_rate(energy, settings),
                    .per_item = {},
                    .per_output_token = {}};
    cost.depreciation = depreciation_rate(cost.purchase, settings.residual, settings.life_years * year);
    cost.per_item = cost.rate() * paid_time_per_item(p, settings.utilization);
    if (p.ttft) cost.per_output_token = cost.per_item / static_cast<double>(p.request.generate_tokens);
    return cost;
}

BuyOrRent buy_or_rent(const OwningCost& owning, UsDollarsPerSecond rent, const CostSettings& settings) {
    const Seconds life = settings.life_years * year, horizon = settings.horizon_years.value_or(settings.life_years) * year;
    const UsDollars left = value_left(owning.purchase, settings.residual, life, horizon);
    return {.break_even = break_even(owning.purchase, rent, owning.electricity),
            .return_on_investment = return_on_investment(owning.purchase, rent, owning.electricity, left, horizon)};
}

}  // namespace

void check(const CostSettings& settings) {
    constexpr double most_usd_per_kwh = 100, most_pue = 10, most_watts = 1e5, most_years = 100, most_residual = 0.99;
    require("utilization", settings.utilization, 0, false, 1);
    require("electricity", settings.electricity.in(usd / kilowatt_hour), 0, false, most_usd_per_kwh);
    require("pue", settings.pue, 1, true, most_pue);
    require("host", settings.host.in(watt), 0, true, most_watts);
    require("life_years", settings.life_years, 0, false, most_years);
    require("residual", settings.residual, 0, true, most_residual);
    if (settings.horizon_years) require("horizon_years", *settings.horizon_years, 0, false, most_years);
}

Seconds paid_time_per_item(const Prediction& prediction, double utilization) {
    return prediction.latency / (prediction.request.items() * utilization);
}

RentalCost rental_cost(const Prediction& prediction, std::int64_t input_tokens, UsDollarsPerSecond rent_of_one, double utilization) {
    const Run& run = prediction.request;
    RentalCost cost{.rate = static_cast<double>(run.parallel.gpus()) * rent_of_one,
                    .per_item = {},
                    .per_input_token = {},
                    .decode_per_output_token = {},
                    .per_output_token = {},
                    .per_token = {}};
    cost.per_item = cost.rate * paid_time_per_item(prediction, utilization);
    if (!prediction.ttft) return cost;
    const double inputs = static_cast<double>(input_tokens), outputs = static_cast<double>(run.generate_tokens);
    const UsDollars until_first = cost.per_item * (*prediction.ttft / prediction.latency);
    cost.per_input_token = until_first / inputs;
    cost.decode_per_output_token = (cost.per_item - until_first) / outputs;
    cost.per_output_token = cost.per_item / outputs;
    cost.per_token = cost.per_item / (inputs + outputs);
    return cost;
}

UsDollarsPerSecond depreciation_rate(UsDollars purchase, double residual, Seconds life) {
    return purchase * (1 - residual) / life;
}

UsDollars value_left(UsDollars purchase, double residual, Seconds life, Seconds age) {
    return max(purchase * residual, purchase - depreciation_rate(purchase, residual, life) * age);
}

UsDollarsPerSecond electricity_rate(const RunEnergy& energy, const CostSettings& settings) {
    const double u = settings.utilization;
    const Watts one = energy.watts * u + energy.idle * (1 - u) + settings.host;
    return static_cast<double>(energy.gpus) * (one * settings.pue * settings.electricity);
}

std::optional<Seconds> break_even(UsDollars purchase, UsDollarsPerSecond rent, UsDollarsPerSecond running) {
    if (!(rent > running)) return std::nullopt;
    return purchase / (rent - running);
}

double return_on_investment(UsDollars purchase, UsDollarsPerSecond rent, UsDollarsPerSecond running, UsDollars value_at_end,
                            Seconds horizon) {
    return ((rent - running) * horizon - purchase + value_at_end) / purchase;
}

CostEstimate cost_estimate(const Prediction& prediction, std::int64_t input_tokens, const Gpu& gpu,
                           const std::optional<PriceChoice>& rental_price, const std::optional<PriceChoice>& purchase_price,
                           const CostSettings& settings) {
    check(settings);
    CostEstimate estimate{.energy = run_energy(prediction, gpu),
                          .rental_price = rental_price,
                          .purchase_price = purchase_price,
                          .rental = {},
                          .owning = {},
                          .buy_or_rent = {}};
    if (!prediction.runs()) return estimate;
    if (rental_price) estimate.rental = rental_cost(prediction, input_tokens, rent(*rental_price), settings.utilization);
    if (purchase_price && estimate.energy) estimate.owning = owning_cost(prediction, *estimate.energy, purchase_price->price.usd, settings);
    if (estimate.rental) require_sound("cost of an item, rented", estimate.rental->per_item.in(usd), "USD");
    if (estimate.owning) require_sound("cost of an item, owned", estimate.owning->per_item.in(usd), "USD");
    if (estimate.rental && estimate.owning) estimate.buy_or_rent = buy_or_rent(*estimate.owning, estimate.rental->rate, settings);
    return estimate;
}

}  // namespace roofcast
