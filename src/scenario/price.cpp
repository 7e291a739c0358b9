#include "roofcast/price.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

bool holds(const std::string& text, const std::string& part) {
    return lower(text).find(lower(part)) != std::string::npos;
}

/// The number that is all of `text`; nullopt for anything else.
std::optional<int> whole(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool digits_only = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    return digits_only && error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool matches(const Price& price, const PriceQuery& query) {
    return price.kind == name(query.kind) && holds(price.provider, query.provider) && holds(price.instance, query.instance) &&
           (!query.provider_kind || price.provider_kind == query.provider_kind);
}

/// Newest price of each provider and instance. ISO dates order as text, and no date comes before any.
std::vector<const Price*> offers(const GpuProfile& gpu, const PriceQuery& query) {
    std::vector<const Price*> newest;
    for (const Price& price : gpu.prices) {
        if (!matches(price, query)) continue;
        const auto same = std::find_if(newest.begin(), newest.end(), [&](const Price* other) {
            return other->provider == price.provider && other->instance == price.instance;
        });
        if (same == newest.end()) {
            newest.push_back(&price);
        } else if (price.date > (*same)->date) {
            *same = &price;
        }
    }
    return newest;
}

/// Offers that are compared by default: all except community clouds, or those if nothing else exists.
struct PreferredOffers {
    std::vector<const Price*> prices;
    bool fallback = false;  ///< to community clouds
};

PreferredOffers preferred_offers(const GpuProfile& gpu, const PriceQuery& query) {
    PreferredOffers preferred{.prices = offers(gpu, query)};
    if (query.provider_kind) return preferred;
    const auto community = [](const Price* price) { return price->provider_kind == ProviderKind::community; };
    preferred.fallback = !preferred.prices.empty() && std::all_of(preferred.prices.begin(), preferred.prices.end(), community);
    if (!preferred.fallback) std::erase_if(preferred.prices, community);
    return preferred;
}

/// Values of `member` among the prices that `query` leaves, each once, in the profile's order.
std::vector<std::string> values(const GpuProfile& gpu, const PriceQuery& query, std::string Price::*member) {
    std::vector<std::string> found;
    for (const Price* price : offers(gpu, query)) {
        const std::string& value = price->*member;
        if (!value.empty() && std::find(found.begin(), found.end(), value) == found.end()) found.push_back(value);
    }
    return found;
}

std::string_view in_words(std::string_view kind) {
    if (kind == name(PriceKind::purchase)) return "purchase price";
    return kind == name(PriceKind::spot_hour) ? "an hour as spot" : "an hour on demand";
}

/// "on_demand_hour price of a100 (provider AWS)".
std::string asked_for(const GpuProfile& gpu, const PriceQuery& query) {
    std::string text = fmt::format("{} price of {}", name(query.kind), gpu.id), filter;
    if (query.provider_kind) filter = fmt::format("provider {}", name(*query.provider_kind));
    if (!query.provider.empty()) filter = fmt::format("provider {}", query.provider);
    if (!query.instance.empty()) filter += fmt::format("{}instance {}", filter.empty() ? "" : ", ", query.instance);
    return filter.empty() ? text : fmt::format("{} ({})", text, filter);
}

/// The field that `query` fails at, what it knows, and what would be near.
struct Alternative {
    std::string field, asked;
    std::vector<std::string> known;
};

/// Kinds of the providers that `query` leaves, each once.
std::vector<std::string> provider_kinds(const GpuProfile& gpu, const PriceQuery& query) {
    std::set<std::string> kinds;
    for (const Price* price : offers(gpu, query)) {
        if (price->provider_kind) kinds.insert(std::string(name(*price->provider_kind)));
    }
    return {kinds.begin(), kinds.end()};
}

Alternative instead(const GpuProfile& gpu, const PriceQuery& query) {
    const PriceQuery any{.kind = query.kind, .provider = {}, .instance = {}};
    PriceQuery of_provider = query;
    of_provider.instance.clear();
    if (const auto instances = values(gpu, of_provider, &Price::instance); !query.instance.empty() && !instances.empty())
        return {"instance", query.instance, instances};
    if (const auto kinds = provider_kinds(gpu, any); query.provider_kind && !kinds.empty())
        return {"provider_kind", std::string(name(*query.provider_kind)), kinds};
    if (const auto providers = values(gpu, any, &Price::provider); !query.provider.empty() && !providers.empty())
        return {"provider", query.provider, providers};
    std::vector<std::string> kinds;
    for (const Price& price : gpu.prices) {
        if (std::find(kinds.begin(), kinds.end(), price.kind) == kinds.end()) kinds.push_back(price.kind);
    }
    return {"price", std::string(name(query.kind)), kinds};
}

std::string_view in_words(ProviderKind kind) {
    constexpr std::array<std::string_view, 4> words{"hyperscaler", "specialized cloud", "community cloud", "retail"};
    return words[static_cast<std::size_t>(kind)];
}

/// "AWS p5.48xlarge (us-east-1), hyperscaler, 8 GPUs".
std::string seller(const Price& p) {
    std::string text = p.provider;
    if (!p.instance.empty()) text += fmt::format("{}{}", text.empty() ? "" : " ", p.instance);
    if (p.kind == name(PriceKind::purchase)) return text;
    if (p.provider_kind) text += fmt::format("{}{}", text.empty() ? "" : ", ", in_words(*p.provider_kind));
    if (p.gpus_in_instance && *p.gpus_in_instance > 1) text += fmt::format(", {:g} GPUs", *p.gpus_in_instance);
    return text;
}

Instance instance_of(const Price& price, const GpuProfile& gpu) {
    const double gpus = price.gpus_in_instance.value_or(1);
    const auto count = static_cast<std::int64_t>(std::llround(gpus));
    return {.provider = price.provider,
            .name = price.instance,
            .provider_kind = price.provider_kind,
            .gpus = count,
            .any_number = !price.gpus_in_instance.has_value(),
            .topology = gpu.topology(count),
            .usd = gpus * price.usd,
            .date = price.date,
            .source = price.source};
}

}  // namespace

