#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::rel;

namespace {

const std::string three_gpus = "--gpu a100-sxm4-80gb --gpu rtx-4090 --gpu t4 --model llama-3.1-8b --slo ttft=500ms,tpot=40ms ";

json recommended(const std::string& arguments) {
    return json::parse(roofcast::test::roofcast("recommend --format json --date 2026-11-21 " + arguments).output);
}

double figure(const json& value) {
    return value.get<double>();
}

std::string recommend_refused(const std::string& arguments) {
    return roofcast::test::refused("recommend " + arguments);
}

int exit_code(const std::string& arguments) {
    return roofcast::test::roofcast("recommend " + arguments).exit_code;
}

}  // namespace

TEST_CASE("a recommendation without a rate agrees with the cost of the same run") {
    const json row = recommended(three_gpus)["rows"][0]["expected"];
    const std::string run = "cost --format json --date 2026-11-21 --model llama-3.1-8b --gpu " + row["gpu"].get<std::string>() + " --tp " +
                            std::to_string(row["tensor_parallel"].get<int>()) + " --dp " + std::to_string(row["data_parallel"].get<int>()) +
                            " --batch " + std::to_string(row["batch"].get<int>()) + " --precision " + row["precision"].get<std::string>();
    const json cost = json::parse(roofcast::test::roofcast(run).output)["rows"][0];
    CHECK(figure(row["usd_per_million_output_tokens"]) == rel(figure(cost["usd_per_million_output_tokens"]), 1e-9));
    CHECK(figure(row["usd_per_hour"]) == rel(figure(cost["usd_per_hour"]), 1e-9));
    CHECK(figure(row["capacity_per_s"]) == rel(figure(cost["throughput_per_s"]), 1e-9));
}

TEST_CASE("70B at 5/s takes the GPUs that serve-sim needs, and serve-sim confirms the command that is printed") {
    const std::string run = "--model llama-3.1-70b --slo ttft=500ms,tpot=40ms --rate 5/s --gpu h100 --gpu h200";
    const json document = recommended(run);
    REQUIRE(document["rows"].size() == 2);
    CHECK(document["load"]["simulated"] == true);
    for (const json& row : document["rows"]) {
        const json& d = row["expected"];
        CHECK(figure(d["gpus"]) <= (row["gpu"] == "h200-sxm-141gb" ? 2 : 4));
        CHECK(figure(d["ttft_ms"]) <= 500);
        CHECK(figure(d["tpot_ms"]) <= 40);
        // An hour has 18,000 requests of 128 tokens.
        CHECK(figure(d["usd_per_million_output_tokens"]) == rel(figure(d["usd_per_hour"]) / (0.018 * 128), 1e-9));
        if (!row["upper"].is_null()) CHECK(figure(row["upper"]["usd_per_hour"]) >= figure(d["usd_per_hour"]));
    }
    const std::string text = roofcast::test::printed("recommend " + run);
    const std::string mark = "Check the first row with: roofcast ";
    const auto start = text.find(mark);
    REQUIRE(start != std::string::npos);
    const std::string command = text.substr(start + mark.size(), text.find('\n', start) - start - mark.size());
    const json served = json::parse(roofcast::test::printed(command + " --format json"));
    const json& best = document["rows"][0]["expected"];
    CHECK(best == document["cheapest"]["expected"]);
    const auto& metrics = served["latencies"];
    const auto ttft = std::find_if(metrics.begin(), metrics.end(), [](const json& m) { return m["metric"] == "TTFT"; });
    REQUIRE(ttft != metrics.end());
    CHECK(figure((*ttft)["p99_ms"]) == rel(figure(best["ttft_ms"]), 1e-9));
}

TEST_CASE("--confidence chooses which deployment ranks and decides the exit code") {
    const std::string run = "--gpu h100-sxm5-80gb --model llama-3.1-8b --rate 2 --slo ";
    const json loose = recommended(run + "tpot=1s");
    const double alone = figure(loose["cheapest"]["expected"]["tpot_ms"]), upper = figure(loose["cheapest"]["upper"]["tpot_ms"]);
    CHECK(upper > 1.02 * alone);
    // Between a lone request's time with eight GPUs, which is shorter, and its upper bound.
    const json both = recommended(run + "tpot=1s --tp 1");
    const double between = (figure(both["cheapest"]["expected"]["tpot_ms"]) + figure(both["cheapest"]["upper"]["tpot_ms"])) / 2;
    const std::string limit = run + "tpot=" + std::to_string(between) + "ms --tp 1 --max-gpus 1 ";
    CHECK(exit_code(limit) == 0);
    CHECK(exit_code(limit + "--confidence upper") == 1);
    const json none = recommended(limit + "--confidence upper");
    CHECK(none["rows"].empty());
    CHECK(none["cheapest"]["upper"].is_null());
    CHECK_FALSE(none["cheapest"]["expected"].is_null());
    CHECK(none["objective"]["confidence"] == "upper");
    REQUIRE(none["rejected"].size() == 1);
    CHECK(contains(roofcast::test::roofcast("recommend " + limit).output, "cheapest, upper bound  none"));
}

