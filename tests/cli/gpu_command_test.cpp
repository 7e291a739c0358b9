#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
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

constexpr const char* profile =
    "name = \"A card\"\narchitecture = \"ampere\"\nmemory_gb = 80\ncompute_tflops = 312\nmemory_bandwidth_gbps = 2039\n";

}  // namespace

TEST_CASE("a profile that is changed from another has its fit and its prices, and an id of its own") {
    const auto of = [](const std::string& gpu, const std::string& command, const char* key) {
        const json answer = json::parse(roofcast::test::printed(command + " --model llama-3.1-8b --format json --gpu " + gpu));
        return answer.at(command == "cost" ? "rows" : "predictions").at(0).at(key);
    };
    const std::string own = "h100-sxm5-80gb", line = "id = \"" + own + "\"\n";
    std::string text = roofcast::test::text_of(roofcast::test::gpus_dir() / (own + ".toml"));
    text.replace(text.find(line), line.size(), "id = \"mine\"\n");
    const TemporaryFile alone("mine.toml", text), changed("mine.toml", "changed_from = \"" + own + "\"\n" + text);
    const std::string file = changed.path().string();
    CHECK(of(file, "predict", "gpu") == "mine");
    CHECK(of(file, "predict", "latency_ms") == of(own, "predict", "latency_ms"));
    CHECK(of(file, "cost", "usd_per_hour") == of(own, "cost", "usd_per_hour"));
    CHECK(of(alone.path().string(), "predict", "latency_ms") != of(own, "predict", "latency_ms"));
    CHECK(roofcast::test::roofcast("compare --model llama-3.1-8b --gpu h100-sxm5-80gb --gpu " + file).exit_code == 0);
}

TEST_CASE("a changed GPU is decided by its change, and one of an unknown GPU is refused with the nearest id") {
    const auto copy_of = [](const std::string& origin) {
        std::string text = roofcast::test::text_of(roofcast::test::gpus_dir() / "h100-sxm5-80gb.toml");
        const auto put = [&text](const std::string& from, const std::string& to) {
            REQUIRE(text.find(from) != std::string::npos);
            text.replace(text.find(from), from.size(), to);
        };
        put("id = \"h100-sxm5-80gb\"", "id = \"mine\"\nchanged_from = \"" + origin + "\"");
        put("bandwidth_gb_s = 3350", "bandwidth_gb_s = 3000");
        return text;
    };
    const TemporaryFile changed("mine.toml", copy_of("h100-sxm5-80gb")), unknown("other.toml", copy_of("h100-sxm5-80gp"));
    const std::string compare = "compare --model llama-3.1-8b --policy baseline --format json --gpu h100-sxm5-80gb --gpu ";
    const json answer = json::parse(roofcast::test::printed(compare + changed.path().string()));
    CHECK(answer.at("policies").at(0).at("undecided").empty());
    for (const std::string& command : {compare, std::string("gpu check "), std::string("predict --model llama-3.1-8b --gpu ")}) {
        const std::string message = refused(command + unknown.path().string());
        CHECK(contains(message, "changed_from: unknown GPU"));
        CHECK(contains(message, "did you mean h100-sxm5-80gb"));
    }
}

TEST_CASE("gpu check reads fit files and holds each parameter to its bounds") {
    const TemporaryFile good("card.fit.toml", "[fit]\n[gemm.tensor16]\npeak_fraction = { value = 0.7, lower = 0.3, upper = 1 }\n");
    const auto result = roofcast::test::roofcast("gpu check --format json " + good.path().string());
    CHECK(result.exit_code == 0);
    const json files = json::parse(result.output)["files"];
    REQUIRE(files.size() == 1);
    CHECK(files[0]["kind"] == "fit");
    CHECK(files[0]["entries"] == 1);

    const TemporaryFile impossible("card.fit.toml", "[fit]\n[gemm.tensor16]\npeak_fraction = 1.7\n");
    const std::string message = refused("gpu check " + impossible.path().string());
    CHECK(contains(message, "card.fit.toml:3: gemm.tensor16.peak_fraction: outside its physical bounds; found 1.7"));
    const TemporaryFile own("card.fit.toml", "[gemm.tensor16]\npeak_fraction = { value = 0.7, lower = 0.8, upper = 1 }\n");
    CHECK(contains(refused("gpu check " + own.path().string()), "gemm.tensor16.peak_fraction: outside the bounds given with it"));
    const TemporaryFile unknown("card.fit.toml", "[gemm.tensor16]\npeak_fractoin = 0.7\n");
    CHECK(contains(refused("gpu check " + unknown.path().string()), "did you mean gemm.tensor16.peak_fraction"));
}

