// roofcast memory as a serving engine divides it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/compare.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::ProgramResult;
using roofcast::test::rel;

namespace {

ProgramResult memory_of_engine(const std::string& arguments, bool errors = false) {
    return roofcast::test::roofcast("memory " + arguments, errors);
}

}  // namespace

TEST_CASE("memory under vLLM prints the lines of its log, in 80 columns") {
    const ProgramResult result =
        memory_of_engine("--model llama-3.1-8b --gpu h100-sxm5-80gb --software 'vllm 0.19' --memory-fraction 0.95 --context 8192");
    CHECK(result.exit_code == 0);
    CHECK(contains(result.output, "GPU KV cache size: 47"));
    CHECK(contains(result.output, "Maximum concurrency for 8,192 tokens per request: 57."));
    CHECK(contains(result.output, "sequences of 8,192 tokens: 57"));
    CHECK(contains(result.output, "largest context: 131,072 tokens"));
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}

TEST_CASE("memory by storage on a GPU says how to ask for an engine's account, of language models alone") {
    CHECK(contains(memory_of_engine("--model llama-3.1-8b --gpu l40s").output, "--software NAME shows how a serving engine"));
    CHECK_FALSE(contains(memory_of_engine("--model llama-3.1-8b").output, "--software"));
    CHECK_FALSE(contains(memory_of_engine("--model resnet50 --gpu l40s").output, "--software"));
}

TEST_CASE("memory of an engine is the same in JSON and CSV") {
    const std::string arguments = "--model gpt-oss-120b --gpu h200-sxm-141gb --software vllm --context 32768 --format ";
    const json engine = json::parse(memory_of_engine(arguments + "json").output)["engines"][0];
    CHECK(engine["fits"] == true);
    CHECK(engine["padding_gib"].get<double>() > 5);
    const double parts = engine["weights_gib"].get<double>() + engine["activations_gib"].get<double>() +
                         engine["framework_gib"].get<double>() + engine["graphs_gib"].get<double>() + engine["kv_cache_gib"].get<double>();
    CHECK(parts == rel(0.92 * engine["gpu_memory_gib"].get<double>(), 1e-6));
    CHECK(engine["concurrency"].get<double>() * 32768 == rel(engine["kv_cache_tokens"].get<double>(), 1e-6));
    const std::string csv = memory_of_engine(arguments + "csv").output;
    CHECK(contains(csv.substr(0, csv.find('\n')), "kv_cache_tokens"));
    CHECK(contains(csv, std::to_string(engine["kv_cache_tokens"].get<std::int64_t>())));
}

TEST_CASE("a model that does not fit says so, with what would fit, and exits with 1") {
    const ProgramResult result = memory_of_engine("--model llama-3.1-70b --gpu h100-sxm5-80gb --software vllm");
    CHECK(result.exit_code == 1);
    CHECK(contains(result.output, "does not fit: not even one sequence of 131,072 tokens"));
    CHECK(contains(result.output, "would fit: "));
    CHECK_FALSE(contains(result.output, "Maximum concurrency"));
}

TEST_CASE("settings of engines are refused where no engine divides memory, and out of range") {
    const std::pair<const char*, const char*> wrong[] = {
        {"--model llama-3.1-8b --gpu l40s --context 4096", "--software"},
        {"--model llama-3.1-8b --software vllm --context 4096", "--gpu"},
        {"--model llama-3.1-8b --gpu l40s --software vllm --memory-fraction 1.5", "at most 1"},
        {"--model llama-3.1-8b --gpu l40s --software vllm --max-seqs 0", "--max-seqs"},
        {"--model llama-3.1-8b --gpu l40s --software vllm --context 1000000", "at most 131072"},
        {"--model llama-3.1-8b --gpu l40s --software vllm --batch 8", "--context"},
        {"--model llama-3.1-8b --gpu l40s --software vllm --offload 0.2", "--offload"},
        {"--model deepseek-v3 --gpu b300 --software vllm --mtp 1 --acceptance 0.8", "--mtp"},
        {"--model llama-3.1-8b --gpu l40s --software llama.cpp --memory-fraction 0.9", "--context"},
        {"--model resnet50 --gpu l40s --software vllm", "not a language model"}};
    for (const auto& [arguments, part] : wrong) {
        CAPTURE(std::string(arguments));
        const ProgramResult result = memory_of_engine(arguments, true);
        CHECK(result.exit_code == 2);
        CHECK(contains(result.output, part));
        CHECK(std::count(result.output.begin(), result.output.end(), '\n') <= 3);
    }
}
