#include "roofcast/cost.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "roofcast/error.hpp"
#include "scenario/toy_run.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;
using test::toy_device;
using test::toy_phase;

namespace {

/// 4 requests of 100 input and 20 output tokens in 10 s, of which 2 s until the first token. 60 W then, 30 W later, idling at 20 W.
Prediction requests() {
    Prediction p;
    p.request.batch = 4;
    p.request.prompt_tokens = 100;
    p.request.generate_tokens = 20;
    p.phases.push_back(toy_phase("prefill", 1, 2 * s, 80 * joule));
    p.phases.push_back(toy_phase("decode", 19, 8 * s, 80.0 / 19 * joule));
    p.latency = 10 * s;
    p.ttft = 2 * s;
    return p;
}

PriceChoice hourly(double dollars) {
    return given_price(PriceKind::on_demand_hour, dollars * usd, "--usd-per-hour");
}
PriceChoice bought(double dollars) {
    return given_price(PriceKind::purchase, dollars * usd, "--purchase-usd");
}

}  // namespace

TEST_CASE("rent is shared out over the items and tokens of the hours at work") {
    // 3.6 USD an hour is 0.001 USD/s: 0.01 USD for 10 s, over 4 requests 0.0025; at half utilization twice that.
    const RentalCost all = rental_cost(requests(), 100, 3.6 * usd_per_hour, 1);
    CHECK(all.per_item.in(usd) == rel(0.0025, 1e-12));
    CHECK(all.per_output_token->in(usd) == rel(0.0025 / 20, 1e-12));
    CHECK(all.per_token->in(usd) == rel(0.0025 / 120, 1e-12));
    // A fifth of the time passes until the first token.
    CHECK(all.per_input_token->in(usd) == rel(0.0005 / 100, 1e-12));
    CHECK(all.decode_per_output_token->in(usd) == rel(0.002 / 20, 1e-12));
    CHECK((100 * *all.per_input_token + 20 * *all.decode_per_output_token).in(usd) == rel(all.per_item.in(usd), 1e-12));
    CHECK(rental_cost(requests(), 100, 3.6 * usd_per_hour, 0.5).per_item.in(usd) == rel(0.005, 1e-12));
}

TEST_CASE("rent of several GPUs adds up, and copies share it") {
    Prediction p = requests();
    p.request.parallel = {.tensor = 2, .data = 3};
    const RentalCost cost = rental_cost(p, 100, 3.6 * usd_per_hour, 1);
    CHECK(cost.rate.in(usd_per_hour) == rel(6 * 3.6, 1e-12));
    // 6 GPUs for 10 s at 0.001 USD/s, over 3 copies of 4 requests.
    CHECK(cost.per_item.in(usd) == rel(0.06 / 12, 1e-12));
}

TEST_CASE("a model without tokens has a price of items only") {
    Prediction p;
    p.request.batch = 8;
    p.phases.push_back(toy_phase("forward", 1, 2 * s, 80 * joule));
    p.latency = 2 * s;
    const RentalCost cost = rental_cost(p, 0, 3.6 * usd_per_hour, 1);
    CHECK(cost.per_item.in(usd) == rel(0.002 / 8, 1e-12));
    CHECK_FALSE(cost.per_output_token);
    CHECK_FALSE(cost.per_input_token);
}

TEST_CASE("a purchase loses its value in a straight line down to the residual value") {
    CHECK(depreciation_rate(8766 * usd, 0, 1 * year).in(usd_per_hour) == rel(1, 1e-12));
    CHECK(depreciation_rate(8766 * usd, 0.25, 3 * year).in(usd_per_hour) == rel(0.25, 1e-12));
    CHECK(value_left(1000 * usd, 0.2, 4 * year, 1 * year).in(usd) == rel(800, 1e-12));
    CHECK(value_left(1000 * usd, 0.2, 4 * year, 4 * year).in(usd) == rel(200, 1e-9));
    CHECK(value_left(1000 * usd, 0.2, 4 * year, 40 * year).in(usd) == rel(200, 1e-12));
}

TEST_CASE("electricity is paid for work, for waiting, for the host and for the site") {
    RunEnergy energy;
    energy.gpus = 2;
    energy.watts = 400 * watt;
    energy.idle = 100 * watt;
    CostSettings settings;
    settings.utilization = 0.5;
    settings.host = 150 * watt;
    settings.pue = 1.5;
    settings.electricity = 0.10 * usd / kilowatt_hour;
    // (0.5 · 400 + 0.5 · 100 + 150) W = 400 W, of 2 GPUs 0.8 kW, times 1.5 is 1.2 kW: 0.12 USD an hour.
    CHECK(electricity_rate(energy, settings).in(usd_per_hour) == rel(0.12, 1e-12));
}

