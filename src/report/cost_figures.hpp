#pragma once
/// Columns of costs: rent, energy, ownership, the prices and the assumptions that they rest on.

#include "document/field.hpp"
#include "roofcast/cost.hpp"

namespace roofcast {

inline constexpr double thousand = 1e3, million = 1e6;

const Fields<RentalCost>& rental_fields();
const Fields<RunEnergy>& energy_fields();
const Fields<OwningCost>& owning_fields();
const Fields<BuyOrRent>& buy_or_rent_fields();
/// For JSON and CSV.
const Fields<PriceChoice>& price_fields();
const Fields<CostSettings>& cost_settings_fields();

/// {"kind", "usd", "provider", …}; null when there is none.
nlohmann::ordered_json as_json(const std::optional<PriceChoice>& choice);

}  // namespace roofcast
