#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;

namespace {

void collect(const json& value, std::set<std::string>& keys) {
    if (!value.is_structured()) return;
    for (const auto& [key, inner] : value.items()) {
        // What users name stands in these: GPUs, and keys of profiles.
        if (value.is_object() && !key.starts_with("fits_")) keys.insert(key);
        if ((key == "prices" || key == "assumed") && inner.is_object()) {
            for (const auto& [gpu, of_gpu] : inner.items()) collect(of_gpu, keys);
        } else if (key != "explained") {
            collect(inner, keys);
        }
    }
}

/// "latency_ms" of "latency_ms_low": both bounds of a figure are described with it.
std::string without_bound(const std::string& key) {
    for (const std::string_view bound : {"_low", "_high"}) {
        if (key.ends_with(bound)) return key.substr(0, key.size() - bound.size());
    }
    return key;
}

/// The part of docs/reference/json.md about the JSON of `command`.
std::string section(const std::string& command) {
    const std::string all = roofcast::test::text_of(roofcast::test::source_dir() / "docs" / "reference" / "json.md");
    const auto start = all.find("## `roofcast " + command + "`");
    return start == std::string::npos ? "" : all.substr(start, all.find("\n## ", start) - start);
}

}  // namespace

TEST_CASE("every key of the JSON output is documented") {
    const std::pair<const char*, const char*> runs[] = {
        {"predict", "predict --gpu a100 --model llama-3.1-8b --explain --execution compiled"},
        {"predict", "predict --gpu a100 --gpu t4 --model resnet50 --precision fp16"},
        {"predict", "predict --gpu a100 --model llama-3.1-8b --draft llama-3.2-1b --draft-tokens 4 --acceptance 0.7 --prefill-chunk 256"},
        {"predict", "predict --gpu a100 --model sd-1.5-txt2img"},
        {"sweep", "sweep --gpu a100 --model llama-3.1-8b --tp 1,2 --streams 1,2 --kv-block 16"},
        {"sweep", "sweep --gpu a100 --model sd-1.5-txt2img --steps 10,20"},
        {"pipeline", "pipeline " ROOFCAST_SOURCE_DIR "/docs/examples/retrieval.toml --against " ROOFCAST_SOURCE_DIR
                     "/docs/examples/retrieval-batched.toml"},
        {"memory", "memory --model llama-3.1-8b"},
        {"cost", "cost --gpu rtx-4090 --gpu a100 --model llama-3.1-8b"},
        {"compare", "compare --gpu rtx-4090 --gpu a100 --model llama-3.1-8b"},
        {"serve-sim", "serve-sim --gpu a100 --model llama-3.1-8b --rate 5 --requests 50 --slo ttft=200ms,tpot=30ms,latency=5s"},
        {"serve-sim", "serve-sim --gpu a100 --model llama-3.1-8b --find-rate --requests 50 --slo ttft=200ms"},
        {"recommend",
         "recommend --gpu a100-sxm4-80gb --gpu t4 --gpu a800 --model llama-3.1-8b --slo ttft=1s,tpot=30ms --rate 5 --budget 20"},
        {"gpu", "gpu list"},
        {"gpu", "gpu show a100-sxm4-80gb"},
        {"gpu", "gpu check"},
        {"model", "model list"},
        {"model", "model show resnet50"},
        {"accuracy", "accuracy --gpu h100 --model llama-3.1-8b"},
        {"calibrate", "calibrate --gpu t4 --kernels-only --stage streaming --evaluations 1 --folds 2"},
        {"calibrate", "calibrate --gpu p4 --kernels-only --stage streaming --evaluations 1 --folds 2 --data " ROOFCAST_SOURCE_DIR
                      "/validation_data/kernels/p4_fp32_pytorch.csv"},
    };
    for (const auto& [command, arguments] : runs) {
        CAPTURE(std::string(arguments));
        const auto result = roofcast::test::roofcast(std::string(arguments) + " --format json");
        REQUIRE(result.exit_code == 0);
        std::set<std::string> keys;
        collect(json::parse(result.output), keys);
        keys.erase("schema_version");
        const std::string described = section(command);
        for (const std::string& key : keys) {
            CAPTURE(key);
            CHECK(contains(described, '`' + without_bound(key) + '`'));
        }
    }
}
