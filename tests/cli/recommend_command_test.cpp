#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::rel;

namespace {

const std::string three = "--gpu a100-sxm4-80gb --gpu rtx-4090 --gpu t4 --model llama-3.1-8b --slo ttft=500ms,tpot=40ms ";

json recommended(const std::string& arguments) {
    return json::parse(roofcast::test::printed("recommend --format json --date 2026-11-21 " + arguments));
}

double number(const json& value) {
    return value.get<double>();
}

std::string recommend_refused(const std::string& arguments) {
    return roofcast::test::refused("recommend " + arguments);
}

}  // namespace

TEST_CASE("a recommendation agrees with the prediction and the cost of the same run") {
    const json row = recommended(three)["ranked"][0];
    const std::string run = "cost --format json --date 2026-11-21 --model llama-3.1-8b --gpu " + row["gpu"].get<std::string>() + " --tp " +
                            std::to_string(row["tensor_parallel"].get<int>()) + " --batch " + std::to_string(row["batch"].get<int>()) +
                            " --precision " + row["precision"].get<std::string>();
    const json cost = json::parse(roofcast::test::roofcast(run).output)["rows"][0];
    CHECK(number(row["usd_per_million_output_tokens"]) == rel(number(cost["usd_per_million_output_tokens"]), 1e-9));
    CHECK(number(row["usd_per_hour"]) == rel(number(cost["usd_per_hour"]), 1e-9));
    CHECK(number(row["watts"]) == rel(number(cost["watts_per_gpu"]) * number(row["gpus"]), 1e-9));
    CHECK(number(row["capacity_per_s"]) == rel(number(cost["throughput_per_s"]), 1e-9));
}

TEST_CASE("recommended copies carry the rate, and the budget leaves out what is dearer") {
    const json document = recommended(three + "--rate 20/s");
    REQUIRE_FALSE(document["ranked"].empty());
    for (const json& row : document["ranked"]) {
        CHECK(number(row["capacity_per_s"]) >= 20);
        // An hour has 72,000 requests of 128 tokens.
        CHECK(number(row["usd_per_million_output_tokens"]) == rel(number(row["usd_per_hour"]) / (0.072 * 128), 1e-9));
    }
    const json cheap = recommended(three + "--budget 1");
    REQUIRE_FALSE(cheap["ranked"].empty());
    for (const json& row : cheap["ranked"]) CHECK(number(row["usd_per_hour"]) <= 1);
    CHECK(cheap["misses"][0]["gpu"] == "a100-sxm4-80gb");
    CHECK(cheap["misses"][0]["reason"] == "over_budget");
    CHECK(number(cheap["misses"][0]["nearest"]["excess"]) > 1);
}

TEST_CASE("recommendations with a rate say what was simulated, and what queueing changes") {
    const std::string run = three + "--rate 5/s --batch 4";
    const json document = recommended(run), &queueing = document["queueing"], off = recommended(run + " --queueing off");
    CHECK(queueing["simulated"] == true);
    CHECK(queueing["percentile"] == 99);
    CHECK(queueing["requests"] == 4000);
    CHECK(queueing["seed"] == 0);
    CHECK(number(queueing["simulations"]) > 0);
    const json& best = document["ranked"][0];
    CHECK(number(best["p99_ttft_ms"]) <= 500);
    CHECK(number(best["p99_tpot_ms"]) <= 40);
    CHECK(number(best["data_parallel"]) > number(best["batch_copies"]));
    const std::string reason = best["queueing_reason"];
    CHECK(contains(reason, "P99 TTFT"));
    CHECK(contains(reason, "over 500 ms at 5/s with"));
    CHECK(off["queueing"]["simulated"] == false);
    CHECK(off["ranked"][0]["p99_ttft_ms"].is_null());
    CHECK(number(off["ranked"][0]["usd_per_hour"]) < number(best["usd_per_hour"]));
    const std::string text = roofcast::test::printed("recommend --date 2026-11-21 " + run);
    for (const std::string& part :
         {reason, std::string("4000 requests, Poisson at 5/s, seed 0"), std::string("--max-seqs 4"), std::string("copies rather than")}) {
        CAPTURE(part);
        CHECK(contains(text, part));
    }
    CHECK(text == roofcast::test::printed("recommend --date 2026-11-21 " + run));
    CHECK(contains(roofcast::test::printed("recommend --format csv " + run), reason));
}

