#pragma once
/// Which of a profile's prices a scenario counts with, and how old it is.
///
/// Several prices of one provider and instance are one offer at several dates: the newest stands for it. Among the offers that a query
/// leaves, the lowest is taken, and the choice says so. Unless the query names a kind of provider, hyperscalers and specialized clouds come
/// before community clouds, which count only where a GPU has no other price. Prices are in US dollars, of one GPU.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// What is paid for. Names are the `kind` of gpus/<id>.toml.
enum class PriceKind { on_demand_hour, spot_hour, purchase };
std::string_view name(PriceKind kind);
/// "on_demand_hour" or "on_demand", "spot_hour" or "spot", "purchase"; nullopt when unknown.
std::optional<PriceKind> parse_price_kind(std::string_view text);

/// A day of the calendar. Today's comes from the edge of the program: the library never asks the clock.
using Date = std::chrono::year_month_day;

/// The first day that an ISO 8601 date, as precise as known, may mean: "2025" is 2025-01-01, "2025-07" 2025-07-01. nullopt when it is none,
/// or not of the years 1900 to 2999.
std::optional<Date> parse_date(std::string_view text);
std::string to_string(Date date);  ///< "2026-07-20"

/// Days from `earlier` to `later`; negative when it is the other way round.
std::int64_t days_between(Date earlier, Date later);

/// A price older than this is flagged.
inline constexpr std::int64_t old_price_days = 365;

struct PriceQuery {
    PriceKind kind = PriceKind::on_demand_hour;
    std::string provider, instance;               ///< only offers whose provider or instance contains this, in any case; empty: any
    std::optional<ProviderKind> provider_kind{};  ///< only offers of such providers
};

struct PriceChoice {
    Price price;
    bool given = false;                    ///< by the user, not from the profile: no age
    bool fallback = false;                 ///< of a community cloud, as neither hyperscalers nor specialized clouds offer the GPU
    std::size_t offers = 1;                ///< that the query left; the lowest was taken
    std::optional<std::int64_t> age_days;  ///< counted from the first day its date may mean; absent: undated
    [[nodiscard]] bool is_old() const { return age_days && *age_days > old_price_days; }
    [[nodiscard]] bool undated() const { return !given && !age_days; }
};

/// The lowest of the newest prices that `query` leaves; of equal ones the newest. nullopt when there is none.
std::optional<PriceChoice> find_price(const GpuProfile& gpu, const PriceQuery& query, Date today);

/// What a provider rents or sells as a whole.
struct Instance {
    std::string provider, name;  ///< "AWS", "p5.48xlarge (us-east-1)"
    std::optional<ProviderKind> provider_kind;
    std::int64_t gpus = 1;
    bool any_number = false;  ///< the price does not say how many GPUs go together: it is of one, and any number can be had
    std::string topology;     ///< how they are joined, as `GpuProfile::topology` says
    UsDollars usd;            ///< of all: an hour's rent, or the purchase
    std::string date, source;
    [[nodiscard]] UsDollars usd_per_gpu() const { return usd / static_cast<double>(gpus); }
    /// Rent of all. The price is of a kind by the hour.
    [[nodiscard]] UsDollarsPerSecond rent() const { return usd / hour; }
};

/// The offers that `query` leaves at their newest prices, fewest GPUs first, then lowest price. Kinds of providers are preferred as by
/// `find_price`. Offers of less than a GPU are left out.
std::vector<Instance> instances(const GpuProfile& gpu, const PriceQuery& query);

/// What a reader has to know before he compares prices of different kinds of providers; nullopt when all are of one kind.
std::optional<std::string> unlike_prices(const std::vector<std::pair<std::string, std::optional<PriceChoice>>>& price_of_gpu);

/// Throws Error, with what is known and near, when `query` names a provider or an instance that no price of any of `gpus` is of.
void require_offer(const std::vector<Gpu>& gpus, const PriceQuery& query);

/// As `find_price`, but throws Error with what the profile has and how to give a price: with `option`, a name that
/// the caller's users know.
PriceChoice choose_price(const GpuProfile& gpu, const PriceQuery& query, Date today, std::string_view option);

/// What the message of `choose_price` says: no price, what there is, how to give one.
std::string no_price_text(const GpuProfile& gpu, const PriceQuery& query, std::string_view option);

/// A price that the user gave with `option`, for one GPU.
PriceChoice given_price(PriceKind kind, UsDollars amount, std::string_view option);

/// "1.79 USD an hour on demand, RunPod secure pod, 2026-11-09 (12 days old), lowest of 7 offers; source: …": flags what is old or undated.
std::string described(const PriceChoice& choice);

/// Rent of one GPU. `choice` is of a kind by the hour.
UsDollarsPerSecond rent(const PriceChoice& choice);

}  // namespace roofcast
