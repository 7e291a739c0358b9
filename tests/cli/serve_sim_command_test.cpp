#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::refused;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

const std::string base = "serve-sim --gpu a100-sxm4-80gb --model llama-3.1-8b ";

json served(const std::string& arguments) {
    return json::parse(roofcast::test::printed(base + arguments + " --format json"));
}

}  // namespace

TEST_CASE("serve-sim of requests far apart says what predict says") {
    // One request in a million seconds meets no other.
    const json sim = served("--rate 0.000001 --requests 20 --prompt 700 --generate 100");
    const auto result =
        roofcast::test::roofcast("predict --gpu a100-sxm4-80gb --model llama-3.1-8b --prompt 700 --generate 100 --format json");
    const json alone = roofcast::test::only_prediction(result.output);
    CHECK(sim["latencies"][0]["metric"] == "TTFT");
    CHECK(sim["latencies"][0]["p99_ms"].get<double>() == rel(alone["ttft_ms"].get<double>(), 0.01));
    CHECK(sim["latencies"][1]["mean_ms"].get<double>() == rel(alone["tpot_ms"].get<double>(), 0.01));
    CHECK(sim["latencies"][2]["p50_ms"].get<double>() == rel(alone["latency_ms"].get<double>(), 0.01));
    // Loads differ in more than the time of steps: the interval holds that of the single run, and is no wider by more than served_tpot.
    const double low = sim["latencies"][2]["mean_ms_low"].get<double>() / alone["latency_ms_low"].get<double>();
    const double high = sim["latencies"][2]["mean_ms_high"].get<double>() / alone["latency_ms_high"].get<double>();
    CHECK(low < 0.99);
    CHECK(low > 0.88);
    CHECK(high > 1.01);
    CHECK(high < 1.13);
    CHECK(sim["loads"][0]["mean_batch"].get<double>() == rel(1, 1e-9));
    CHECK(sim["interval_percent"] == 80);
    CHECK_FALSE(sim["assumptions"].empty());
}

TEST_CASE("serve-sim of a vision-language model counts its images in prompts, cache and time") {
    const std::string what = "--gpu rtx-4090 --model qwen2.5-vl-3b --prompt 60 --generate 128 --images 2 --image-size 448 --format json";
    const json sim = json::parse(roofcast::test::printed("serve-sim --rate 0.000001 --requests 20 " + what));
    const json alone = roofcast::test::only_prediction(roofcast::test::printed("predict " + what));
    CHECK(sim["requests"]["image_tokens"] == 2 * 16 * 16);  // patches of 14, four to a token
    CHECK(sim["requests"]["mean_prompt_tokens"] == 60 + 512);
    CHECK(sim["latencies"][0]["p50_ms"].get<double>() == rel(alone["ttft_ms"].get<double>(), 0.01));
    CHECK(sim["latencies"][1]["mean_ms"].get<double>() == rel(alone["tpot_ms"].get<double>(), 0.01));
    CHECK(contains(sim["assumptions"].dump(), "2 images of 448 pixels a side, 512 tokens"));
    const json usual = json::parse(
        roofcast::test::printed("serve-sim --rate 0.000001 --requests 20 --gpu rtx-4090 --model qwen2.5-vl-3b --prompt 60 --format json"));
    CHECK(contains(usual["assumptions"].dump(), "1 image of 448 pixels a side, 256 tokens"));
    // Longer steps begin more prompts, and encode their images.
    const json longer = json::parse(roofcast::test::printed("serve-sim --rate 0.000001 --requests 20 --max-tokens 32768 " + what));
    CHECK(longer["memory"]["activations_gb"].get<double>() > 2 * sim["memory"]["activations_gb"].get<double>());
    const std::string base_run = "serve-sim --gpu a100-sxm4-80gb --rate 1 --model ";
    CHECK(contains(refused(base_run + "llama-3.2-11b-vision"), "cross-attention"));
    const auto large = roofcast::test::roofcast(base_run + "qwen2.5-vl-3b --image-size 4004 --chunked-prefill off", true);
    CHECK(large.exit_code == 1);
    CHECK(contains(large.output, "--image-size"));
    const json text =
        json::parse(roofcast::test::printed("serve-sim --gpu rtx-4090 --model qwen2.5-3b --rate 1 --requests 20 --format json"));
    CHECK(text["requests"]["image_tokens"] == 0);
    CHECK(sim["memory"]["weights_gb"].get<double>() > text["memory"]["weights_gb"].get<double>());
}

