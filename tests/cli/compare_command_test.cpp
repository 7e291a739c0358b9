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

namespace {

json compared(const std::string& arguments) {
    return json::parse(roofcast::test::printed("compare --format json --date 2026-11-21 " + arguments));
}

const json& policy(const json& document, const std::string& name) {
    for (const json& p : document["policies"]) {
        if (p["policy"] == name) return p;
    }
    FAIL("no such policy");
    return document;
}

std::string compare_refused(const std::string& arguments) {
    return roofcast::test::refused("compare " + arguments);
}

}  // namespace

TEST_CASE("a comparison has equal settings, each GPU's best, and what a dollar buys") {
    const json document = compared("--gpu a100-sxm4-80gb --gpu t4 --model bert-base --items 500");
    const json &baseline = policy(document, "baseline")["rows"], &optimized = policy(document, "optimized")["rows"],
               &cost = policy(document, "cost")["rows"];
    for (const char* key : {"precision", "batch", "execution"}) CHECK(baseline[0][key] == baseline[1][key]);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(as_number(optimized[i]["items_per_minute"]) >= as_number(baseline[i]["items_per_minute"]));
        CHECK(as_number(cost[i]["items_per_usd"]) == rel(1 / as_number(cost[i]["usd_per_item"]), 1e-9));
        CHECK_FALSE(optimized[i]["choices"].empty());
    }
    // Batch 1: 500 batches, and the first run's extra.
    CHECK(as_number(baseline[0]["job_s"]) > 0.5 * as_number(baseline[0]["time_per_item_ms"]));
    CHECK(as_number(baseline[1]["speedup"]) ==
          rel(as_number(baseline[0]["time_per_item_ms"]) / as_number(baseline[1]["time_per_item_ms"]), 1e-9));
    CHECK(as_number(baseline[1]["speedup_low"]) < as_number(baseline[1]["speedup_high"]));
    CHECK(document["prices"]["t4"]["date"].is_string());
}

TEST_CASE("figures of the baseline are those of predict") {
    const json row = policy(compared("--gpu a100-sxm4-80gb --gpu h100-sxm5-80gb --model llama-3.1-8b --batch 4"), "baseline")["rows"][0];
    const auto result = roofcast::test::roofcast("predict --format json --gpu a100-sxm4-80gb --model llama-3.1-8b --batch 4");
    const json p = roofcast::test::only_prediction(result.output);
    CHECK(as_number(row["latency_ms"]) == rel(as_number(p["latency_ms"]), 1e-12));
    CHECK(as_number(row["tokens_per_s"]) == rel(as_number(p["tokens_per_s"]), 1e-12));
    CHECK(as_number(row["items_per_minute"]) == rel(60 * as_number(p["throughput_per_s"]), 1e-12));
    CHECK(as_number(row["memory_percent"]) == rel(100 * as_number(p["memory_gb"]) / as_number(p["capacity_gb"]), 1e-12));
    CHECK(as_number(row["time_per_item_ms"]) == rel(as_number(p["latency_ms"]) / 4, 1e-12));
}

TEST_CASE("a comparison whose interval contains 1 says that it is undecided") {
    const json document = compared("--gpu rtx-3090 --gpu rtx-3090-ti --model resnet50 --policy baseline");
    const json &baseline = policy(document, "baseline"), &row = baseline["rows"][1];
    REQUIRE(as_number(row["speedup_low"]) < 1);
    REQUIRE(as_number(row["speedup_high"]) > 1);
    CHECK(row["speedup_decides"] == false);
    CHECK(contains(baseline["undecided"][0], "is undecided"));
    const auto text = roofcast::test::roofcast("compare --gpu rtx-3090 --gpu rtx-3090-ti --model resnet50 --policy baseline");
    CHECK(contains(text.output, "The speed-up of rtx-3090-ti against rtx-3090 is undecided: its interval contains 1."));
    CHECK(contains(text.output, "speed-up  80% low  80% high  decided"));
}

TEST_CASE("what a dollar buys is decided by the interval of items per dollar, not by that of the speeds") {
    const json document = compared("--gpu a100-sxm4-80gb --gpu t4 --gpu rtx-4090 --model bert-large --policy all");
    const json& cost = policy(document, "cost");
    std::size_t open = 0;
    for (const json& row : cost["rows"]) {
        if (row["items_per_usd_ratio_decides"] == false) ++open;
    }
    CHECK(cost["undecided"].size() == open);
}

TEST_CASE("a GPU that cannot run it has a row with the reason, and the rest is compared") {
    const json rows = policy(compared("--gpu t4 --gpu a100-sxm4-80gb --gpu rtx-4090 --model llama-3.1-8b --policy baseline"), "baseline");
    CHECK(rows["reference"] == "a100-sxm4-80gb");
    CHECK(contains(rows["rows"][0]["reason"], "GB of 15.9"));
    CHECK(rows["rows"][0]["latency_ms"].is_null());
    CHECK_FALSE(rows["rows"][2]["speedup"].is_null());
    const json lacking = policy(compared("--gpu v100-sxm2-32gb --gpu a100-sxm4-80gb --model bert-base --precision bf16"), "optimized");
    CHECK(contains(lacking["rows"][0]["reason"], "no arithmetic"));
}

