#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::refused;
using roofcast::test::rel;

namespace {

const std::string run = "predict --gpu a100-sxm4-80gb --model llama-3.1-8b --precision bf16 ";

json with_techniques(const std::string& options) {
    return roofcast::test::only_prediction(roofcast::test::printed(run + "--format json " + options));
}

std::string technique_refused(const std::string& options) {
    return roofcast::test::refused(run + options);
}

}  // namespace

TEST_CASE("scenario: techniques off print what a plain run prints") {
    const std::string plain = roofcast::test::roofcast(run).output;
    CHECK(roofcast::test::roofcast(run + "--cached-prefix 0 --offload 0 --kv-block 1").output == plain);
    CHECK_FALSE(with_techniques("").contains("techniques"));
}

TEST_CASE("scenario: techniques say what they are and what they bring") {
    const json p = with_techniques("--draft llama-3.2-1b --draft-tokens 4 --acceptance 0.8 --cached-prefix 0.25 --kv-block 16");
    CHECK(p["techniques"]["draft"] == "llama-3.2-1b");
    CHECK(p["techniques"]["cached_prefix"] == 0.25);
    CHECK(p["techniques"]["prefill_chunk"].is_null());
    // 1 + 0.8 + 0.64 + 0.512 + 0.4096
    CHECK(p["speculation"]["tokens_per_iteration"].get<double>() == rel(3.3616, 1e-9));
    CHECK(p["tpot_ms"].get<double>() ==
          rel(p["speculation"]["plain_tpot_ms"].get<double>() / p["speculation"]["speedup"].get<double>(), 1e-9));
    REQUIRE(p["phases"].size() == 4);
    CHECK(p["phases"][3]["phase"] == "verify");
    CHECK(contains(p["notes"].dump(), "Leviathan"));
}

TEST_CASE("scenario: wrong techniques are refused with one message that names the option") {
    for (const char* option :
         {"--offload -1", "--offload nan", "--offload 1.5", "--offload abc", "--offload 1e999", "--cached-prefix 1", "--cached-prefix inf",
          "--prefill-chunk 0", "--prefill-chunk 1.5", "--kv-block 99999999999999999999", "--kv-block 0", "--kv-block 16tokens"}) {
        const std::string text = option;
        CHECK(contains(technique_refused(text), text.substr(0, text.find(' '))));
    }
    CHECK(contains(technique_refused("--draft llama-3.2-1b"), "--draft-tokens"));
    CHECK(contains(technique_refused("--acceptance 0.5"), "--draft"));
    CHECK(contains(technique_refused("--draft llama-3.2-1b --draft-tokens 4 --acceptance 1.5"), "--acceptance"));
    CHECK(contains(technique_refused("--draft llama-3.2-1c --draft-tokens 4 --acceptance 0.5"), "--draft: unknown model"));
    CHECK(contains(technique_refused("--draft llama-3.2-1c --draft-tokens 4 --acceptance 0.5"), "llama-3.2-1b"));
    CHECK(contains(technique_refused("--draft bert-base --draft-tokens 4 --acceptance 0.5"), "language model"));
}

TEST_CASE("scenario: a model's own prediction module drafts in predict and under load") {
    const std::string predicted = "predict --gpu h200 --model zai-org/GLM-4.5-Air --tp 2 ", mtp = "--mtp 1 --acceptance 0.85 ";
    const json plain = roofcast::test::only_prediction(roofcast::test::printed(predicted + "--format json")),
               drafted = roofcast::test::only_prediction(roofcast::test::printed(predicted + mtp + "--format json"));
    CHECK(drafted["speculation"]["tokens_per_iteration"].get<double>() == rel(1.85, 1e-9));
    CHECK(drafted["tpot_ms"].get<double>() < plain["tpot_ms"].get<double>());
    CHECK(contains(roofcast::test::roofcast(predicted + mtp).output, "multi-token prediction: 1.85 tokens expected of 1 draft step and"));
    const std::string served = "serve-sim --gpu h200 --model zai-org/GLM-4.5-Air --tp 2 --concurrency 8 --requests 64 --format json ";
    const json load = json::parse(roofcast::test::printed(served)), faster = json::parse(roofcast::test::printed(served + mtp));
    CHECK(faster["speculation"]["tokens_per_step"].get<double>() == rel(1.85, 1e-9));
    CHECK(load["speculation"].is_null());
    CHECK(faster["latencies"][1]["mean_ms"].get<double>() < load["latencies"][1]["mean_ms"].get<double>());
    CHECK(faster["memory"]["kv_token_kb"].get<double>() > load["memory"]["kv_token_kb"].get<double>());
    CHECK(contains(refused("predict --gpu h200 --model llama-3.1-8b " + mtp), "--mtp: llama-3.1-8b has no multi-token prediction module"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 " + mtp), "--mtp: resnet50 generates no text"));
    CHECK(contains(refused(predicted + "--mtp 1"), "--acceptance"));
    CHECK(contains(refused(predicted + "--mtp 0 --acceptance 0.5"), "--mtp"));
    CHECK(contains(refused(predicted + mtp + "--draft llama-3.2-1b"), "--draft"));
    CHECK(contains(refused(predicted + "--mtp 1 --acceptance 1.5"), "--acceptance"));
    CHECK(contains(refused("serve-sim --gpu h200 --model llama-3.1-8b --rate 1 " + mtp), "--mtp"));
}

TEST_CASE("scenario: memory takes techniques too") {
    const auto total = [](const std::string& options) {
        const auto result = roofcast::test::roofcast("memory --model llama-3.1-8b --weights bf16 --format json " + options);
        REQUIRE(result.exit_code == 0);
        return json::parse(result.output)["rows"][0]["total_gb"].get<double>();
    };
    // 30 of 32 layers of 218 112 000 weights, 2 bytes: two layers have buffers.
    CHECK(total("") - total("--offload 1") == rel(30 * 2 * 0.218112, 1e-6));
    CHECK(total("--draft llama-3.2-1b --draft-tokens 4 --acceptance 0.8") > total("") + 2);
}