TEST_CASE("serve-sim prints the same twice, and a different seed prints something else") {
    const std::string run = base + "--rate 6/s --requests 500 --prompt-cv 0.5 --generate-cv 0.5 --format csv";
    const std::string one = roofcast::test::roofcast(run).output;
    CHECK(std::count(one.begin(), one.end(), '\n') == 2);
    CHECK(one == roofcast::test::roofcast(run).output);
    CHECK(one != roofcast::test::roofcast(run + " --seed 1").output);
}

TEST_CASE("serve-sim counts requests beyond an objective, each limit apart and together") {
    const json misses = served("--rate 12 --requests 2000 --slo ttft=80ms,tpot=22ms,latency=100s")["objectives"];
    REQUIRE(misses.size() == 4);
    const auto missed = [&misses](std::size_t i) { return misses[i]["missed_percent"].get<double>(); };
    CHECK(misses[0]["limit_ms"].get<double>() == rel(80, 1e-12));
    CHECK(missed(0) > 0);
    CHECK(missed(1) > 0);
    CHECK(missed(2) == 0);
    CHECK(missed(3) >= std::max(missed(0), missed(1)));
    CHECK(missed(3) <= missed(0) + missed(1));
    CHECK(served("--rate 1 --requests 10")["objectives"].empty());
}

TEST_CASE("serve-sim finds the highest rate that meets an objective") {
    const json sim = served("--find-rate --requests 1000 --slo ttft=200ms,tpot=30ms --slo-share 0.95");
    const double rate = sim["rate_search"]["highest_rate_per_s"];
    CHECK(rate > 1);
    CHECK(rate < sim["rate_search"]["saturated_per_s"].get<double>());
    CHECK(sim["objectives"].back()["objective"] == "any");
    CHECK(sim["objectives"].back()["missed_percent"].get<double>() <= 5);
    const auto never = roofcast::test::roofcast(base + "--find-rate --requests 100 --slo ttft=1us --format json");
    CHECK(never.exit_code == 1);
    CHECK(json::parse(never.output)["rate_search"]["highest_rate_per_s"].is_null());
    CHECK(contains(roofcast::test::roofcast(base + "--find-rate --requests 100 --slo ttft=1us").output, "highest rate     none"));
}

TEST_CASE("serve-sim reads a trace, and counts what can never be served") {
    const TemporaryFile trace("trace.csv", "arrival_s,prompt_tokens,output_tokens\n10,100,10\n10.5,200000,5\n11,50,1\n");
    const json sim = served("--trace " + trace.path().string());
    CHECK(sim["arrivals"]["kind"] == "trace");
    CHECK(sim["requests"]["served"] == 2);
    CHECK(sim["requests"]["refused_context"] == 1);
    CHECK(sim["requests"]["mean_prompt_tokens"] == 75);
    CHECK(contains(roofcast::test::roofcast(base + "--trace " + trace.path().string()).output, "refused: 1 of 3 requests"));
    const TemporaryFile bad("trace.csv", "arrival_s,prompt_tokens,output_tokens\n10,100,10\n11,-5,1\n");
    CHECK(contains(refused(base + "--trace " + bad.path().string()), "trace.csv:3"));
    CHECK(contains(refused(base + "--trace /nonexistent.csv"), "does not exist"));
    CHECK(contains(refused(base + "--trace " + trace.path().string() + " --prompt 5"), "--trace"));
}

TEST_CASE("serve-sim of users that wait for each answer keeps as many requests in the system") {
    const json sim = served("--concurrency 16 --requests 400 --prompt 200 --generate 50");
    CHECK(sim["arrivals"]["kind"] == "users");
    CHECK(sim["arrivals"]["users"] == 16);
    CHECK(sim["loads"][0]["mean_in_system"].get<double>() == rel(16, 0.01));
    // Little's law, exact for a closed loop but for its beginning and end.
    CHECK(sim["loads"][0]["requests_per_s"].get<double>() * sim["latencies"][2]["mean_ms"].get<double>() / 1000 == rel(16, 0.01));
    CHECK(served("--concurrency 1 --requests 20")["loads"][0]["mean_batch"].get<double>() == rel(1, 1e-9));
    CHECK(contains(roofcast::test::printed(base + "--concurrency 16 --requests 100"), "of 16 users that wait for each answer"));
    CHECK(contains(refused(base + "--concurrency 16 --rate 5"), "several options"));
    CHECK(contains(refused(base + "--concurrency 0"), "--concurrency"));
    CHECK(contains(refused(base + "--concurrency 1 --dp 2"), "from 2 to"));
}

