#pragma once
/// What a run costs: rented by the hour, or owned.
///
/// With r the rent of one GPU, n GPUs, T the latency of a batch of B items on each of d copies, and u the fraction of the paid hours in
/// which the GPUs work:
///
///     per item   = r · n · T / (B · d · u)
///     TCO rate   = (purchase − residual) / life + electricity,   per item = TCO rate · T / (B · d · u)
///     electricity = n · (u · run + (1 − u) · idle + host) watts · PUE · USD/kWh
///     break-even = purchase / (rent − electricity)
///
/// Renting pays all hours, at work or not; the rent includes electricity. Owning pays purchase, electricity and nothing else: no interest,
/// tax, staff, space or network. Currency is US dollars. docs/model/cost.md derives each formula.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/energy.hpp"
#include "roofcast/price.hpp"

namespace roofcast {

using UsDollarsPerJoule = Quantity<0, 0, 0, -1, 1>;
inline constexpr Joules kilowatt_hour{3.6e6};
inline constexpr Seconds year = 365.25 * 24 * hour, month = year / 12;

/// What is assumed where the user does not say. Every output prints these.
struct CostSettings {
    double utilization = 1;  ///< fraction of the hours paid for in which the GPUs work, above 0, at most 1
    /// Mean price of commercial customers in Virginia in 2023: 8.95 cents (U.S. EIA, Electric Power Annual 2023).
    UsDollarsPerJoule electricity = 0.0895 * usd / kilowatt_hour;
    double pue = 1.56;      ///< power of the site over that of its machines, at least 1: Uptime Institute's survey of 2024, mean
    Watts host;             ///< of the rest of the machine, for each GPU
    double life_years = 5;  ///< of depreciation: Amazon's servers from 2025 on (form 10-K of 2024)
    double residual = 0;    ///< of the purchase price after those years, 0 to below 1
    std::optional<double> horizon_years;  ///< of the return on investment; absent: `life_years`
};

/// What the rent of all GPUs comes to. Tokens are those of all sequences; input tokens include those of images.
struct RentalCost {
    UsDollarsPerSecond rate;  ///< all GPUs
    UsDollars per_item;       ///< image, sequence or request
    // Of language models: a request costs its input tokens times `per_input_token` plus its output tokens times `decode_per_output_token`.
    std::optional<UsDollars> per_input_token;          ///< until the first token, over input tokens
    std::optional<UsDollars> decode_per_output_token;  ///< after the first token, over output tokens
    std::optional<UsDollars> per_output_token;         ///< the whole request over output tokens
    std::optional<UsDollars> per_token;                ///< the whole request over input and output tokens
};

/// What owning all GPUs comes to.
struct OwningCost {
    UsDollars purchase;  ///< all GPUs
    UsDollarsPerSecond depreciation, electricity;
    UsDollars per_item;
    std::optional<UsDollars> per_output_token;
    [[nodiscard]] UsDollarsPerSecond rate() const { return depreciation + electricity; }
};

/// Owning against renting, both at all hours.
struct BuyOrRent {
    std::optional<Seconds> break_even;  ///< absent: never, as electricity costs more than rent
    double return_on_investment = 0;    ///< over the horizon: (rent saved − spent + value left) / purchase
};

struct CostEstimate {
    std::optional<RunEnergy> energy;
    std::optional<PriceChoice> rental_price, purchase_price;
    std::optional<RentalCost> rental;
    std::optional<OwningCost> owning;
    std::optional<BuyOrRent> buy_or_rent;
};

/// Costs of the run that `prediction` describes, whose sequences have `input_tokens` each. What no price or power is known for is absent.
/// Throws Error on `settings` out of range.
CostEstimate cost_estimate(const Prediction& prediction, std::int64_t input_tokens, const Gpu& gpu,
                           const std::optional<PriceChoice>& rental_price, const std::optional<PriceChoice>& purchase_price,
                           const CostSettings& settings);

/// Throws Error naming the option that is out of range.
void check(const CostSettings& settings);

// The formulas, one by one.

/// Time that one item takes of the hours paid for: latency · 1 / (items of the batch · utilization).
Seconds paid_time_per_item(const Prediction& prediction, double utilization);
RentalCost rental_cost(const Prediction& prediction, std::int64_t input_tokens, UsDollarsPerSecond rent_of_one, double utilization);
/// Straight line from `purchase` to its residual value.
UsDollarsPerSecond depreciation_rate(UsDollars purchase, double residual, Seconds life);
/// Value left of the purchase price at `age`: the same line, and the residual value after it.
UsDollars value_left(UsDollars purchase, double residual, Seconds life, Seconds age);
/// Electricity of all GPUs that `energy` is about, with their hosts and the site.
UsDollarsPerSecond electricity_rate(const RunEnergy& energy, const CostSettings& settings);
/// Until rent has cost as much as purchase and running; residual value is not counted. nullopt: never.
std::optional<Seconds> break_even(UsDollars purchase, UsDollarsPerSecond rent, UsDollarsPerSecond running);
/// (rent saved − purchase − running + value left) / purchase after `horizon`.
double return_on_investment(UsDollars purchase, UsDollarsPerSecond rent, UsDollarsPerSecond running, UsDollars value_at_end,
                            Seconds horizon);

}  // namespace roofcast
