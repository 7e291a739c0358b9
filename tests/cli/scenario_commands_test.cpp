#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "document/text_table.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::printed;
using roofcast::test::refused;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

const std::string grid = "sweep --gpu a100-sxm4-80gb,t4 --model llama-3.1-8b --precision fp16,bf16 --batch 1,8 --tp 1,2,3 --format ";

}  // namespace

TEST_CASE("scenario: a sweep has a row for each combination, and a reason for those that cannot run") {
    const json document = json::parse(printed(grid + "json"));
    const json& points = document["points"];
    REQUIRE(points.size() == 2 * 2 * 2 * 3);
    CHECK(document["grid_points"] == 24);
    for (const json& p : points) {
        CAPTURE(p.dump());
        CHECK(p["reason"].is_null() != p["latency_ms"].is_null());
        // bf16 needs Ampere, three GPUs do not divide 32 heads, 16 GB do not hold the model.
        const bool runs = p["tensor_parallel"] != 3 && (p["gpu"] != "t4" || (p["precision"] == "fp16" && p["tensor_parallel"] == 2));
        CHECK(p["reason"].is_null() == runs);
    }
}

TEST_CASE("scenario: a point of a sweep is what predict says") {
    const json points = json::parse(printed(grid + "json"))["points"];
    const json alone = roofcast::test::only_prediction(
        printed("predict --gpu a100-sxm4-80gb --model llama-3.1-8b --precision bf16 --batch 8 --tp 2 --format json"));
    int same = 0;
    for (const json& p : points) {
        if (p["gpu"] != "a100-sxm4-80gb" || p["precision"] != "bf16" || p["batch"] != 8 || p["tensor_parallel"] != 2) continue;
        ++same;
        for (const char* key :
             {"latency_ms", "ttft_ms", "tpot_ms", "throughput_per_s", "tokens_per_s", "memory_gb", "latency_ms_low", "bound"})
            CHECK(p[key] == alone[key]);
    }
    CHECK(same == 1);
}

TEST_CASE("scenario: shards of a sweep, one after the other, are the whole") {
    const std::string whole = printed(grid + "csv");
    const std::string header = whole.substr(0, whole.find('\n') + 1);
    for (const int count : {1, 2, 5, 24, 30}) {
        std::string together = header;
        for (int i = 1; i <= count; ++i) {
            const std::string part = printed(grid + "csv --shard " + std::to_string(i) + "/" + std::to_string(count));
            REQUIRE(part.starts_with(header));
            together += part.substr(header.size());
        }
        CHECK(together == whole);
    }
}

TEST_CASE("scenario: rows of a sweep do not depend on the threads that predict them") {
    const std::string whole = printed(grid + "csv");
    for (const char* threads : {"1", "3"}) CHECK(printed(grid + "csv --threads " + threads) == whole);
}

TEST_CASE("scenario: a sweep into a file holds the same rows, and a piped one draws no progress bar") {
    const TemporaryFile file("rows.csv", "");
    printed(grid + "csv --output " + file.path().string());
    CHECK(roofcast::test::text_of(file.path()) == printed(grid + "csv"));
    CHECK(roofcast::test::roofcast(grid + "csv", true).output.empty());
}

TEST_CASE("scenario: settings that never change stand above the table of a sweep") {
    const std::string text = printed("sweep --gpu t4 --model resnet50 --batch 1,2 --precision fp16,fp8");
    CHECK(contains(text, "in every row:"));
    CHECK(contains(text, "execution cuda_graph"));
    CHECK(contains(text, "why not"));
}

TEST_CASE("scenario: what no point of a sweep could use is refused") {
    const std::string sweep = "sweep --gpu a100-sxm4-80gb --model llama-3.1-8b ";
    for (const char* option : {"--batch 0",
                               "--batch 1,,2",
                               "--batch 1,1",
                               "--batch nan",
                               "--batch 1e3",
                               "--precision fp16,fp61",
                               "--kv fp7",
                               "--weights int5",
                               "--execution graphs",
                               "--shard 0/3",
                               "--shard 4/3",
                               "--threads 0",
                               "--offload abc",
                               "--offload 1,2",
                               "--software foo",
                               "--streams 17",
                               "--batch 99999999999999999999",
                               "--draft nothing",
                               "--draft-tokens 2,4",
                               "--layout nhcw"}) {
        const std::string text = option;
        CHECK(contains(refused(sweep + text), text.substr(0, text.find(' '))));
    }
    CHECK(contains(refused("sweep --gpu a100,a1000 --model resnet50"), "a1000"));
    CHECK(contains(refused("sweep --gpu a100 --model resnet50,resnet5"), "resnet50"));
}

TEST_CASE("scenario: a pipeline is shown in all formats, alone and against another") {
    const std::string folder = (roofcast::test::source_dir() / "docs" / "examples").string();
    const std::string run = "pipeline " + folder + "/retrieval-batched.toml --against " + folder + "/retrieval.toml";
    const json p = json::parse(printed(run + " --format json"));
    CHECK(p["comparison"]["speedup"].get<double>() == rel(p["against"]["latency_ms"].get<double>() / p["latency_ms"].get<double>(), 1e-9));
    CHECK(p["latency_ms_low"] < p["latency_ms_high"]);
    CHECK(contains(printed(run), "times as fast as retrieval"));
    const std::string csv = printed(run + " --format csv");
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 6 + 6);
    CHECK(contains(refused("pipeline " + folder), "directory"));
    CHECK(contains(refused("pipeline nothing.toml"), "nothing.toml"));
}

TEST_CASE("scenario: what costs, comparisons, recommendations and pipelines answer fits 80 columns") {
    const std::string gpus = "--gpu a100-sxm4-80gb --gpu rtx-4090 --gpu t4 --model llama-3.1-8b --date 2026-11-21",
                      folder = (roofcast::test::source_dir() / "docs" / "examples").string();
    const std::pair<std::string, std::vector<std::string>> commands[] = {
        {"cost --batch 4 --precision fp16 " + gpus, {"USD/h", "80% low", "fits", "J/output", "TCO", "ROI %"}},
        {"compare --policy all " + gpus, {"speed-up", "items/min", "why not", "items/USD"}},
        {"recommend --slo ttft=500ms,tpot=40ms --rate 5/s " + gpus, {"P99", "USD/h", "upper:", "Rented as"}},
        {"pipeline " + folder + "/retrieval-batched.toml --against " + folder + "/retrieval.toml",
         {"latency", "max req/s", "80% low", "fits"}}};
    for (const auto& [command, headings] : commands) {
        CAPTURE(command);
        setenv("ROOFCAST_TEST_COLUMNS", "80", 1);
        const std::string text = roofcast::test::roofcast(command).output;
        unsetenv("ROOFCAST_TEST_COLUMNS");
        for (const std::string& heading : headings) {
            CAPTURE(heading);
            CHECK(contains(text, heading));
        }
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            CAPTURE(line);
            CHECK(roofcast::text_width(line) <= 80);
        }
    }
}