TEST_CASE("serve-sim preempts nothing where outputs have their room") {
    // A cache too small for what wants to enter.
    const std::string flood = "--concurrency 500 --requests 500 --prompt 500 --generate 500 --max-seqs 500 --memory-fraction 0.4 ";
    const json prompt = served(flood), output = served(flood + "--admission output");
    CHECK(prompt["settings"]["admission"] == "prompt");
    CHECK(prompt["loads"][0]["preemptions"].get<int>() > 0);
    CHECK(output["loads"][0]["preemptions"] == 0);
    CHECK(output["loads"][0]["mean_batch"].get<double>() < prompt["loads"][0]["mean_batch"].get<double>());
    CHECK(contains(output["assumptions"].dump(), "none has to leave"));
}

TEST_CASE("serve-sim on several GPUs shares the rate among copies") {
    const json two = served("--rate 10 --requests 1000 --dp 2"), one = served("--rate 5 --requests 1000");
    CHECK(two["parallel"]["gpus"] == 2);
    CHECK(two["loads"][0]["tokens_per_s_per_gpu"].get<double>() == rel(one["loads"][0]["tokens_per_s_per_gpu"].get<double>(), 0.1));
    CHECK(served("--rate 1 --requests 50 --tp 2 --pp 2")["assumptions"].size() > one["assumptions"].size());
}

TEST_CASE("serve-sim refuses numbers that make no sense, naming the option") {
    const std::pair<const char*, const char*> wrong[] = {{"--rate 0", "--rate"},
                                                         {"--rate -1", "--rate"},
                                                         {"--rate nan", "--rate"},
                                                         {"--rate inf", "--rate"},
                                                         {"--rate 1e300", "--rate"},
                                                         {"--rate 5/m", "--rate"},
                                                         {"--rate 1 --requests 0", "--requests"},
                                                         {"--rate 1 --requests 1e6", "did you mean 1000000?"},
                                                         {"--rate 1 --requests 99999999999999999999", "--requests"},
                                                         {"--rate 1 --requests 10000000 --generate 100000", "--requests"},
                                                         {"--rate 1 --prompt 0", "--prompt"},
                                                         {"--rate 1 --prompt 200000", "--prompt"},
                                                         {"--rate 1 --prompt-cv -1", "--prompt-cv"},
                                                         {"--rate 1 --generate-cv nan", "--generate-cv"},
                                                         {"--rate 1 --seed -1", "--seed"},
                                                         {"--rate 1 --batch 4", "--max-seqs"},
                                                         {"--rate 1 --max-seqs 0", "--max-seqs"},
                                                         {"--rate 1 --max-seqs 10000", "--max-seqs"},
                                                         {"--rate 1 --max-tokens 0", "--max-tokens"},
                                                         {"--rate 1 --chunk 0", "--chunk"},
                                                         {"--rate 1 --chunked-prefill off --chunk 64", "--chunk"},
                                                         {"--rate 1 --chunked-prefill maybe", "--chunked-prefill"},
                                                         {"--rate 1 --block-size -16", "--block-size"},
                                                         {"--rate 1 --memory-fraction 0", "--memory-fraction"},
                                                         {"--rate 1 --memory-fraction 1.01", "--memory-fraction"},
                                                         {"--rate 1 --prefix-cached 1", "--prefix-cached"},
                                                         {"--rate 1 --slo ttft", "--slo"},
                                                         {"--rate 1 --slo ttft=5", "--slo"},
                                                         {"--rate 1 --slo ttft=-5ms", "--slo"},
                                                         {"--rate 1 --slo ttft=5ms,ttft=6ms", "twice"},
                                                         {"--rate 1 --slo ttft=5ms,", "--slo"},
                                                         {"--rate 1 --slo tftt=5ms", "did you mean ttft?"},
                                                         {"--rate 1 --slo-share 0.5", "--slo-share"},
                                                         {"--find-rate --slo ttft=1s --slo-share 1.5", "--slo-share"},
                                                         {"--find-rate", "--slo"},
                                                         {"--find-rate --rate 5 --slo ttft=1s", "--find-rate"},
                                                         {"", "one of --rate, --trace, --concurrency and --find-rate"}};
    for (const auto& [arguments, expected] : wrong) {
        CAPTURE(arguments);
        CHECK(contains(refused(base + arguments), expected));
    }
}

TEST_CASE("serve-sim refuses models without text, and devices of unknown memory") {
    CHECK(contains(refused("serve-sim --gpu a100-sxm4-80gb --model bert-base --rate 1"), "is not a language model"));
    CHECK(contains(refused("serve-sim --gpu a100-sxm4-80gb --model resnet50 --rate 1"), "is not a language model"));
    CHECK(contains(refused("serve-sim --gpu a100-sxm4-80gb --model llama-3.1-8b --rate 1 --images 2"), "vision-language"));
    CHECK(contains(refused("serve-sim --gpu epyc-9654 --model llama-3.1-8b --rate 1"), "memory of epyc-9654 is not known"));
}

