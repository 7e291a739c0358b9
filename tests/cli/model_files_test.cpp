// Models in the files that others publish.
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using roofcast::test::contains;
using roofcast::test::only_prediction;
using roofcast::test::printed;
using roofcast::test::refused;
using roofcast::test::rel;

namespace {

std::string example() {
    return (roofcast::test::source_dir() / "docs/examples/Llama-3.1-8B-Q4_K_M.gguf").string();
}

}  // namespace

TEST_CASE("a GGUF file is predicted with its own weights, by every command that takes a model") {
    const std::string file = example();
    const nlohmann::json prediction = only_prediction(printed("predict --model " + file + " --gpu rtx-4090 --format json"));
    CHECK(prediction.at("memory").at("weights_gb").get<double>() == rel(4.912898304, 1e-9));
    CHECK(contains(printed("memory --model " + file), "q4_k_m"));
    CHECK(contains(printed("model show " + file), "GGUF file"));
    CHECK(contains(printed("sweep --model " + file + " --gpu rtx-4090 --batch 1,2"), "q4_k_m"));
    CHECK(contains(printed("serve-sim --model " + file + " --gpu rtx-4090 --rate 1 --requests 4"), "TPOT"));
    CHECK(contains(printed("recommend --model " + file + " --gpu rtx-4090 --slo ttft=2000ms,tpot=100ms"), "q4_k_m"));
}

TEST_CASE("a note says where a prediction does not take the formats that a file stores") {
    const std::string question = "predict --gpu h100-sxm5-80gb --model " + example();
    const std::string stored = "stores weights in q4_k_m, 4.894 bits a weight; the prediction assumes ";
    CHECK(contains(printed(question + " -p fp8"), stored + "fp8 instead"));
    CHECK(contains(printed(question + " --weights int8"), stored + "int8 instead"));
    for (const char* same : {"", " --weights q4_k_m", " -p bf16"}) CHECK_FALSE(contains(printed(question + same), "instead"));
    CHECK(contains(printed(question), "q4_k_m, 4.894 bits a weight, 4.913 GB"));
}

TEST_CASE("a weight format that is unknown lists those of llama.cpp") {
    CHECK(contains(refused("predict --gpu rtx-4090 --model llama-3.1-8b --weights no-such-format"), "iq3_xxs"));
}
