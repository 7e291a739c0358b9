#pragma once
/// Options that say what a GPU costs, and what day it is.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/price.hpp"

namespace roofcast::cli {

inline constexpr const char* rent_option = "--usd-per-hour";
inline constexpr const char* purchase_option = "--purchase-usd";

struct PriceOptions {
    std::string kind = "on_demand", provider, instance, date;
    std::optional<double> usd_per_hour, purchase_usd;
};

/// Adds --usd-per-hour, --price, --provider, --instance and --date.
void add_rent_options(CLI::App& command, PriceOptions& options);
/// Adds --purchase-usd.
void add_purchase_option(CLI::App& command, PriceOptions& options);

/// --date, else the clock's day in UTC. Throws Error on what is no date.
Date today(const PriceOptions& options);

/// What of a profile's prices to look for. Throws Error on an unknown kind, and on a filter beside a price that is given.
PriceQuery rent_query(const PriceOptions& options);

/// The given rent, else the profile's; nullopt when there is none. Throws Error as `rent_query` does and on a price out of range.
std::optional<PriceChoice> rent_of(const GpuProfile& gpu, const PriceOptions& options, Date today);
/// The rents of `gpus`, in their order. Those that only a community cloud offers are left out beside others, and `notes` says so.
std::vector<std::optional<PriceChoice>> like_rents(const std::vector<Gpu>& gpus, const PriceOptions& options, Date today,
                                                   std::vector<std::string>& notes);
std::optional<PriceChoice> purchase_of(const GpuProfile& gpu, const PriceOptions& options, Date today);

}  // namespace roofcast::cli
