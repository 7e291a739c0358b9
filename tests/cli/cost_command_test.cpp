#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/json_number.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::as_number;
using roofcast::test::contains;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

json costs(const std::string& arguments, const std::string& date = "2026-11-21") {
    return json::parse(roofcast::test::printed("cost --format json --date " + date + " " + arguments));
}

std::string cost_refused(const std::string& arguments) {
    return roofcast::test::refused("cost " + arguments);
}

}  // namespace

TEST_CASE("the cost of an item is the rent over what the prediction says is done in an hour") {
    const json row = costs("--gpu rtx-4090 --model resnet50 --batch 8 --usd-per-hour 0.36 --utilization 0.5")["rows"][0];
    // Half of each hour's 3600 s at work.
    const double items_per_hour = 0.5 * 3600 * as_number(row["throughput_per_s"]);
    CHECK(as_number(row["usd_per_item"]) == rel(0.36 / items_per_hour, 1e-9));
    CHECK(as_number(row["usd_per_1000_items"]) == rel(360 / items_per_hour, 1e-9));
    CHECK(as_number(row["usd_per_1000_items_low"]) < as_number(row["usd_per_1000_items_high"]));
    CHECK(row["rental_price"]["source"] == "given by --usd-per-hour");
    CHECK(row["usd_per_million_output_tokens"].is_null());
}

TEST_CASE("prices of input and output tokens add up to the price of a request") {
    const json row = costs("--gpu a100-sxm4-80gb --model llama-3.1-8b --batch 4 --prompt 512 --generate 128 --usd-per-hour 2")["rows"][0];
    const double request =
        512e-6 * as_number(row["prefill_usd_per_million_input_tokens"]) + 128e-6 * as_number(row["decode_usd_per_million_output_tokens"]);
    CHECK(request == rel(as_number(row["usd_per_item"]), 1e-9));
    CHECK(as_number(row["usd_per_million_output_tokens"]) == rel(1e6 * request / 128, 1e-9));
    CHECK(as_number(row["usd_per_million_tokens"]) == rel(1e6 * request / 640, 1e-9));
    // A batch of 4 at 2 USD an hour.
    CHECK(request == rel(2.0 / 3600 / as_number(row["throughput_per_s"]), 1e-9));
}

TEST_CASE("rent and energy are those of all GPUs of the run") {
    const json one = costs("--gpu a100-sxm4-80gb --model llama-3.1-8b --usd-per-hour 2")["rows"][0],
               two = costs("--gpu a100-sxm4-80gb --model llama-3.1-8b --usd-per-hour 2 --dp 2")["rows"][0];
    CHECK(two["gpus"] == 2);
    CHECK(as_number(two["usd_per_hour"]) == rel(4, 1e-9));
    CHECK(as_number(two["usd_per_item"]) == rel(as_number(one["usd_per_item"]), 1e-9));
    CHECK(as_number(two["joules_per_item"]) == rel(as_number(one["joules_per_item"]), 1e-9));
    CHECK(as_number(two["joules_per_batch"]) == rel(2 * as_number(one["joules_per_batch"]), 1e-9));
}

TEST_CASE("owning is set against renting with every assumption stated") {
    const std::string arguments =
        "--gpu rtx-4090 --model resnet50 --usd-per-hour 1 --purchase-usd 8766 --life-years 1 --electricity 0.1 --pue 1 --horizon-years 2";
    const json document = costs(arguments), row = document["rows"][0];
    const double electricity = as_number(row["watts_per_gpu"]) / 1000 * 0.1;
    CHECK(as_number(row["depreciation_usd_per_hour"]) == rel(1, 1e-9));
    CHECK(as_number(row["electricity_usd_per_hour"]) == rel(electricity, 1e-9));
    CHECK(as_number(row["break_even_hours"]) == rel(8766 / (1 - electricity), 1e-9));
    // Two years of 8766 hours; nothing is left of the purchase.
    CHECK(as_number(row["return_on_investment_percent"]) == rel(100 * (2 * (1 - electricity) - 1), 1e-9));
    CHECK(document["assumptions"]["electricity_usd_per_kwh"] == 0.1);
    CHECK(document["currency"] == "USD");
    const std::string text = roofcast::test::roofcast("cost --date 2026-11-21 " + arguments).output;
    for (const char* part :
         {"US dollars", "2026-11-21", "work in 100 % of the paid hours", "0.1 USD/kWh (given", "PUE of 1 (given", "draws 0 W"}) {
        CAPTURE(part);
        CHECK(contains(text, part));
    }
}

