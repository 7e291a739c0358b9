/// Reading documents with Qwen2.5-VL-7B on an H200 against a V100, in the three phases of `roofcast compare`: equal settings, each at its
/// best, cost. No measurement of the job is shipped: identities and bounds from the two data sheets.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::rel;

namespace {

/// A page of 1024 pixels, a question of 256 tokens, an answer of 256.
json comparison() {
    const auto result = roofcast::test::roofcast(
        "compare --gpu h200-sxm-141gb --gpu v100-sxm2-32gb --model qwen2.5-vl-7b --image-size 1024 --prompt 256 --generate 256 "
        "--date 2026-11-21 --format json");
    REQUIRE(result.exit_code == 0);
    return json::parse(result.output);
}

double number(const json& row, const char* key) {
    return row.at(key).get<double>();
}

}  // namespace

TEST_CASE("an H200 reads documents several times faster than a V100, at equal settings within what the data sheets allow") {
    const json policies = comparison()["policies"];
    REQUIRE(policies.size() == 3);
    const json &baseline = policies[0], &h200 = baseline["rows"][0], &v100 = baseline["rows"][1];
    CHECK(baseline["policy"] == "baseline");
    for (const char* setting : {"precision", "weights", "batch", "execution"}) CHECK(h200[setting] == v100[setting]);
    CHECK(h200["precision"] == "fp16");  // a V100 has no bf16
    // 4.8 over 0.9 TB/s: 5.3; 989 over 125 TFLOP/s: 7.9. Decoding, most of the job, is bound by bandwidth.
    const double ratio = number(v100, "time_per_item_ms") / number(h200, "time_per_item_ms");
    CHECK(ratio > 3);
    CHECK(ratio < 7.9);
    CHECK(number(v100, "speedup") == rel(1 / ratio, 1e-6));
    // 7.62e9 weights of the language part without the embedding table's 0.54e9, in 2 bytes: no step is faster than their reading.
    CHECK(number(h200, "tpot_ms") > 2 * 7.07 / 4800 * 1e3);
    CHECK(number(v100, "tpot_ms") > 2 * 7.07 / 900 * 1e3);
}

TEST_CASE("each GPU at its best is at least as fast as at equal settings, and fits its memory") {
    const json policies = comparison()["policies"];
    for (std::size_t gpu = 0; gpu < 2; ++gpu) {
        const json &equal = policies[0]["rows"][gpu], &best = policies[1]["rows"][gpu];
        CAPTURE(best["gpu"].get<std::string>());
        CHECK(number(best, "items_per_minute") >= number(equal, "items_per_minute"));
        CHECK(number(best, "memory_percent") <= 100);
        CHECK(number(best, "compute_percent") < 100);
        CHECK(number(best, "bandwidth_percent") < 100);
        CHECK(number(best, "items_per_minute") == rel(60e3 / number(best, "time_per_item_ms"), 1e-6));
    }
    // A batch of 141 GB is larger than one of 32 GB: the H200 gains from its memory too.
    CHECK(number(policies[1]["rows"][0], "batch") > number(policies[1]["rows"][1], "batch"));
    CHECK(number(policies[1]["rows"][1], "speedup") < number(policies[0]["rows"][1], "speedup"));
}

TEST_CASE("dollars per document are rent times time, and the H200's speed is worth more than its price") {
    const json document = comparison();
    const json& cost = document["policies"][2];
    CHECK(cost["policy"] == "cost");
    for (std::size_t gpu = 0; gpu < 2; ++gpu) {
        const json &row = cost["rows"][gpu], &best = document["policies"][1]["rows"][gpu];
        const std::string id = row["gpu"].get<std::string>();
        CAPTURE(id);
        CHECK(number(row, "usd_per_hour") == rel(number(document["prices"][id], "usd"), 1e-9));
        CHECK(number(row, "usd_per_item") == rel(number(row, "usd_per_hour") * number(best, "time_per_item_ms") / 3.6e6, 1e-6));
        CHECK(number(row, "usd_per_item") == rel(number(best, "usd_per_1000_items") / 1000, 1e-9));
    }
    // RunPod's own H200 at 4.59 and Azure's V100 at 2.754 USD an hour: 1.7 times the rent, for more than 3 times the speed.
    const double h200 = number(cost["rows"][0], "usd_per_item"), v100 = number(cost["rows"][1], "usd_per_item");
    CHECK(v100 / h200 == rel(2.754 / 4.59 / number(document["policies"][1]["rows"][1], "speedup"), 1e-3));
    CHECK(h200 < v100);
}
