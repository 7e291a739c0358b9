#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

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

std::string text_of_file(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

const std::string two_gpus = "--gpu h100-sxm5-80gb --model llama-3.1-8b --tp 2 --batch 8 --prompt 256 --generate 64 ";

}  // namespace

TEST_CASE("a trace has each phase with its pass, and operators that fill it") {
    const TemporaryFile trace("trace.json", "");
    const json p = roofcast::test::only_prediction(printed("predict " + two_gpus + "--format json --trace " + trace.path().string()));
    const json events = json::parse(text_of_file(trace.path())).at("traceEvents");
    std::map<std::string, double> phases, tracks;
    double end = 0;
    int layers = 0;
    for (const json& e : events) {
        if (e.at("ph") != "X") continue;
        if (e.at("cat") == "phase") phases[e.at("name")] = e.at("dur");
        if (e.at("cat") == "layer") ++layers;
        tracks[e.at("cat")] += e.at("dur").get<double>();
        end = std::max(end, e.at("ts").get<double>() + e.at("dur").get<double>());
    }
    // Prefill has one pass; decode has 63, of which one is drawn: 2 phases.
    REQUIRE(phases.size() == 2);
    CHECK(phases.at("prefill") == rel(1000 * p["phases"][0]["latency_ms"].get<double>(), 1e-6));
    CHECK(phases.count("decode (1 of 63 passes)") == 1);
    CHECK(end == rel(phases.at("prefill") + phases.at("decode (1 of 63 passes)"), 1e-6));
    // 32 layers in each pass, and what comes before and after them.
    CHECK(layers >= 64);
    CHECK(tracks.count("all_reduce") == 1);
    CHECK(tracks.count("gemm") == 1);
}

TEST_CASE("--emit prints a script that a shell accepts, with the degrees and the load of the prediction") {
    const TemporaryFile script("serve.sh", "");
    CHECK(printed("predict " + two_gpus + "--emit vllm --output " + script.path().string()).empty());
    CHECK(std::system(("sh -n " + script.path().string()).c_str()) == 0);
    const std::string text = text_of_file(script.path());
    CHECK(contains(text, "vllm serve meta-llama/"));
    CHECK(contains(text, "--tensor-parallel-size 2"));
    CHECK(contains(text, "--random-input-len 256 --random-output-len 64"));
    CHECK(contains(text, "--max-concurrency 8"));
    CHECK(contains(text, "# Predicted TPOT: "));
}

TEST_CASE("a launch script states the fraction and the step that memory states for the same engine, version and GPU") {
    const auto stated = [](const std::string& engine, const std::string& version, const std::string& gpu) {
        const std::string where = " --gpu " + gpu + " --model llama-3.2-1b --software '" + version + "'";
        const std::string script = printed("predict --emit " + engine + where);
        const json memory = json::parse(printed("memory --format json" + where)).at("engines").at(0);
        const std::string fraction = fmt::format("{:.4g} ", memory.at("memory_fraction").get<double>());
        const auto tokens = fmt::format(" {} ", memory.at("max_tokens").get<int>());
        CAPTURE(script);
        CHECK(contains(script, fraction));
        CHECK(contains(script, tokens));
        return fraction + tokens;
    };
    // Defaults of `software/engines`: `fraction` and the last of `steps` that fits the GPU.
    CHECK(stated("vllm", "vllm", "h100-sxm5-80gb") == "0.92  8192 ");
    CHECK(stated("vllm", "vllm", "rtx-4090") == "0.92  2048 ");
    CHECK(stated("vllm", "vllm 0.11.2", "h100-sxm5-80gb") == "0.9  8192 ");
    static_cast<void>(stated("sglang", "sglang", "rtx-4090"));
    CHECK(stated("trtllm", "tensorrt-llm", "h100-sxm5-80gb") == "0.9  8192 ");
}

TEST_CASE("recommend emits the deployment that ranks first") {
    const std::string question =
        "recommend --gpu rtx-4090 --model llama-3.1-8b --slo ttft=1s,tpot=50ms --rate 2/s --prompt 256 --generate 64";
    const json best = json::parse(printed(question + " --format json")).at("cheapest").at("expected");
    const std::string text = printed(question + " --emit sglang");
    CHECK(contains(text, "--max-running-requests " + std::to_string(best.at("batch").get<int>())));
    CHECK(contains(text, "--request-rate 2"));
    const int tensor = best.at("tensor_parallel").get<int>();
    CHECK(contains(text, "--tp-size") == (tensor > 1));
}