std::string_view name(PriceKind kind) {
    constexpr std::string_view names[] = {"on_demand_hour", "spot_hour", "purchase"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<PriceKind> parse_price_kind(std::string_view text) {
    for (const PriceKind kind : {PriceKind::on_demand_hour, PriceKind::spot_hour, PriceKind::purchase}) {
        const std::string_view full = name(kind);
        if (text == full || text == full.substr(0, full.rfind("_hour"))) return kind;
    }
    return std::nullopt;
}

std::optional<Date> parse_date(std::string_view text) {
    constexpr std::size_t year_only = 4, to_month = 7, to_day = 10;
    if (text.size() != year_only && text.size() != to_month && text.size() != to_day) return std::nullopt;
    if ((text.size() > year_only && text[4] != '-') || (text.size() > to_month && text[7] != '-')) return std::nullopt;
    const auto year_number = whole(text.substr(0, 4));
    const auto month_number = text.size() > year_only ? whole(text.substr(5, 2)) : 1;
    const auto day_number = text.size() > to_month ? whole(text.substr(8, 2)) : 1;
    constexpr int first_year = 1900, last_year = 2999;
    if (!year_number || !month_number || !day_number || *year_number < first_year || *year_number > last_year) return std::nullopt;
    const Date date{std::chrono::year(*year_number), std::chrono::month(static_cast<unsigned>(*month_number)),
                    std::chrono::day(static_cast<unsigned>(*day_number))};
    return date.ok() ? std::optional(date) : std::nullopt;
}

std::string to_string(Date date) {
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                       static_cast<unsigned>(date.day()));
}

std::int64_t days_between(Date earlier, Date later) {
    return (std::chrono::sys_days(later) - std::chrono::sys_days(earlier)).count();
}

std::optional<PriceChoice> find_price(const GpuProfile& gpu, const PriceQuery& query, Date today) {
    const auto [candidates, fallback] = preferred_offers(gpu, query);
    if (candidates.empty()) return std::nullopt;
    const Price& lowest = **std::min_element(candidates.begin(), candidates.end(), [](const Price* a, const Price* b) {
        return a->usd != b->usd ? a->usd < b->usd : a->date > b->date;
    });
    PriceChoice choice{.price = lowest, .fallback = fallback, .offers = candidates.size(), .age_days = {}};
    if (const auto date = parse_date(lowest.date)) choice.age_days = days_between(*date, today);
    return choice;
}

std::vector<Instance> instances(const GpuProfile& gpu, const PriceQuery& query) {
    std::vector<Instance> found;
    for (const Price* price : preferred_offers(gpu, query).prices) {
        if (price->gpus_in_instance.value_or(1) >= 1) found.push_back(instance_of(*price, gpu));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Instance& a, const Instance& b) { return a.gpus != b.gpus ? a.gpus < b.gpus : a.usd < b.usd; });
    return found;
}