TEST_CASE("buying breaks even when the rent saved has paid for it, and never when running costs more than rent") {
    // 1800 USD at 2 − 0.2 USD an hour.
    CHECK(break_even(1800 * usd, 2 * usd_per_hour, 0.2 * usd_per_hour)->in(hour) == rel(1000, 1e-12));
    CHECK_FALSE(break_even(1800 * usd, 0.2 * usd_per_hour, 0.2 * usd_per_hour));
    CHECK_FALSE(break_even(1800 * usd, 0.1 * usd_per_hour, 0.2 * usd_per_hour));
    // After 1500 hours 2700 USD are saved; 300 USD of value are left: (2700 − 1800 + 300) / 1800.
    CHECK(return_on_investment(1800 * usd, 2 * usd_per_hour, 0.2 * usd_per_hour, 300 * usd, 1500 * hour) == rel(1200.0 / 1800, 1e-9));
    CHECK(return_on_investment(1800 * usd, 2 * usd_per_hour, 0.2 * usd_per_hour, 0 * usd, 1000 * hour) == doctest::Approx(0).epsilon(1e-9));
}

TEST_CASE("an estimate puts rent, ownership and energy together") {
    CostSettings settings;
    settings.electricity = 0.10 * usd / kilowatt_hour;
    settings.pue = 1;
    settings.life_years = 1;
    const CostEstimate e = cost_estimate(requests(), 100, toy_device(), hourly(3.6), bought(8766), settings);
    // 36 W in the mean (see energy_test) are 0.0036 USD an hour beside 1 USD of depreciation; 1440 requests an hour.
    CHECK(e.owning->rate().in(usd_per_hour) == rel(1.0036, 1e-9));
    CHECK(e.owning->per_item.in(usd) == rel(1.0036 / 1440, 1e-9));
    CHECK(e.buy_or_rent->break_even->in(hour) == rel(8766 / (3.6 - 0.0036), 1e-9));
    // A year of 8766 hours at 3.5964 USD saved; nothing is left.
    CHECK(e.buy_or_rent->return_on_investment == rel(3.5964 - 1, 1e-9));
}

TEST_CASE("what no price is known for is absent, and so are costs of a run that is withheld") {
    const CostEstimate rent_only = cost_estimate(requests(), 100, toy_device(), hourly(1), {}, {});
    CHECK(rent_only.rental);
    CHECK_FALSE(rent_only.owning);
    CHECK_FALSE(rent_only.buy_or_rent);
    const CostEstimate owned_only = cost_estimate(requests(), 100, toy_device(), {}, bought(1000), {});
    CHECK(owned_only.owning);
    CHECK_FALSE(owned_only.buy_or_rent);
    Prediction p = requests();
    p.withheld.emplace_back("scan");
    CHECK_FALSE(cost_estimate(p, 100, toy_device(), hourly(1), {}, {}).rental);
}

TEST_CASE("settings out of range are refused") {
    const auto refused = [](auto change) {
        CostSettings settings;
        change(settings);
        CHECK_THROWS_AS(check(settings), Error);
    };
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    CHECK_NOTHROW(check({}));
    for (const double wrong : {0.0, -0.5, 1.01, nan, infinite}) refused([&](CostSettings& c) { c.utilization = wrong; });
    for (const double wrong : {0.99, 0.0, -1.0, 11.0, nan, infinite}) refused([&](CostSettings& c) { c.pue = wrong; });
    for (const double wrong : {0.0, -1.0, 1e9, nan, infinite}) refused([&](CostSettings& c) { c.life_years = wrong; });
    for (const double wrong : {0.0, -1.0, 1e9, nan, infinite}) refused([&](CostSettings& c) { c.horizon_years = wrong; });
    for (const double wrong : {-0.1, 1.0, nan, infinite}) refused([&](CostSettings& c) { c.residual = wrong; });
    for (const double wrong : {-1.0, 1e9, nan, infinite}) refused([&](CostSettings& c) { c.host = wrong * watt; });
    for (const double wrong : {0.0, -1.0, 1e9, nan, infinite})
        refused([&](CostSettings& c) { c.electricity = wrong * usd / kilowatt_hour; });
}
