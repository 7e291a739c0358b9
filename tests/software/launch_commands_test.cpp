#include "roofcast/launch_commands.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using doctest::Contains;

namespace {

LaunchRequest request() {
    LaunchRequest r;
    r.model = "org/net";
    r.run.precision = Precision::bf16;
    r.run.batch = 8;
    r.run.prompt_tokens = 100;
    r.run.generate_tokens = 28;
    r.scheduler.memory_fraction = 0.9;
    return r;
}

std::string script(const std::string& engine, const LaunchRequest& of) {
    const auto templates = load_launch_templates(test::software_dir());
    return launch_script(find_launch_template(templates, engine), of);
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a launch command has the flags that differ from the engine's defaults") {
    LaunchRequest of = request();
    CHECK_FALSE(has(script("vllm", of), "--tensor-parallel-size"));
    of.run.parallel.tensor = 4;
    of.run.kv_precision = Precision::fp8;
    const std::string text = script("vllm", of);
    CHECK(has(text, "vllm serve org/net"));
    CHECK(has(text, "--tensor-parallel-size 4"));
    CHECK(has(text, "--kv-cache-dtype fp8"));
    CHECK(has(text, "--max-num-seqs 8"));
    CHECK(has(text, "--max-model-len 128"));  // 100 prompt and 28 output tokens
    CHECK_FALSE(has(text, "--quantization"));
    CHECK_FALSE(has(text, " {"));  // no placeholder is left
}

TEST_CASE("the benchmark sends a rate, or as many users as sequences at once") {
    LaunchRequest of = request();
    CHECK(has(script("sglang", of), "--max-concurrency 8"));
    CHECK_FALSE(has(script("sglang", of), "--request-rate"));
    of.rate = 6;
    CHECK(has(script("sglang", of), "--request-rate 6"));
    CHECK_FALSE(has(script("sglang", of), "--max-concurrency"));
}

TEST_CASE("copies that the engine does not run itself are loaded one by one") {
    LaunchRequest of = request();
    of.rate = 6;
    of.run.parallel.data = 3;
    CHECK(has(script("vllm", of), "--data-parallel-size 3"));
    CHECK(has(script("vllm", of), "--request-rate 6"));
    const std::string text = script("trtllm", of);
    CHECK(has(text, "# Start 3 copies"));
    CHECK(has(text, "--request-rate 2"));
}

TEST_CASE("formats that an engine has no flag for come from the checkpoint, and the script says so") {
    LaunchRequest of = request();
    of.run.weights = parse_weight_format("awq-int4");
    CHECK(has(script("vllm", of), "# There is no flag for weights in awq-int4"));
    of.run.weights = parse_weight_format("q4_k_m");
    CHECK(has(script("llama.cpp", of), "llama-server --model net-q4_k_m.gguf"));
    CHECK(has(script("llama.cpp", of), "--ctx-size 1024"));  // 8 sequences of 128 tokens
}

TEST_CASE("the benchmark of llama.cpp splits the model and stores the cache as the server does") {
    LaunchRequest of = request();
    of.run.kv_precision = Precision::int8;
    of.run.parallel.tensor = 4;
    std::string text = script("llama.cpp", of);
    CHECK(has(text, "--split-mode row"));
    CHECK(has(text, "--cache-type-k q8_0 --cache-type-v q8_0 --flash-attn on"));
    CHECK(has(text, "-sm row"));
    CHECK(has(text, "-ctk q8_0 -ctv q8_0 -fa on"));
    of.run.kv_precision = Precision::fp16;
    of.run.parallel.tensor = 1;
    text = script("llama.cpp", of);
    for (const char* flag : {"--split-mode", "-sm ", "-ctk", "-fa "}) CHECK_FALSE(has(text, flag));
}

TEST_CASE("a model's path is one word of the shell, whatever stands in it") {
    LaunchRequest of = request();
    of.model = "my model; touch it's";
    of.remarks = {"a line\nand another"};
    const std::string text = script("vllm", of);
    CHECK(has(text, "vllm serve 'my model; touch it'\\''s' "));
    CHECK(has(text, "# a line and another\n"));
    of.model = "folder/net.gguf";
    CHECK(has(script("llama.cpp", of), "llama-server --model folder/net.gguf"));
}

TEST_CASE("an unknown engine is refused with those that are known") {
    const auto templates = load_launch_templates(test::software_dir());
    CHECK_THROWS_WITH_AS(find_launch_template(templates, "vlm"), Contains("did you mean vllm?"), Error);
}

TEST_CASE("unknown placeholders and names that occur twice are refused at their line") {
    const auto refused = [](const std::string& text) {
        const test::TemporaryFile file("launch.toml", text);
        return load_launch_templates(file.path().parent_path());
    };
    const std::string one =
        "[[launch]]\nname = \"a\"\nsoftware = \"a\"\nversion = \"1\"\nsource = \"s\"\nserve = [\"a {modle}\"]\nbenchmark = [\"b\"]\n";
    CHECK_THROWS_WITH_AS(refused(one), Contains("serve: unknown placeholder; found modle"), Error);
    std::string two = one;
    two.replace(two.find("modle"), 5, "model");
    CHECK(refused(two).size() == 1);
    CHECK_THROWS_WITH_AS(refused(two + two), Contains("the name occurs twice"), Error);
}
