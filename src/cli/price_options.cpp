#include "cli/price_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

UsDollars in_range(double dollars, const char* option, double most) {
    if (std::isfinite(dollars) && dollars > 0 && dollars <= most) return dollars * usd;
    throw Error({.what = "out of range",
                 .key = option,
                 .found = fmt::format("{}", dollars),
                 .expected = fmt::format("US dollars for one GPU, above 0, at most {}", most)});
}

void refuse_beside_given(const std::string& value, const char* option) {
    if (value.empty()) return;
    throw Error({.what = fmt::format("{} chooses among known prices, but {} gives a price", option, rent_option),
                 .key = option,
                 .found = value,
                 .suggestion = "leave one out"});
}

}  // namespace

void add_rent_options(CLI::App& command, PriceOptions& o) {
    command.add_option(rent_option, o.usd_per_hour, "Rent of one GPU in US dollars per hour (default: the lowest of the profile)");
    command.add_option("--price", o.kind, "Kind of rent: on_demand or spot")->capture_default_str();
    command.add_option("--provider", o.provider,
                       "Use only prices of this provider (AWS) or kind of provider: hyperscaler, specialized or community");
    command.add_option("--instance", o.instance, "Use only prices of instances whose name contains this");
    command.add_option("--date", o.date, "Day for the age of prices, YYYY-MM-DD (default: today)");
}

void add_purchase_option(CLI::App& command, PriceOptions& o) {
    command.add_option(purchase_option, o.purchase_usd, "Purchase price of one GPU in US dollars (default: the lowest of the profile)");
}

Date today(const PriceOptions& o) {
    if (o.date.empty()) return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    if (const auto date = parse_date(o.date)) return *date;
    throw Error({.what = "not a date", .key = "--date", .found = o.date, .expected = "YYYY-MM-DD, YYYY-MM or YYYY"});
}

PriceQuery rent_query(const PriceOptions& o) {
    const auto kind = parse_price_kind(o.kind);
    if (!kind || *kind == PriceKind::purchase)
        throw Error({.what = "unknown kind of rent",
                     .key = "--price",
                     .found = o.kind,
                     .expected = "on_demand or spot",
                     .suggestion = did_you_mean(o.kind, {"on_demand", "spot"})});
    if (o.usd_per_hour) {
        refuse_beside_given(o.provider, "--provider");
        refuse_beside_given(o.instance, "--instance");
    }
    const auto provider_kind = parse_provider_kind(o.provider);
    return {.kind = *kind, .provider = provider_kind ? "" : o.provider, .instance = o.instance, .provider_kind = provider_kind};
}

std::optional<PriceChoice> rent_of(const GpuProfile& gpu, const PriceOptions& o, Date today) {
    constexpr double most_usd_per_hour = 1e4;
    const PriceQuery query = rent_query(o);
    if (o.usd_per_hour) return given_price(query.kind, in_range(*o.usd_per_hour, rent_option, most_usd_per_hour), rent_option);
    return find_price(gpu, query, today);
}

std::vector<std::optional<PriceChoice>> like_rents(const std::vector<Gpu>& gpus, const PriceOptions& o, Date today,
                                                   std::vector<std::string>& notes) {
    std::vector<std::optional<PriceChoice>> rents;
    for (const Gpu& gpu : gpus) rents.push_back(rent_of(gpu.profile, o, today));
    const auto others = std::count_if(rents.begin(), rents.end(), [](const auto& rent) { return rent && !rent->fallback; });
    std::vector<std::string> left_out;
    for (std::size_t i = 0; i < gpus.size() && others > 0; ++i) {
        if (!rents[i] || !rents[i]->fallback) continue;
        left_out.push_back(gpus[i].profile.id);
        rents[i].reset();
    }
    if (!left_out.empty())
        notes.push_back(fmt::format("{}: left out, because only community clouds offer it; --provider community compares such offers",
                                    fmt::join(left_out, ", ")));
    return rents;
}

std::optional<PriceChoice> purchase_of(const GpuProfile& gpu, const PriceOptions& o, Date today) {
    constexpr double most_usd = 1e7;
    if (o.purchase_usd) return given_price(PriceKind::purchase, in_range(*o.purchase_usd, purchase_option, most_usd), purchase_option);
    return find_price(gpu, {.kind = PriceKind::purchase}, today);
}

}  // namespace roofcast::cli
