#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "roofcast/software.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

const SoftwareStacks& described() {
    static const SoftwareStacks software = load_software(test::software_dir());
    return software;
}

std::string chosen(std::string_view software, Execution execution = Execution::cuda_graph) {
    const Engine* engine = described().engine(execution, software);
    return engine == nullptr ? "" : engine->stack.name;
}

}  // namespace

TEST_CASE("a version is understood however it is written") {
    for (const char* text : {"vllm 0.7", "vllm 0.7.3", "vllm v0.7.3", "vllm==0.7.3", "vllm-0.7.3", "vllm@0.7", "vLLM 0.7.3"}) {
        CAPTURE(text);
        CHECK(chosen(text) == "vllm-0.7");
    }
    for (const char* text : {"sglang 0.4.6", "sglang v0.4.6", "sglang==0.4.6"}) CHECK(chosen(text) == "sglang-0.4");
    for (const char* text : {"sglang 0.5.9", "sglang v0.5.9", "sglang-0.5.9"}) CHECK(chosen(text) == "sglang-0.5");
    CHECK(chosen("pytorch 2.5+cu124", Execution::eager) == "pytorch-2.5");
    CHECK(chosen("vllm-0.7") == "vllm-0.7");
    CHECK(chosen("vllm") == "vllm");
    CHECK(chosen("vllm 0.24.1") == "vllm");
    CHECK(chosen("tensorrt-llm-0.8") == "tensorrt-llm-2024");
    CHECK(chosen("vllmm").empty());
    CHECK(chosen("").empty());
    CHECK(chosen("-").empty());
    CHECK(chosen("0.7").empty());
}

TEST_CASE("an engine is found by its name where it runs that way") {
    CHECK(chosen("transformers-4.51", Execution::eager) == "transformers-4.51");
    CHECK(chosen("transformers-4.51", Execution::tensorrt).empty());
}

TEST_CASE("known versions hold what lies between them") {
    const KnownVersions known{"0.8", "0.24"};
    for (const char* text : {"vllm", "vllm 0.8", "vllm 0.8.5", "vllm 0.9", "vllm 0.24", "vllm 0.24.3", "vllm==0.10.1", "vllm nightly"}) {
        CAPTURE(text);
        CHECK(known.hold(text));
    }
    for (const char* text : {"vllm 0.7.9", "vllm 0.30 nightly", "vllm 0.25", "vllm 1.0", "vllm-0.25.0rc1"}) {
        CAPTURE(text);
        CHECK_FALSE(known.hold(text));
    }
}

TEST_CASE("a family names all its engines, a name one") {
    const auto vllm = described().named("vllm");
    CHECK(vllm.size() >= 5);
    CHECK(std::all_of(vllm.begin(), vllm.end(), [](const Engine* engine) { return engine->family == "vllm"; }));
    REQUIRE(described().named("vllm-0.7").size() == 1);
    REQUIRE(described().named("vllm 0.6.3").size() == 1);
    CHECK(described().named("vllm 0.6.3").front()->stack.name == "vllm-0.6");
    CHECK(described().named("no such engine").empty());
}

TEST_CASE("every engine is alone with its name") {
    std::vector<std::string> names;
    for (const Engine& engine : described().engines) names.push_back(engine.stack.name);
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}