TEST_CASE("a launch script of a GGUF file names the file") {
    const std::string file = ROOFCAST_SOURCE_DIR "/docs/examples/Llama-3.1-8B-Q4_K_M.gguf";
    const std::string text = printed("predict --gpu rtx-a5000 --software llama.cpp --batch 8 --emit llama.cpp --model " + file);
    CHECK(contains(text, "--model " + file));
    CHECK(contains(text, "--parallel 8"));
    CHECK_FALSE(contains(text, "Convert the checkpoint"));
}

TEST_CASE("a launch script of an engine that reserves contexts has no more sequences than fit") {
    const std::string file = ROOFCAST_SOURCE_DIR "/docs/examples/Llama-3.1-8B-Q4_K_M.gguf";
    const std::string text =
        printed("recommend --gpu rtx-a5000 --rate 1/s --slo tpot=50ms --software llama.cpp --max-gpus 1 --emit llama.cpp --model " + file);
    // 24 GiB less 4.9 GB of weights hold fewer than 256 caches of 640 tokens and 131 kB each, 21.5 GB.
    CHECK(contains(text, "--parallel "));
    CHECK_FALSE(contains(text, "--parallel 256"));
}

TEST_CASE("--emit has the flags of the version that --software names, however that is spelled") {
    // vLLM 0.8.5 takes 0.9 of the memory, the newest version 0.92.
    for (const char* name : {"vllm-0.8.5", "vLLM-0.8.5"}) {
        const std::string script = printed(std::string("predict --gpu h100-sxm5-80gb --model llama-3.1-8b --emit vllm --software ") + name);
        CHECK(contains(script, "--gpu-memory-utilization 0.9 "));
    }
}

TEST_CASE("--emit is refused where there is nothing to launch") {
    CHECK(contains(refused("predict --gpu t4 --model resnet50 --emit vllm"), "generate text"));
    CHECK(contains(refused("predict " + two_gpus + "--emit vlm"), "did you mean vllm?"));
    CHECK(contains(refused("predict " + two_gpus + "--emit vllm --format json"), "shell script"));
    CHECK(contains(refused("predict --gpu t4 --gpu l4 --model llama-3.1-8b --emit vllm"), "name one of each"));
    // A shell that is given the output runs nothing.
    for (const char* question : {"predict --gpu t4 --model llama-3.1-70b --emit vllm",
                                 "recommend --gpu t4 --model llama-3.1-8b --rate 1/s --slo tpot=1ms --emit vllm"}) {
        const auto run = roofcast::test::roofcast(question);
        CHECK(run.exit_code == 1);
        CHECK(run.output.empty());
    }
}

TEST_CASE("a script names what its flags leave out of the prediction") {
    const std::string text = printed(
        "predict --gpu h100-sxm5-80gb --model llama-3.1-8b --software vllm --draft llama-3.2-1b --draft-tokens 4 --acceptance 0.7 "
        "--cached-prefix 0.5 --emit vllm");
    CHECK(contains(text, "llama-3.2-1b drafts 4"));
    CHECK(contains(text, "50 % of each prompt is cached"));
    CHECK_FALSE(contains(printed("predict --gpu h100-sxm5-80gb --model llama-3.1-8b --emit vllm"), "Not in these flags"));
}

TEST_CASE("a model is found by its name") {
    CHECK(contains(printed("predict --gpu h100-sxm5-80gb --model 'Llama 3.1 8B'"), "Llama 3.1 8B on H100"));
}

TEST_CASE("the simulated engine has the steps and the memory that memory states for it") {
    for (const std::string engine : {"vllm", "vllm 0.11.2", "sglang", "tensorrt-llm", "llama.cpp"}) {
        for (const std::string gpu : {"rtx-4090", "h100-sxm5-80gb"}) {
            const std::string where = " --format json --model llama-3.2-1b --gpu " + gpu + " --software '" + engine + "'";
            const json memory = json::parse(printed("memory" + where)).at("engines").at(0);
            const json simulated = json::parse(printed("serve-sim --concurrency 2 --requests 4" + where));
            CAPTURE(where);
            CHECK(simulated.at("settings").at("max_tokens") == memory.at("max_tokens"));
            CHECK(simulated.at("settings").at("max_sequences") == memory.at("max_seqs"));
            const double fraction = memory.at("memory_fraction").is_null() ? 1 : memory.at("memory_fraction").get<double>();
            CHECK(simulated.at("settings").at("memory_fraction").get<double>() == doctest::Approx(fraction));
            constexpr double gib_in_gb = 1.073741824;
            for (const std::string part : {"weights", "activations"})
                CHECK(simulated.at("memory").at(part + "_gb").get<double>() ==
                      doctest::Approx(memory.at(part + "_gib").get<double>() * gib_in_gb));
            if (engine != "llama.cpp") CHECK(simulated.at("memory").at("kv_tokens") == memory.at("kv_cache_tokens"));
        }
    }
}