TEST_CASE("deployments that only queueing rules out are named with the limit missed") {
    const std::string run = "--gpu h100-pcie-80gb --model llama-3.1-8b --slo ttft=200ms,tpot=30ms --rate 5/s --batch 8 --budget 2";
    const json document = recommended(run), &out = document["queueing"]["overloaded"];
    CHECK(document["ranked"].empty());
    REQUIRE(out.size() == 1);
    CHECK(out[0]["gpu"] == "h100-pcie-80gb");
    CHECK(contains(out[0]["why"], "at 5/s with 1 copy"));
    CHECK(document["misses"][0]["reason"] == "queueing");
    CHECK(document["misses"][0]["nearest"]["outcome"] == "queueing");
    CHECK_FALSE(recommended(run + " --queueing off")["ranked"].empty());
    CHECK(contains(roofcast::test::printed("recommend " + run), "falls out: P99 TTFT"));
}

TEST_CASE("limits by the upper bound are met by the upper bound") {
    const json by_bound = recommended(three + "--by-bound");
    REQUIRE_FALSE(by_bound["ranked"].empty());
    for (const json& row : by_bound["ranked"]) {
        CHECK(number(row["ttft_ms_high"]) <= 500);
        CHECK(number(row["tpot_ms_high"]) <= 40);
    }
}

TEST_CASE("the whole catalogue is gone through, and GPUs without a price are listed") {
    const json document = recommended("--model llama-3.1-8b --slo tpot=50ms");
    CHECK(document["prices"].size() > 50);
    CHECK(document["ranked"].size() == 10);
    const auto& misses = document["misses"];
    const auto unpriced = std::count_if(misses.begin(), misses.end(), [](const json& m) { return m["reason"] == "no_price"; });
    const auto& prices = document["prices"];
    CHECK(unpriced == std::count_if(prices.begin(), prices.end(), [](const json& price) { return price.is_null(); }));
    CHECK(unpriced > 0);
    const std::string text = roofcast::test::roofcast("recommend --date 2026-11-21 --model llama-3.1-8b --slo tpot=50ms").output;
    for (const char* part : {"no price known", "a800", "front", "serve-sim", "days old", "searched: ", "--top"}) {
        CAPTURE(part);
        CHECK(contains(text, part));
    }
}

TEST_CASE("old prices are flagged in recommendations") {
    const auto later = roofcast::test::roofcast("recommend --date 2028-01-01 " + three);
    CHECK(contains(later.output, " OLD"));
    CHECK(contains(later.output, "OLDER THAN A YEAR"));
}

TEST_CASE("models without text are recommended by item, and a limit that nothing meets leaves the ranking empty") {
    const json images = recommended("--model resnet50 --slo latency=50ms --gpu t4 --gpu l4");
    REQUIRE_FALSE(images["ranked"].empty());
    CHECK(images["ranked"][0]["usd_per_million_output_tokens"].is_null());
    CHECK(number(images["ranked"][0]["usd_per_1000_items"]) > 0);
    const json none = recommended("--model resnet50 --slo latency=1us --gpu t4");
    CHECK(none["ranked"].empty());
    CHECK(none["front"].empty());
    CHECK(none["misses"][0]["reason"] == "misses_latency");
    const auto csv = roofcast::test::roofcast("recommend --format csv --model resnet50 --slo latency=1us --gpu t4");
    CHECK(std::count(csv.output.begin(), csv.output.end(), '\n') == 1);
}

TEST_CASE("wrong questions for a recommendation are refused with the option's name") {
    const std::string run = "--gpu t4 --model llama-3.2-1b --slo tpot=50ms ";
    for (const char* option : {"--rate", "--budget", "--top", "--batch", "--prompt"}) {
        for (const char* value : {"0", "-1", "nan", "1e300", "many"}) {
            CAPTURE(option);
            CAPTURE(value);
            CHECK(contains(recommend_refused(run + option + " " + value), option));
        }
    }
    for (const char* option : {"--tp", "--gpus", "--pp", "--dp", "--ep"}) CHECK(contains(recommend_refused(run + option + " 2"), option));
    CHECK(contains(recommend_refused("--gpu t4 --model llama-3.2-1b --slo ttfft=1s"), "did you mean ttft"));
    CHECK(contains(recommend_refused("--gpu t4 --model resnet50 --slo ttft=1s"), "latency=TIME"));
    CHECK(contains(recommend_refused("--gpu t4 --model resnet50"), "--slo"));
    CHECK(contains(recommend_refused("--model resnet50 --slo latency=1s --usd-per-hour 2"), "--usd-per-hour"));
    CHECK(contains(recommend_refused("--gpu t4 --gpu t4 --model resnet50 --slo latency=1s"), "twice"));
    CHECK(contains(recommend_refused("--gpu t44 --model resnet50 --slo latency=1s"), "did you mean"));
    CHECK(contains(recommend_refused(run + "--generate 1"), "tpot"));
    CHECK(contains(recommend_refused("--model llama-3.2-1b --slo tpot=50ms --provider AWSS"), "did you mean AWS?"));
    CHECK(contains(recommend_refused(run + "--prompt 1000000000"), "--prompt"));
}