TEST_CASE("a recommendation has one row for each GPU, and with --all one for each way of running") {
    const json one = recommended(three_gpus + "--rate 5/s"), all = recommended(three_gpus + "--rate 5/s --all");
    CHECK(one["rows"].size() + one["rejected"].size() == 3);
    CHECK(all["rows"].size() > one["rows"].size());
    CHECK(all["cheapest"] == one["cheapest"]);
    CHECK(recommended(three_gpus + "--rate 5/s --all --top 2")["rows"].size() == 2);
    const json fixed = recommended(three_gpus + "--rate 5/s --all --tp 4");
    for (const json& row : fixed["rows"]) CHECK(row["expected"]["tensor_parallel"] == 4);
    const json few = recommended(three_gpus + "--rate 40/s --max-gpus 2");
    for (const json& row : few["rows"]) CHECK(figure(row["expected"]["gpus"]) <= 2);
}

TEST_CASE("the budget leaves out what is dearer, and says of which GPUs") {
    const json cheap = recommended(three_gpus + "--budget 1");
    REQUIRE_FALSE(cheap["rows"].empty());
    for (const json& row : cheap["rows"]) CHECK(figure(row["expected"]["usd_per_hour"]) <= 1);
    const auto& rejected = cheap["rejected"];
    CHECK(std::any_of(rejected.begin(), rejected.end(),
                      [](const json& r) { return r["gpu"] == "a100-sxm4-80gb" && r["reason"] == "over_budget"; }));
}

TEST_CASE("rates and limits are understood as people write them") {
    const std::string gpu = "--gpu rtx-4090 --model llama-3.1-8b ";
    const json usual = recommended(gpu + "--slo ttft=500ms,tpot=40ms --rate 5/s");
    for (const char* other : {"--slo TTFT=0.5s,TPOT=40MS --rate 5", "--slo ttft=500000us,Tpot=0.04s --rate 300/min",
                              "--slo ttft=500ms,tpot=40ms --rate 18000/h"}) {
        CAPTURE(other);
        CHECK(recommended(gpu + other)["rows"] == usual["rows"]);
    }
    CHECK(recommended(gpu + "--slo tpot=40ms --rate 5 --engine vllm")["rows"] ==
          recommended(gpu + "--slo tpot=40ms --rate 5 --software vllm")["rows"]);
}

TEST_CASE("a catalogue's recommendation shows ten GPUs and lists those without a price") {
    const json document = recommended("--model llama-3.1-8b --slo tpot=50ms");
    CHECK(document["prices"].size() > 50);
    CHECK(document["rows"].size() == 10);
    CHECK(figure(document["rows_in_all"]) > 10);
    const auto& rejected = document["rejected"];
    const auto unpriced = std::count_if(rejected.begin(), rejected.end(), [](const json& m) { return m["reason"] == "no_price"; });
    const auto& prices = document["prices"];
    CHECK(unpriced == std::count_if(prices.begin(), prices.end(), [](const json& price) { return price.is_null(); }));
    CHECK(unpriced > 0);
    const std::string text = roofcast::test::printed("recommend --date 2026-11-21 --model llama-3.1-8b --slo tpot=50ms");
    for (const char* part : {"no price is known (", "a800", "price: ", "The search covers ", "--top", "simulated: no --rate"}) {
        CAPTURE(part);
        CHECK(contains(text, part));
    }
    // A GPU that is named takes part without a price, by the number of GPUs.
    const json named = recommended("--gpu a800 --model llama-3.1-8b --slo ttft=500ms,tpot=40ms --rate 5");
    REQUIRE(named["rows"].size() == 1);
    CHECK(figure(named["rows"][0]["expected"]["gpus"]) >= 1);
    CHECK(named["rows"][0]["expected"]["usd_per_hour"].is_null());
}

