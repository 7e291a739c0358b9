#include <doctest/doctest.h>

#include "report/recommendation_tables.hpp"
#include "report/run_parts.hpp"
#include "report/run_reports.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

struct Box {
    std::optional<double> weight;
    std::optional<IntervalRatio> interval;
};

}  // namespace

TEST_CASE("bounds of a figure are its products with the factors, and empty without them") {
    const auto fields = bound_fields<Box>(
        "kg", 4, Show::usual, [](const Box& b) { return cell_of(b.weight); }, [](const Box& b) { return b.interval; });
    const IntervalRatio factors{0.5, 1.5};
    const Table table = table_of(
        {}, std::vector{Box{.weight = 2, .interval = factors}, Box{.weight = 2, .interval = {}}, Box{.weight = {}, .interval = factors}},
        fields);
    CHECK(as_csv(table) == "kg_low,kg_high\n1,3\n,\n,\n");
    CHECK(table.columns[0].title == "80% low");
}

TEST_CASE("fields with the bounds of one of them have these behind it") {
    const Fields<Box> fields{{{"kg", "kg"}, &Box::weight}, {{"label", "label"}, [](const Box&) { return "box"; }}};
    const auto bounded = with_bounds(fields, "kg", Show::wide, [](const Box& b) { return b.interval; });
    const Table table = table_of({}, std::vector{Box{.weight = 4, .interval = IntervalRatio{0.25, 2}}}, bounded);
    CHECK(as_csv(table) == "kg,kg_low,kg_high,label\n4,1,8,box\n");
    CHECK(table.columns[1].show == Show::wide);
}

TEST_CASE("rent per token is counted by the million, and is empty where there are no tokens") {
    const RentalCost rent{.rate = 3.6 * usd_per_hour,
                          .per_item = 0.002 * usd,
                          .per_input_token = 1e-6 * usd,
                          .decode_per_output_token = {},
                          .per_output_token = 2e-6 * usd,
                          .per_token = {}};
    const auto json = json_of(rent, rental_fields());
    CHECK(json["usd_per_hour"].get<double>() == rel(3.6, 1e-12));
    CHECK(json["usd_per_1000_items"].get<double>() == rel(2, 1e-12));
    CHECK(json["prefill_usd_per_million_input_tokens"].get<double>() == rel(1, 1e-12));
    CHECK(json["usd_per_million_output_tokens"].get<double>() == rel(2, 1e-12));
    CHECK(json["usd_per_million_tokens"].is_null());
}

TEST_CASE("a deployment's cost of a million tokens counts the output tokens of its requests") {
    NamedRecommendation named;
    named.answer.output_tokens = 100;
    Deployment d{.parallel = {.tensor = 2, .data = 3}};
    d.cost = DeploymentCost{.rate = 7.2 * usd_per_hour, .per_item = 0.002 * usd};
    const auto json = json_of(d, deployment_fields(named));
    // A request of 100 output tokens costs 0.002 USD.
    CHECK(json["usd_per_million_output_tokens"].get<double>() == rel(20, 1e-12));
    CHECK(json["usd_per_hour"].get<double>() == rel(7.2, 1e-12));
    CHECK(json["gpus"] == 6);
    CHECK(json["instance"].is_null());
    named.answer.output_tokens = 0;
    CHECK(json_of(d, deployment_fields(named))["usd_per_million_output_tokens"].is_null());
}
