#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

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

/// `skeleton` with `value` after "key = " in the place of what stands there.
std::string filled_in(std::string skeleton, const std::string& key, const std::string& value) {
    const std::size_t start = skeleton.find("\n" + key + " = ") + 1;
    REQUIRE(start > 0);
    return skeleton.replace(start, skeleton.find('\n', start) - start, key + " = " + value);
}

/// Every optional key of `skeleton` stated, as its example has it.
std::string with_all_keys(const std::string& skeleton) {
    std::string all, line;
    for (std::istringstream lines(skeleton); std::getline(lines, line);) {
        const bool optional = line.starts_with("# ") && (line[2] == '[' || (contains(line, " = ") && !contains(line, ". ")));
        all += (optional ? line.substr(2) : line) + "\n";
    }
    return all;
}

std::string filled_skeleton() {
    std::string text = printed("gpu new 'GeForce RTX 4090 of mine'");
    text = filled_in(text, "architecture", "\"ada\"");
    text = filled_in(text, "memory_gb", "24");
    text = filled_in(text, "memory_bandwidth_gbps", "1008");
    return filled_in(text, "compute_tflops", "165.2");
}

}  // namespace

TEST_CASE("gpu new writes a profile that loads once its required values are filled in") {
    const TemporaryFile card("mine.toml", filled_skeleton());
    const json shown = json::parse(printed("gpu show --format json " + card.path().string()));
    CHECK(shown["gpu"]["id"] == "geforce-rtx-4090-of-mine");
    CHECK(shown["gpu"]["name"] == "GeForce RTX 4090 of mine");
    CHECK(shown["gpu"]["sm_count"] == 128);
    CHECK(shown["gpu"]["tdp_watts"] == 450);
    CHECK(printed("predict --model resnet50 --precision fp16 --gpu " + card.path().string()).size() > 100);
    bool sms_are_assumed = false;
    for (const json& a : shown["assumed"]) {
        if (a["key"] == "compute.sm_count") sms_are_assumed = a["relative_error"].get<double>() == rel(0.02, 1e-9);
    }
    CHECK(sms_are_assumed);
}

TEST_CASE("every optional key of the skeleton is a key of profiles, with an example that goes with the others") {
    const TemporaryFile card("mine.toml", with_all_keys(filled_skeleton()));
    const json shown = json::parse(printed("gpu show --format json " + card.path().string()));
    CHECK(shown["gpu"]["boost_clock_mhz"] == 2520);
    CHECK(shown["gpu"]["tdp_watts"] == 450);
    CHECK(shown["gpu"]["nvlink_gb_s"] == 900);
    CHECK(roofcast::test::roofcast("gpu check " + card.path().string()).exit_code == 0);
}

TEST_CASE("a skeleton that is not filled in is refused at the key to fill in") {
    const std::string text = printed("gpu new 'A \"b\" \\ c'");
    CHECK(contains(text, "id = \"a-b-c\""));
    const TemporaryFile card("mine.toml", text);
    CHECK(contains(refused("gpu show " + card.path().string()), "architecture: empty; found \"\"; expected one of ada, "));
    CHECK(contains(printed("gpu new 'My GPU_2.1'"), "id = \"my-gpu_2.1\""));
    CHECK(contains(printed("gpu new '(!)'"), "id = \"my-gpu\""));
    const TemporaryFile half("mine.toml", filled_in(text, "architecture", "\"ada\""));
    CHECK(contains(refused("gpu show " + half.path().string()), "memory_gb: out of range; found 0"));
}

TEST_CASE("gpu new writes a file of its own and replaces none") {
    const TemporaryFile other("taken.toml", "name = \"mine\"\n");
    CHECK(contains(refused("gpu new X --output " + other.path().string()), "--output: the file exists; found"));
    CHECK(roofcast::test::text_of(other.path()) == "name = \"mine\"\n");
    const std::filesystem::path file = other.path().parent_path() / "new.toml";
    CHECK(printed("gpu new X --output " + file.string()).empty());
    CHECK(roofcast::test::text_of(file) == printed("gpu new X"));
    CHECK(contains(refused("gpu new"), "NAME is required"));
}