TEST_CASE("old prices are flagged in recommendations") {
    CHECK(contains(roofcast::test::roofcast("recommend --date 2028-01-01 " + three_gpus).output, "more than a year old"));
}

TEST_CASE("models without text are recommended by item, and a limit that nothing meets is an answer of no") {
    const json images = recommended("--model resnet50 --slo latency=50ms --gpu t4 --gpu l4");
    REQUIRE_FALSE(images["rows"].empty());
    CHECK(images["rows"][0]["expected"]["usd_per_million_output_tokens"].is_null());
    CHECK(figure(images["rows"][0]["expected"]["usd_per_1000_items"]) > 0);
    const std::string impossible = "--model resnet50 --slo latency=1us --gpu t4";
    const json none = recommended(impossible);
    CHECK(none["rows"].empty());
    CHECK(none["rejected"][0]["reason"] == "misses_latency");
    CHECK(figure(none["rejected"][0]["excess"]) > 1);
    CHECK(exit_code(impossible) == 1);
    CHECK(contains(roofcast::test::roofcast("recommend " + impossible).output, "misses latency (1 GPU): t4 ("));
    const auto csv = roofcast::test::roofcast("recommend --format csv " + impossible);
    CHECK(std::count(csv.output.begin(), csv.output.end(), '\n') == 1);
}

TEST_CASE("rows of a recommendation in CSV have both deployments") {
    const std::string csv = roofcast::test::printed("recommend --format csv --date 2026-11-21 " + three_gpus + "--rate 5/s");
    for (const char* column : {"rank,gpu,gpus,", ",usd_per_hour,", ",upper_gpus,", ",upper_usd_per_hour,"}) {
        CAPTURE(column);
        CHECK(contains(csv, column));
    }
}

TEST_CASE("wrong questions for a recommendation are refused with the option's name") {
    const std::string run = "--gpu t4 --model llama-3.2-1b --slo tpot=50ms ";
    for (const char* option : {"--rate", "--budget", "--top", "--batch", "--prompt", "--max-gpus", "--tp"}) {
        for (const char* value : {"0", "-1", "nan", "1e300", "many"}) {
            CAPTURE(option);
            CAPTURE(value);
            CHECK(contains(recommend_refused(run + option + " " + value), option));
        }
    }
    for (const char* option : {"--gpus", "--dp", "--ep"}) CHECK(contains(recommend_refused(run + option + " 2"), option));
    CHECK(contains(recommend_refused(run + "--confidence sure"), "--confidence"));
    for (const char* rate : {"5/day", "5/", "/s", "5 / s", "5/s/s"}) {
        CAPTURE(rate);
        CHECK(contains(recommend_refused(run + "--rate '" + rate + "'"), "300/min"));
    }
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

TEST_CASE("the command that checks a recommendation has all that was asked, quoted as shells want it") {
    const std::string text = roofcast::test::printed(
        "recommend --model llama-3.1-8b --gpu h100-sxm5-80gb --slo ttft=2s --rate 1/s --software 'vllm 0.9.2' --kv fp8");
    CHECK(contains(text, "--kv fp8 --software 'vllm 0.9.2'"));
}

TEST_CASE("a recommendation holds in the simulation that checks it, whichever engine runs it") {
    for (const std::string engine : {"", "vllm", "sglang", "tensorrt-llm"}) {
        CAPTURE(engine);
        const std::string run =
            "--gpu h100-sxm5-80gb --model llama-3.1-8b --rate 4/s --slo ttft=1s,tpot=40ms --prompt 1000 --generate 100" +
            (engine.empty() ? "" : " --software " + engine);
        const json best = recommended(run)["rows"][0]["expected"];
        const std::string text = roofcast::test::printed("recommend --date 2026-11-21 " + run),
                          start = "Check the first row with: roofcast ";
        const auto at = text.find(start);
        REQUIRE(at != std::string::npos);
        const std::string check = text.substr(at + start.size(), text.find('\n', at) - at - start.size());
        const json latencies = json::parse(roofcast::test::printed(check + " --format json"))["latencies"];
        CHECK(figure(best["ttft_ms"]) == rel(figure(latencies[0]["p99_ms"]), 1e-9));
        CHECK(figure(best["tpot_ms"]) == rel(figure(latencies[1]["p99_ms"]), 1e-9));
    }
}
