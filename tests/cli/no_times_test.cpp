// A model that does not fit has no time in any output, and exit codes follow one rule.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::ProgramResult;
using roofcast::test::TemporaryFile;

namespace {

ProgramResult output_of(const std::string& arguments) {
    return roofcast::test::roofcast(arguments);
}

/// Whether a figure of this key is a time, a rate, or made of one.
bool is_made_of_time(std::string key) {
    for (const char* bound : {"_low", "_high"}) {
        if (key.ends_with(bound)) key.resize(key.size() - std::string(bound).size());
    }
    if (key == "usd_per_hour" || key == "electricity_usd_per_kwh" || key.starts_with("rental_price") || key.starts_with("purchase_price"))
        return false;                                                                      // of the GPU, whatever runs on it
    if (key == "rate_per_s" || key == "offered_per_s" || key == "limit_ms") return false;  // asked for
    constexpr std::array<const char*, 9> endings{"_ms", "_us", "_s", "_per_s", "_per_minute", "_hours", "_months", "speedup", "_ratio"};
    const bool ends = std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return key.ends_with(ending); });
    return ends || key.starts_with("usd_per_") || key.starts_with("joules") || key.starts_with("watts") || contains(key, "_usd_per_") ||
           key == "busy_percent" || key == "compute_percent" || key == "bandwidth_percent" || key == "power_percent";
}

void check_no_time(const json& value, const std::string& key) {
    if (value.is_structured()) {
        for (const auto& [inner_key, inner] : value.items()) check_no_time(inner, value.is_object() ? inner_key : key);
        return;
    }
    CAPTURE(key);
    CAPTURE(value.dump());
    if (is_made_of_time(key)) CHECK_FALSE(value.is_number());
}

std::vector<std::string> fields(const std::string& line) {
    std::vector<std::string> out(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            out.emplace_back();
        } else {
            out.back() += c;
        }
    }
    return out;
}

void check_no_time_in_csv(const std::string& csv) {
    std::istringstream lines(csv);
    std::string line;
    REQUIRE(std::getline(lines, line));
    const auto keys = fields(line);
    while (std::getline(lines, line)) {
        const auto cells = fields(line);
        REQUIRE(cells.size() == keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            CAPTURE(keys[i]);
            if (is_made_of_time(keys[i])) CHECK(cells[i] == "");
        }
    }
}

/// A number followed by a unit of time, of a rate or of energy.
bool has_time(const std::string& text) {
    for (const char* unit : {" ms", " us", " s", " s ", " ms ", " items/s", " tokens/s", " output tokens/s", " requests/s", " J"}) {
        for (auto at = text.find(unit); at != std::string::npos; at = text.find(unit, at + 1)) {
            const auto end = at + std::string(unit).size();
            const bool whole = end >= text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0;
            if (at > 0 && std::isdigit(static_cast<unsigned char>(text[at - 1])) != 0 && whole) return true;
        }
    }
    return false;
}

const TemporaryFile& too_large_pipeline() {
    static const TemporaryFile file("large.toml",
                                    "name = \"large\"\n[[stage]]\nname = \"write\"\nmodel = \"llama-3.1-70b\"\ndevice = \"rtx-4090\"\n");
    return file;
}

std::vector<std::string> runs_that_cannot() {
    const std::string run = " --gpu rtx-4090 --model llama-3.1-70b";
    return {"predict" + run,
            "predict" + run + " --gpu rtx-3090",
            "predict" + run + " --batch 8 --precision fp16",
            "predict" + run + " --draft llama-3.2-1b --draft-tokens 4 --acceptance 0.7",
            "predict --gpu rtx-3060 --model sd-1.5-txt2img --batch 512",
            "predict --gpu t4 --model resnet50 --batch 65536 --precision fp16",
            "cost" + run,
            "cost" + run + " --gpu rtx-3090",
            "compare" + run + " --gpu rtx-3090 --policy baseline",
            "sweep" + run + " --batch 1,2",
            "memory" + run + " --weights bf16",
            "serve-sim" + run + " --rate 1",
            "serve-sim" + run + " --find-rate --slo ttft=1s",
            "pipeline " + too_large_pipeline().path().string()};
}

}  // namespace

