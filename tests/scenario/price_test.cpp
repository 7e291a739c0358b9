#include "roofcast/price.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::rel;

namespace {

Price hourly(const char* provider, const char* instance, double dollars, const char* date) {
    return {.kind = "on_demand_hour", .provider = provider, .instance = instance, .usd = dollars * usd, .date = date, .source = "a list"};
}

GpuProfile priced() {
    GpuProfile gpu;
    gpu.id = "toy";
    gpu.prices = {hourly("AWS", "p9.large (us-east-1)", 2.0, "2025-04-28"), hourly("AWS", "p9.large (us-east-1)", 3.0, "2026-07"),
                  hourly("RunPod", "secure pod", 2.5, "2026-09-25"), hourly("RunPod", "community pod", 1.5, "2024-01-01")};
    Price purchase = hourly("", "launch MSRP", 1599, "2022");
    purchase.kind = "purchase";
    gpu.prices.push_back(purchase);
    return gpu;
}

Date day(const char* text) {
    return *parse_date(text);
}
const Date today = day("2026-11-01");

}  // namespace

TEST_CASE("the newest price of an offer stands for it, and the lowest offer is taken") {
    const PriceChoice choice = *find_price(priced(), {}, today);
    // AWS 3.0 (2.0 is superseded), RunPod 2.5 and 1.5.
    CHECK(choice.price.usd.in(usd) == rel(1.5, 1e-12));
    CHECK(choice.offers == 3);
    CHECK(find_price(priced(), {.provider = "aws"}, today)->price.usd.in(usd) == rel(3.0, 1e-12));
    CHECK(find_price(priced(), {.instance = "secure"}, today)->price.usd.in(usd) == rel(2.5, 1e-12));
    CHECK_FALSE(find_price(priced(), {.kind = PriceKind::spot_hour}, today));
    CHECK_FALSE(find_price(priced(), {.provider = "Azure"}, today));
}

TEST_CASE("a price older than a year is flagged, one without a date too") {
    // 2024-01-01 to 2026-11-01: a leap year, a year, and 304 days to 1 November.
    const PriceChoice old = *find_price(priced(), {}, today);
    CHECK(*old.age_days == 366 + 365 + 304);
    CHECK(old.is_old());
    CHECK(contains(described(old), "over a year old"));
    const PriceChoice fresh = *find_price(priced(), {.provider = "RunPod", .instance = "secure"}, today);
    CHECK(*fresh.age_days == 37);
    CHECK_FALSE(fresh.is_old());
    GpuProfile undated;
    undated.prices = {hourly("Lambda", "8x", 0.55, "")};
    const PriceChoice choice = *find_price(undated, {}, today);
    CHECK(choice.undated());
    CHECK_FALSE(choice.is_old());
    CHECK(contains(described(choice), "UNDATED"));
    // A date by the month counts from its first day.
    CHECK(*find_price(priced(), {.provider = "AWS"}, today)->age_days == 31 + 31 + 30 + 31);
    // 365 days are a year, 366 more than one.
    CHECK_FALSE(find_price(priced(), {.provider = "RunPod", .instance = "secure"}, day("2027-09-25"))->is_old());
    CHECK(find_price(priced(), {.provider = "RunPod", .instance = "secure"}, day("2027-09-26"))->is_old());
}

TEST_CASE("a price says what it is, who asks it, when and where it was read") {
    const std::string text = described(*find_price(priced(), {}, today));
    for (const char* part : {"1.5 USD an hour on demand", "RunPod community pod", "2024-01-01", "lowest of 3 offers", "source: a list"})
        CHECK(contains(text, part));
    CHECK(contains(described(*find_price(priced(), {.kind = PriceKind::purchase}, today)), "1599 USD purchase price, launch MSRP, 2022"));
    const PriceChoice given = given_price(PriceKind::on_demand_hour, 2 * usd, "--usd-per-hour");
    CHECK(described(given) == "2 USD an hour on demand, given by --usd-per-hour");
    CHECK_FALSE(given.undated());
    CHECK(rent(given).in(UsDollarsPerSecond{1}) == rel(2.0 / 3600, 1e-12));
}

TEST_CASE("a missing price is refused with what there is and how to give one") {
    const auto message = [](const PriceQuery& query) -> std::string {
        try {
            choose_price(priced(), query, today, "--usd-per-hour");
        } catch (const Error& e) {
            return e.what();
        }
        return "";
    };
    CHECK(contains(message({.kind = PriceKind::spot_hour}), "--usd-per-hour"));
    CHECK(contains(message({.kind = PriceKind::spot_hour}), "on_demand_hour"));
    CHECK(contains(message({.provider = "RunPot"}), "did you mean RunPod?"));
    CHECK(contains(no_price_text({}, {}, "--usd-per-hour"), "give --usd-per-hour"));
}

TEST_CASE("a provider or an instance that no GPU has a price of is refused with those that are known") {
    const std::vector<Gpu> gpus{Gpu{}, Gpu{.profile = priced()}};
    const auto message = [&](const PriceQuery& query) -> std::string {
        try {
            require_offer(gpus, query);
        } catch (const Error& e) {
            return e.what();
        }
        return "";
    };
    CHECK(message({}).empty());
    CHECK(message({.provider = "runpod"}).empty());
    CHECK(contains(message({.provider = "RunPot"}), "provider: "));
    CHECK(contains(message({.provider = "RunPot"}), "did you mean RunPod?"));
    CHECK(contains(message({.provider = "RunPod", .instance = "no such"}), "instance: "));
}

