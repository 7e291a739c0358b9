#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "roofcast/error.hpp"
#include "roofcast/software.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

/// The stack that an engine with these lines besides its name has.
SoftwareStack engine_with(const std::string& lines) {
    const test::TemporaryFile ways("execution.toml", test::text_of(test::software_dir() / "execution.toml"));
    const auto engines = ways.path().parent_path() / "engines";
    std::filesystem::create_directory(engines);
    std::ofstream(engines / "card.toml")
        << "[[engine]]\nname = \"card\"\nmatch = [\"card\"]\nexecution = [\"eager\"]\nsource = \"a test\"\n"
        << lines;
    const SoftwareStacks software = load_software(ways.path().parent_path());
    return software.find(Execution::eager, "card");
}

std::string refusal(const std::string& lines) {
    try {
        engine_with(lines);
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("keys have names of their own, units and meanings") {
    std::set<std::string_view> names;
    for (const SoftwareKeyInfo& key : software_keys()) {
        CAPTURE(key.name);
        CHECK(names.insert(key.name).second);
        CHECK(key.meaning.size() > 10);
    }
    CHECK(names.size() > 60);
}

TEST_CASE("what an engine states is what it was given, in the file's units") {
    const SoftwareStack stack = engine_with(
        "host_us_per_kernel = 7.5\nmemory_overhead_mb = 321\nmatmul_rate = 0.5\nrepeats_keys = true\n"
        "copy_instructions = 12\nsharing_groups = [2, 8]\nlong_contexts = { beyond_tokens = 9, "
        "prefill_chunk_tokens = 4, decode_attention_rate = 0.5 }\n");
    CHECK(stack.host_per_kernel.in(us) == doctest::Approx(7.5));
    const auto keys = stated_keys(stack);
    const auto value = [&](std::string_view name) {
        const auto found = std::find_if(keys.begin(), keys.end(), [name](const auto& key) { return key.first == name; });
        return found == keys.end() ? std::string("absent") : found->second;
    };
    CHECK(value("host_us_per_kernel") == "7.5");
    CHECK(value("memory_overhead_mb") == "321");
    CHECK(value("matmul_rate") == "0.5");
    CHECK(value("repeats_keys") == "true");
    CHECK(value("sharing_groups") == "[2, 8]");
    CHECK(value("long_contexts") == "{ beyond_tokens = 9, prefill_chunk_tokens = 4, decode_attention_rate = 0.5 }");
    CHECK(value("expert_rate") == "absent");
}

TEST_CASE("a stated table reads back as it is") {
    const SoftwareStacks software = load_software(test::software_dir());
    for (const Engine& engine : software.engines) {
        std::string lines;
        for (const auto& [key, text] : stated_keys(engine.stack)) lines += std::string(key) + " = " + text + "\n";
        CAPTURE(engine.stack.name);
        const auto again = stated_keys(engine_with(lines));
        for (const auto& [key, text] : stated_keys(engine.stack)) {
            CAPTURE(key);
            CHECK(std::find(again.begin(), again.end(), std::pair{key, text}) != again.end());
        }
    }
}

TEST_CASE("misspelt keys, values out of range and keys that mean nothing are refused with their place") {
    CHECK(refusal("").empty());
    CHECK(refusal("matmul_rat = 0.5\n").find("matmul_rate") != std::string::npos);
    CHECK(refusal("matmul_rate = 1.5\n").find("card.toml:6") != std::string::npos);
    CHECK(refusal("fused_wide_attention = true\nfused_attention = false\n").find("has no effect") != std::string::npos);
    CHECK(refusal("copy_instructions = 4\nconcatenates_cache = false\n").find("has no effect") != std::string::npos);
    CHECK(refusal("versions = [\"1\"]\n").find("versions") != std::string::npos);
}