TEST_CASE("serve-sim says what a model needs that leaves no room for a KV cache") {
    const std::string run = "serve-sim --gpu rtx-4090 --model llama-3.1-70b --rate 1";
    const auto text = roofcast::test::roofcast(run);
    CHECK(text.exit_code == 1);
    CHECK(text.output.starts_with("It does not fit: llama-3.1-70b needs 14"));  // 141 GB of weights and some activations
    CHECK(contains(text.output, "What would fit: "));
    const auto document = roofcast::test::roofcast(run + " --format json");
    CHECK(document.exit_code == 1);
    const json d = json::parse(document.output);
    CHECK(d["fits"] == false);
    CHECK(d["needed_gb"].get<double>() > 141);
    CHECK(d["capacity_gb"].get<double>() < 24);
    CHECK_FALSE(d["remedies"].empty());
    CHECK(d["latencies"][0]["p99_ms"].is_null());
    CHECK(roofcast::test::roofcast(base + "--rate 1 --memory-fraction 0.1").exit_code == 1);
    const auto prompts = roofcast::test::roofcast(base + "--rate 1 --chunked-prefill off --prompt 9000", true);
    CHECK(prompts.exit_code == 1);
    CHECK(contains(prompts.output, "no request can be served"));
}

TEST_CASE("serve-sim above the capacity says so first, and shows no latency") {
    const std::string over = base + "--rate 200 --requests 2000 --slo ttft=1s,latency=5s ";
    const auto text = roofcast::test::roofcast(over);
    CHECK(text.exit_code == 1);
    CHECK(text.output.starts_with("overloaded: offered "));
    CHECK(contains(text.output, "latencies grow without bound"));
    CHECK_FALSE(contains(text.output, "P99"));
    const auto document = roofcast::test::roofcast(over + "--format json");
    CHECK(document.exit_code == 1);
    const json d = json::parse(document.output);
    const double offered = d["overload"]["offered_per_s"], sustained = d["overload"]["sustained_per_s"];
    CHECK(offered == rel(200, 0.05));
    CHECK(sustained < 100);
    for (const json& row : d["latencies"]) {
        for (const auto& [key, value] : row.items()) {
            CAPTURE(key);
            CHECK((key == "metric" || value.is_null()));
        }
    }
    CHECK(d["objectives"][0]["missed_percent"].is_null());
    // What the engine is said to sustain, it serves: nine tenths of it are no overload.
    const json below = served(fmt::format("--rate {} --requests 2000", 0.9 * sustained));
    CHECK(below["overload"].is_null());
    CHECK(below["latencies"][0]["p99_ms"].is_number());
    // The same load on copies enough.
    CHECK(served("--rate 200 --requests 2000 --dp 16")["overload"].is_null());
}

TEST_CASE("a trace that ends before its first answer is a burst, whose latencies are known") {
    std::string rows = "arrival_s,prompt_tokens,output_tokens\n";
    for (int i = 0; i < 64; ++i) rows += fmt::format("{},500,100\n", 1e-3 * i);
    const TemporaryFile trace("burst.csv", rows);
    const json d = served("--trace " + trace.path().string());
    CHECK(d["overload"].is_null());
    CHECK(d["latencies"][0]["p99_ms"].is_number());
}

TEST_CASE("--find-rate prints the rate of each case by its name") {
    const std::string run = "--find-rate --requests 300 --slo ttft=200ms,tpot=30ms ";
    const std::string text = roofcast::test::printed(base + run);
    CHECK(contains(text, "/s: 99 % of requests within the objective"));
    CHECK(contains(text, "/s if every step has the high bound of its 80 % interval (×1."));
    CHECK(contains(text, "/s if every step has the low bound of its 80 % interval (×0."));
    const json d = served(run);
    // Long steps allow the low rate; each case is simulated at its own.
    const json& loads = d["loads"];
    CHECK(loads[0]["rate_per_s"] == d["rate_search"]["highest_rate_per_s"]);
    CHECK(loads[1]["rate_per_s"] == d["rate_search"]["highest_rate_per_s_high"]);
    CHECK(loads[2]["rate_per_s"] == d["rate_search"]["highest_rate_per_s_low"]);
    CHECK(loads[2]["rate_per_s"].get<double>() < loads[0]["rate_per_s"].get<double>());
    CHECK(loads[0]["rate_per_s"].get<double>() < loads[1]["rate_per_s"].get<double>());
    // Latencies of different rates bound nothing.
    CHECK(d["latencies"][0]["p99_ms_high"].is_null());
}