TEST_CASE("a price older than a year is flagged, and the lowest says that it is") {
    const json row = costs("--gpu rtx-4090 --model resnet50")["rows"][0];
    CHECK(row["purchase_price"]["older_than_a_year"] == true);
    CHECK(row["rental_price"]["older_than_a_year"] == false);
    const std::string text = roofcast::test::roofcast("cost --gpu rtx-4090 --gpu t4 --model resnet50 --date 2026-11-21").output;
    CHECK(contains(text, "over a year old"));
    CHECK(contains(text, "lowest of"));
    const json later = costs("--gpu rtx-4090 --model resnet50", "2027-11-21")["rows"][0];
    CHECK(later["rental_price"]["older_than_a_year"] == true);
    CHECK(costs("--gpu t4 --model resnet50")["rows"][0]["rental_price"]["offers"].get<int>() > 1);
}

TEST_CASE("a missing price is a note if other rows have one, and an error when no row has any") {
    const json rows = costs("--gpu a800 --gpu rtx-4090 --model resnet50")["rows"];
    CHECK(rows[0]["usd_per_hour"].is_null());
    CHECK(contains(rows[0]["notes"][0], "--usd-per-hour"));
    CHECK_FALSE(rows[1]["usd_per_hour"].is_null());
    CHECK(contains(cost_refused("--gpu a800 --model resnet50"), "--usd-per-hour"));
    CHECK(contains(cost_refused("--gpu a100-sxm4-80gb --model resnet50 --provider Lamda"), "did you mean Lambda"));
    const auto large = roofcast::test::roofcast("cost --gpu a100-sxm4-80gb --model llama-3.1-70b");
    CHECK(large.exit_code == 1);
    CHECK(contains(large.output, "It does not fit: needs 14"));
}

TEST_CASE("a profile of five lines can be costed with prices from the command line") {
    const TemporaryFile profile("mine.toml",
                                "name = \"Mine\"\narchitecture = \"ampere\"\nmemory_gb = 80\ncompute_tflops = 312\n"
                                "memory_bandwidth_gbps = 2039\n");
    const json row = costs("--gpu " + profile.path().string() + " --model bert-base --usd-per-hour 1 --purchase-usd 5000")["rows"][0];
    CHECK(as_number(row["usd_per_hour"]) == rel(1, 1e-12));
    CHECK_FALSE(row["assumed"].empty());
}

TEST_CASE("costs out of range are refused with the option's name") {
    const std::string run = "--gpu a100 --model resnet50 ";
    for (const char* option :
         {"--usd-per-hour", "--purchase-usd", "--utilization", "--electricity", "--pue", "--life-years", "--horizon-years"}) {
        for (const char* value : {"0", "-1", "nan", "inf", "1e300", "many"}) {
            CAPTURE(option);
            CAPTURE(value);
            CHECK(contains(cost_refused(run + option + " " + value), option));
        }
    }
    for (const char* value : {"-1", "nan", "inf", "1e300"}) {
        CHECK(contains(cost_refused(run + "--residual " + value), "--residual"));
        CHECK(contains(cost_refused(run + "--host-watts " + value), "--host-watts"));
    }
    CHECK(contains(cost_refused(run + "--price spott"), "did you mean spot"));
    CHECK(contains(cost_refused(run + "--date yesterday"), "--date"));
    CHECK(contains(cost_refused(run + "--usd-per-hour 1 --provider AWS"), "--provider"));
    CHECK(contains(cost_refused(run + "--usd-per-hour many"), "a number is needed"));
}

TEST_CASE("CSV of costs has a header and a row for each run") {
    const auto result =
        roofcast::test::roofcast("cost --format csv --gpu a100 --gpu t4 --model resnet50 --precision fp16 --date 2026-11-21");
    CHECK(result.exit_code == 0);
    CHECK(std::count(result.output.begin(), result.output.end(), '\n') == 3);
    CHECK(contains(result.output, "rental_price_date"));
}