TEST_CASE("gpu show has the data sheet's memory beside what programs can allocate, and how many GPUs a bridge joins") {
    const auto shown = [](const std::string& gpu) { return json::parse(roofcast::test::printed("gpu show --format json " + gpu))["gpu"]; };
    const json a100 = shown("a100-pcie-80gb");
    CHECK(a100["capacity_gb"] == 80);
    // 80 · 2^30 · 0.985 bytes, docs/model/memory.md.
    CHECK(a100["usable_gb"].get<double>() == rel(84.611, 1e-4));
    CHECK(a100["nvlink_gpus"] == 2);
    CHECK_FALSE(shown("a100-sxm4-80gb").contains("nvlink_gpus"));
    CHECK_FALSE(shown("xeon-8480").contains("usable_gb"));
}

TEST_CASE("gpu check of a profile reads the fit next to it") {
    const TemporaryFile card("card.toml", profile);
    CHECK(roofcast::test::roofcast("gpu check " + card.path().string()).exit_code == 0);
    std::filesystem::create_directory(card.path().parent_path() / "fits");
    std::ofstream(card.path().parent_path() / "fits" / "card.fit.toml") << "[gemm.tensor16]\npeak_fraction = 1.7\n";
    CHECK(contains(refused("gpu check " + card.path().string()), "gemm.tensor16.peak_fraction"));
}

TEST_CASE("gpu check takes all that lies in the folder of profiles") {
    const std::string folder = roofcast::test::gpus_dir().string();
    const auto result = roofcast::test::roofcast("gpu check --format json " + folder + "/*.toml " + folder + "/arch/*.toml");
    CHECK(result.exit_code == 0);
    CHECK(json::parse(result.output)["files"].size() > 10);
    const TemporaryFile software("execution.toml", "[eager]\nkernels = \"some\"\n");
    CHECK(contains(refused("gpu check " + software.path().string()), "eager.kernels"));
}

TEST_CASE("gpu check reads the facts of every capability of an architecture") {
    std::string ampere = roofcast::test::text_of(roofcast::test::gpus_dir() / "arch" / "ampere.toml");
    ampere.insert(ampere.find('\n', ampere.find("[typical.\"8.7\"]")) + 1, "a_typo = 1\n");
    const TemporaryFile placeholder("readme", "an architecture for a test");
    const auto folder = placeholder.path().parent_path() / "arch";
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "ampere.toml") << ampere;
    CHECK(contains(refused("gpu check " + (folder / "ampere.toml").string()), "a_typo"));
}

TEST_CASE("slips of units in a profile of a few lines are found, and said by predictions") {
    const auto card = [](const std::string& wrong, const std::string& right) {
        std::string text = profile;
        text.replace(text.find(right), right.size(), wrong);
        return TemporaryFile("card.toml", text);
    };
    const std::string as_it_is = TemporaryFile("card.toml", profile).path().string();
    const std::pair<const char*, const char*> slips[] = {{"memory_bandwidth_gbps = 2.039", "memory_bandwidth_gbps = 2039"},
                                                         {"memory_gb = 81920", "memory_gb = 80"},
                                                         {"compute_tflops = 0.312", "compute_tflops = 312"}};
    for (const auto& [wrong, right] : slips) {
        const TemporaryFile file = card(wrong, right);
        const auto checked = roofcast::test::roofcast("gpu check --format json " + file.path().string());
        CHECK(checked.exit_code != 0);
        const auto predicted = roofcast::test::roofcast("predict --model resnet50 --precision fp16 --gpu " + file.path().string(), true);
        CHECK(predicted.exit_code == 0);
        CHECK(contains(predicted.output, ", expected "));
    }
}