TEST_CASE("policies can be asked for one by one") {
    const std::string gpus = "--gpu a100-sxm4-80gb --gpu t4 --model resnet50 --policy ";
    CHECK(compared(gpus + "baseline")["policies"].size() == 1);
    CHECK(compared(gpus + "baseline")["grid"].is_null());
    CHECK(compared(gpus + "optimized")["policies"].size() == 1);
    CHECK(compared(gpus + "cost")["policies"][0]["policy"] == "cost");
    CHECK(compared(gpus + "all")["policies"].size() == 3);
    const json both = compared(gpus + "both")["policies"];
    REQUIRE(both.size() == 2);
    CHECK(both[0]["policy"] == "baseline");
    CHECK(both[1]["policy"] == "optimized");
    const auto csv = roofcast::test::roofcast("compare --format csv " + gpus + "all");
    CHECK(std::count(csv.output.begin(), csv.output.end(), '\n') == 5);
    CHECK(csv.output.starts_with("policy,gpu,precision"));
    CHECK(contains(csv.output, "rental_price_date"));
    const auto cost = roofcast::test::roofcast("compare --format csv " + gpus + "cost");
    CHECK(contains(cost.output, "items_per_usd_ratio_low"));
}

TEST_CASE("offloading is a setting of the search, with its reason, in text, JSON and CSV") {
    const std::string run = "--gpu t4 --gpu a100-sxm4-80gb --model llama-3.1-8b --precision fp16 --weights fp16 --policy optimized";
    const json rows = policy(compared(run), "optimized")["rows"];
    const double percent = as_number(rows[0]["offload_percent"]);
    CHECK(percent > 0);
    CHECK(rows[1]["offload_percent"] == 0);
    const std::string reason = rows[0]["choices"][0];
    CHECK(contains(reason, "of the layers' weights because fp16"));
    // The share shown is one that predict takes, and fits.
    const std::string asked = " --precision fp16 --weights fp16 --batch " + std::to_string(rows[0]["batch"].get<int>()) + " --execution " +
                              rows[0]["execution"].get<std::string>() + " --offload " + std::to_string(percent / 100);
    const json p = roofcast::test::only_prediction(roofcast::test::printed("predict --format json --gpu t4 --model llama-3.1-8b" + asked));
    CHECK(as_number(p["latency_ms"]) == rel(as_number(rows[0]["latency_ms"]), 1e-9));
    CHECK(as_number(p["memory_gb"]) <= 16);
    const std::string text = roofcast::test::printed("compare " + run), csv = roofcast::test::printed("compare --format csv " + run);
    CHECK(contains(text, "offload %"));
    CHECK(contains(text, reason));
    CHECK(contains(text, "pinned host memory"));
    CHECK(contains(csv, "offload_percent"));
    CHECK(contains(csv, reason));
    const json fixed = policy(compared(run + " --offload 0"), "optimized")["rows"][0];
    CHECK(fixed["offload_percent"].is_null());
    CHECK(contains(fixed["reason"], "GB of 15.9"));
}

TEST_CASE("a comparison is the same every time") {
    const std::string run = "compare --gpu t4 --gpu a100-sxm4-80gb --model llama-3.1-8b --allow-quantization --date 2026-11-21";
    CHECK(roofcast::test::roofcast(run).output == roofcast::test::roofcast(run).output);
}

TEST_CASE("comparisons that make no sense are refused") {
    const std::string two = "--gpu a100 --gpu t4 --model resnet50 ";
    CHECK(contains(compare_refused("--gpu a100 --model resnet50"), "two or more"));
    CHECK(contains(compare_refused("--gpu a100 --gpu a100-sxm4-80gb --model resnet50"), "twice"));
    CHECK(contains(compare_refused(two + "--policy best"), "--policy"));
    CHECK(contains(compare_refused(two + "--objective speed"), "--objective"));
    CHECK(contains(compare_refused(two + "--items 0"), "--items"));
    CHECK(contains(compare_refused(two + "--items -5"), "--items"));
    CHECK(contains(compare_refused(two + "--items 99999999999999999999"), "--items"));
    CHECK(contains(compare_refused(two + "--items nan"), "--items"));
    CHECK(contains(compare_refused(two + "--batch 0"), "--batch"));
    CHECK(contains(compare_refused(two + "--prompt 5"), "--prompt"));
    CHECK(contains(compare_refused(two + "--usd-per-hour nan"), "--usd-per-hour"));
    CHECK(contains(compare_refused(two + "--software none"), "--software"));
}