TEST_CASE("community clouds count only where a GPU has no other offer, or when asked for") {
    GpuProfile gpu = priced();
    const ProviderKind kinds[] = {ProviderKind::hyperscaler, ProviderKind::hyperscaler, ProviderKind::specialized, ProviderKind::community};
    for (std::size_t i = 0; i < 4; ++i) gpu.prices[i].provider_kind = kinds[i];
    // AWS 3.0 and RunPod secure 2.5; the community pod at 1.5 is another market.
    const PriceChoice choice = *find_price(gpu, {}, today);
    CHECK(choice.price.usd.in(usd) == rel(2.5, 1e-12));
    CHECK(choice.offers == 2);
    CHECK_FALSE(choice.fallback);
    CHECK(contains(described(choice), "RunPod secure pod, specialized cloud"));
    CHECK(find_price(gpu, {.provider_kind = ProviderKind::hyperscaler}, today)->price.usd.in(usd) == rel(3.0, 1e-12));
    const PriceChoice community = *find_price(gpu, {.provider_kind = ProviderKind::community}, today);
    CHECK(community.price.usd.in(usd) == rel(1.5, 1e-12));
    CHECK_FALSE(community.fallback);
    gpu.prices.erase(gpu.prices.begin(), gpu.prices.begin() + 3);
    const PriceChoice only = *find_price(gpu, {}, today);
    CHECK(only.fallback);
    CHECK(contains(described(only), "NO OTHER CLOUD OFFERS IT"));
    CHECK_FALSE(find_price(gpu, {.provider_kind = ProviderKind::hyperscaler}, today));
    CHECK(contains(no_price_text(gpu, {.provider_kind = ProviderKind::hyperscaler}, "--usd-per-hour"), "known: community"));
    CHECK_FALSE(find_price(gpu, {.kind = PriceKind::purchase}, today)->fallback);
}

TEST_CASE("prices of different kinds of providers are said to be unlike") {
    const auto of = [](std::optional<ProviderKind> kind) {
        PriceChoice choice = *find_price(priced(), {.provider = "AWS"}, today);
        choice.price.provider_kind = kind;
        return std::optional(choice);
    };
    CHECK_FALSE(unlike_prices({{"a", of(ProviderKind::hyperscaler)}, {"b", of(ProviderKind::hyperscaler)}, {"c", std::nullopt}}));
    CHECK_FALSE(
        unlike_prices({{"a", of(ProviderKind::hyperscaler)}, {"b", given_price(PriceKind::on_demand_hour, 2 * usd, "--usd-per-hour")}}));
    const auto text = unlike_prices({{"a", of(ProviderKind::hyperscaler)}, {"b", of(ProviderKind::community)}});
    REQUIRE(text);
    for (const char* part : {"hyperscaler (a)", "community cloud (b)", "`provider_kind`"}) CHECK(contains(*text, part));
}

TEST_CASE("instances are listed whole, with GPUs, price, topology and source") {
    const GpuProfile h100 = load_gpu_profile(test::gpus_dir() / "h100-sxm5-80gb.toml", test::gpus_dir());
    const auto aws = instances(h100, {.provider = "AWS"});
    // p5.4xlarge has one GPU, p5.48xlarge eight: 55.04 USD on 2026-11-09, 98.32 on 2025-04-28.
    REQUIRE(aws.size() == 2);
    CHECK(aws[0].gpus == 1);
    CHECK(aws[0].topology.empty());
    CHECK(aws[1].name == "p5.48xlarge (us-east-1)");
    CHECK(aws[1].gpus == 8);
    CHECK(aws[1].usd.in(usd) == rel(55.04, 1e-12));
    CHECK(aws[1].usd_per_gpu().in(usd) == rel(6.88, 1e-12));
    CHECK(aws[1].rent().in(usd / hour) == rel(55.04, 1e-12));
    CHECK(aws[1].topology == "NVLink switches");
    CHECK(aws[1].date == "2026-11-09");
    CHECK(contains(aws[1].source, "hyperscalers.json"));
    CHECK(aws[1].provider_kind == ProviderKind::hyperscaler);
    for (const Instance& i : instances(h100, {})) CHECK(i.provider_kind != ProviderKind::community);
    CHECK(instances(h100, {.provider_kind = ProviderKind::community}).size() == 1);
    // A third of an A10 is none that a model can have for itself.
    const GpuProfile a10 = load_gpu_profile(test::gpus_dir() / "a10.toml", test::gpus_dir());
    CHECK(find_price(a10, {.kind = PriceKind::spot_hour}, today)->price.usd.in(usd) == rel(0.5034, 1e-4));
    CHECK(instances(a10, {.kind = PriceKind::spot_hour}).empty());
    const auto own = instances(priced(), {.provider = "AWS"});
    REQUIRE(own.size() == 1);
    CHECK(own[0].any_number);
}

TEST_CASE("dates are as precise as known, and anything else is none") {
    CHECK(day("2026") == day("2026-01-01"));
    CHECK(day("2026-07") == day("2026-07-01"));
    CHECK(to_string(day("2024-02-29")) == "2024-02-29");
    CHECK(days_between(day("2024-02-28"), day("2024-03-01")) == 2);
    CHECK(days_between(day("2024-03-01"), day("2024-02-28")) == -2);
    for (const char* wrong : {"", "26", "2026-13", "2026-00", "2025-02-29", "2026-1-1", "2026/01/01", "20260101", "+026", "2026-07-2x",
                              "0001-01-01", "9999", "2026-07-20T00:00"})
        CHECK_FALSE(parse_date(wrong));
}

TEST_CASE("every shipped price has a date that can be read, or none") {
    for (const GpuProfile& gpu : load_gpu_catalogue(test::gpus_dir())) {
        for (const Price& price : gpu.prices) {
            CAPTURE(gpu.id);
            CAPTURE(price.date);
            CHECK((price.date.empty() || parse_date(price.date).has_value()));
            CHECK(parse_price_kind(price.kind).has_value());
        }
    }
}