TEST_CASE("what does not fit has no time in text, JSON or CSV of any command, and exits with 1") {
    for (const std::string& run : runs_that_cannot()) {
        CAPTURE(run);
        const auto text = output_of(run), document = output_of(run + " --format json"), csv = output_of(run + " --format csv");
        CHECK(text.exit_code == 1);
        CHECK(document.exit_code == 1);
        CHECK(csv.exit_code == 1);
        CAPTURE(text.output);
        CHECK_FALSE(has_time(text.output));
        CHECK(contains(text.output, " GB"));
        check_no_time(json::parse(document.output), "");
        check_no_time_in_csv(csv.output);
    }
}

TEST_CASE("--explain of what does not fit shows no operator's time") {
    const auto result = output_of("predict --gpu rtx-4090 --model llama-3.1-70b --explain");
    CHECK(result.exit_code == 1);
    CHECK_FALSE(contains(result.output, "costliest operators"));
    const auto document = output_of("predict --gpu rtx-4090 --model llama-3.1-70b --explain --format json");
    check_no_time(json::parse(document.output), "");
}

TEST_CASE("the answer to what does not fit is what is missing and what would make it fit") {
    const std::string run = "predict --gpu rtx-4090 --model llama-3.1-70b --precision fp16";
    const std::string text = output_of(run).output;
    CHECK(contains(text, "It does not fit: needs 14"));
    CHECK(contains(text, "What would fit: "));
    CHECK(contains(text, "tensor parallelism over 8 GPUs"));
    const json d = roofcast::test::only_prediction(output_of(run + " --format json").output);
    CHECK(d["fits"] == false);
    CHECK(d["latency_ms"].is_null());
    CHECK(d["phases"].empty());
    CHECK(contains(d["obstacle"].get<std::string>(), "does not fit: needs 14"));
    CHECK(contains(d["memory"]["remedies"].dump(), "tensor parallelism over 8 GPUs"));
}

TEST_CASE("rows that fit and rows that do not stand in one table, which is an answer") {
    const std::string run = "predict --gpu rtx-3070 --gpu a100-sxm4-80gb --model llama-3.1-8b --precision fp16";
    const auto text = output_of(run);
    CHECK(text.exit_code == 0);
    CHECK(contains(text.output, "does not fit"));
    CHECK(contains(text.output, "llama-3.1-8b on rtx-3070: It does not fit: needs 1"));
    CHECK(contains(text.output, "80% low"));
    const json rows = json::parse(output_of(run + " --format json").output)["predictions"];
    CHECK(rows[0]["latency_ms"].is_null());
    CHECK(rows[0]["latency_ms_low"].is_null());
    CHECK(rows[1]["latency_ms"].is_number());
    for (const char* command : {"cost --gpu rtx-3070 --gpu a100-sxm4-80gb --model llama-3.1-8b --precision fp16",
                                "sweep --gpu rtx-3070,a100-sxm4-80gb --model llama-3.1-8b --precision fp16",
                                "memory --gpu rtx-3070 --gpu a100-sxm4-80gb --model llama-3.1-8b"}) {
        CAPTURE(command);
        CHECK(output_of(command).exit_code == 0);
    }
    CHECK(contains(output_of("cost --gpu rtx-3070 --gpu a100-sxm4-80gb --model llama-3.1-8b --precision fp16").output,
                   "does not fit: needs"));
}

TEST_CASE("exit codes tell an answer, a no and wrong input apart") {
    CHECK(output_of("predict --gpu a100 --model resnet50").exit_code == 0);
    CHECK(output_of("predict --gpu rtx-4090 --model llama-3.1-70b").exit_code == 1);
    CHECK(output_of("predict --gpu rtx-4090 --model no-such-model").exit_code == 2);
    CHECK(output_of("memory --model llama-3.1-70b").exit_code == 0);
    CHECK(contains(output_of("memory --model llama-3.1-405b --gpu rtx-4090").output, "does not fit rtx-4090 in any of these"));
}