std::optional<std::string> unlike_prices(const std::vector<std::pair<std::string, std::optional<PriceChoice>>>& price_of_gpu) {
    std::map<std::string_view, std::vector<std::string>> gpus_of;
    for (const auto& [gpu, choice] : price_of_gpu) {
        if (!choice || choice->given) continue;
        auto& gpus = gpus_of[choice->price.provider_kind ? in_words(*choice->price.provider_kind) : "unlisted provider"];
        if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) gpus.push_back(gpu);
    }
    if (gpus_of.size() < 2) return std::nullopt;
    std::string kinds;
    for (const auto& [kind, gpus] : gpus_of) kinds += fmt::format("{}{} ({})", kinds.empty() ? "" : ", ", kind, fmt::join(gpus, ", "));
    return "prices mix kinds of provider: " + kinds + "; `provider_kind` hyperscaler, specialized or community takes one kind";
}

void require_offer(const std::vector<Gpu>& gpus, const PriceQuery& query) {
    if (query.provider.empty() && query.instance.empty() && !query.provider_kind) return;
    // An instance is asked of its provider, if that is known.
    std::map<std::string, std::set<std::string>> known;
    std::map<std::string, std::string> asked;
    for (const Gpu& gpu : gpus) {
        if (!offers(gpu.profile, query).empty()) return;
        const Alternative other = instead(gpu.profile, query);
        known[other.field].insert(other.known.begin(), other.known.end());
        asked[other.field] = other.asked;
    }
    for (const char* field : {"instance", "provider_kind", "provider"}) {
        if (known[field].empty()) continue;
        const std::vector<std::string> all(known[field].begin(), known[field].end());
        throw Error({.what = fmt::format("none of the GPUs has a {} price there", name(query.kind)),
                     .key = field,
                     .found = asked[field],
                     .expected = fmt::format("a part of {}", fmt::join(all, ", ")),
                     .suggestion = did_you_mean(asked[field], all)});
    }
}

std::string no_price_text(const GpuProfile& gpu, const PriceQuery& query, std::string_view option) {
    const auto known = instead(gpu, query).known;
    return fmt::format("no {} is known{}; give {}", asked_for(gpu, query),
                       known.empty() ? "" : fmt::format(" (known: {})", fmt::join(known, ", ")), option);
}

PriceChoice choose_price(const GpuProfile& gpu, const PriceQuery& query, Date today, std::string_view option) {
    if (auto choice = find_price(gpu, query, today)) return *std::move(choice);
    const Alternative other = instead(gpu, query);
    const std::string near = did_you_mean(other.asked, other.known);
    throw Error({.what = fmt::format("no {} is known", asked_for(gpu, query)),
                 .key = other.field,
                 .found = other.known.empty() ? "" : other.asked,
                 .expected = fmt::format("{}", fmt::join(other.known, ", ")),
                 .suggestion = fmt::format("{}{}give {}, or add a [[price]] to {}", near, near.empty() ? "" : " Or ", option, gpu.file)});
}

PriceChoice given_price(PriceKind kind, UsDollars amount, std::string_view option) {
    return {.price = {.kind = std::string(name(kind)),
                      .provider = {},
                      .instance = {},
                      .usd = amount,
                      .date = {},
                      .source = fmt::format("given by {}", option)},
            .given = true,
            .age_days = {}};
}

std::string described(const PriceChoice& choice) {
    const Price& p = choice.price;
    std::string text = fmt::format("{:.5g} USD {}", p.usd.in(usd), in_words(p.kind));
    if (choice.given) return fmt::format("{}, {}", text, p.source);
    if (const std::string by = seller(p); !by.empty()) text += ", " + by;
    if (choice.fallback) text += ", NO OTHER CLOUD OFFERS IT";
    text += p.date.empty() ? ", UNDATED" : fmt::format(", {}", p.date);
    if (choice.undated() && !p.date.empty()) text += " (NO READABLE DATE)";
    if (choice.age_days && *choice.age_days < 0) text += " (later than the date counted from)";
    if (choice.age_days && *choice.age_days >= 0) text += fmt::format(" ({} days old)", *choice.age_days);
    if (choice.is_old()) text += ", over a year old";
    if (choice.offers > 1) text += fmt::format(", lowest of {} offers", choice.offers);
    return fmt::format("{}; source: {}", text, p.source);
}

UsDollarsPerSecond rent(const PriceChoice& choice) {
    return choice.price.usd / hour;
}

}  // namespace roofcast
