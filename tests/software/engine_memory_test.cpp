// Tables [[memory]] of engines.
#include <doctest/doctest.h>

#include <fstream>

#include "roofcast/error.hpp"
#include "roofcast/software.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

const std::string sound_memory =
    "name = \"card\"\nmatch = [\"card\"]\nfraction_of = \"total\"\nfraction = 0.9\nsteps = [{ max_tokens = 512, max_sequences = 8 }]\n"
    "layout = \"groups\"\nblock_tokens = 16\nsource = \"a test\"\n";

SoftwareStacks software_with_memory(const std::string& lines) {
    const test::TemporaryFile ways("execution.toml", test::text_of(test::software_dir() / "execution.toml"));
    const auto engines = ways.path().parent_path() / "engines";
    std::filesystem::create_directory(engines);
    std::ofstream(engines / "card.toml") << lines;
    return load_software(ways.path().parent_path());
}

std::string memory_refusal(const std::string& lines) {
    try {
        static_cast<void>(software_with_memory("[[memory]]\n" + lines));
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

std::string memory_without(const std::string& key) {
    const std::size_t at = sound_memory.find(key + " = ");
    return sound_memory.substr(0, at) + sound_memory.substr(sound_memory.find('\n', at) + 1);
}

}  // namespace

TEST_CASE("shipped engines describe their memory, each version by the longest match") {
    const SoftwareStacks software = load_software(test::software_dir());
    const auto name_of = [&](const char* text) {
        const EngineMemory* found = engine_memory_of(software.memory, text);
        return found == nullptr ? std::string() : found->name;
    };
    CHECK(name_of("vllm") == "vllm");
    CHECK(name_of("vllm 0.19.0") == "vllm-0.20");
    CHECK(name_of("vllm==0.14.1") == "vllm-0.18");
    CHECK(name_of("vllm v0.6.3") == "vllm-0.7");
    CHECK(name_of("vLLM 0.27") == "vllm-0.28");
    CHECK(name_of("sglang 0.5.9") == "sglang");
    CHECK(name_of("trtllm") == "tensorrt-llm");
    CHECK(name_of("ollama 0.30") == "llama.cpp");
    CHECK(name_of("pytorch").empty());
    CHECK(name_of("").empty());
    for (const EngineMemory& table : software.memory) {
        CAPTURE(table.name);
        CHECK(table.source.size() > 30);
        CHECK_FALSE(table.steps.empty());
    }
}

TEST_CASE("a table takes over what the one that it is like says") {
    const SoftwareStacks software =
        software_with_memory("[[memory]]\n" + sound_memory + "[[memory]]\nname = \"card-2\"\nlike = \"card\"\nmatch = [\"card 2\"]\n" +
                             "fraction = 0.8\nsource = \"a test\"\n");
    REQUIRE(software.memory.size() == 2);
    CHECK(software.memory[1].fraction == 0.8);
    CHECK(software.memory[1].steps.front().max_tokens == 512);
    CHECK(software.memory[1].layout == CacheLayout::groups);
}

TEST_CASE("what is missing, misspelt or out of range is named with file and key") {
    for (const char* key : {"name", "match", "fraction_of", "fraction", "steps", "layout", "block_tokens", "source"}) {
        CAPTURE(key);
        const std::string text = memory_refusal(memory_without(key));
        CHECK(text.find(key) != std::string::npos);
        CHECK(text.find("card.toml") != std::string::npos);
    }
    CHECK(memory_refusal(sound_memory).empty());
    CHECK(memory_refusal(sound_memory + "frameword_mib = 3\n").find("framework_mib") != std::string::npos);
    CHECK(memory_refusal(memory_without("layout") + "layout = \"group\"\n").find("groups") != std::string::npos);
    CHECK(memory_refusal(memory_without("fraction") + "fraction = 1.5\n").find("fraction") != std::string::npos);
    CHECK(memory_refusal(memory_without("steps") + "steps = [{ max_tokens = 0, max_sequences = 8 }]\n").find("max_tokens") !=
          std::string::npos);
    CHECK(memory_refusal(sound_memory + "padding = [{ hiden = 256 }]\n").find("hidden") != std::string::npos);
    CHECK(memory_refusal(sound_memory + "graph_sizes = [{ from = 8, to = 4 }]\n").find("to") != std::string::npos);
    CHECK(
        memory_refusal(sound_memory + "[[memory]]\nname = \"b\"\nlike = \"cards\"\nmatch = [\"b\"]\nsource = \"a test\"\n").find("card") !=
        std::string::npos);
}
