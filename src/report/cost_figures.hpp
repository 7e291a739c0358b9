#pragma once
/// Columns of costs: rent, energy, ownership, the prices and the assumptions that they rest on.

#include "document/field.hpp"
#include "roofcast/cost.hpp"

namespace roofcast {

inline constexpr double thousand = 1e3, million = 1e6;

Fields<RentalCost> rental_fields();
Fields<RunEnergy> energy_fields();
Fields<OwningCost> owning_fields();
Fields<BuyOrRent> buy_or_rent_fields();
/// For JSON and CSV.
Fields<PriceChoice> price_fields();
Fields<CostSettings> cost_settings_fields();

}  // namespace roofcast
