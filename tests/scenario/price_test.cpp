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
    CHECK(contains(described(old), "OLDER THAN A YEAR"));
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
    CHECK(contains(message({.provider = "RunPot"}), "--provider"));
    CHECK(contains(message({.provider = "RunPot"}), "did you mean RunPod?"));
    CHECK(contains(message({.provider = "RunPod", .instance = "no such"}), "--instance"));
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
