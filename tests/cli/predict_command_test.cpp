#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::refused;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

json all_predicted(const std::string& arguments) {
    return json::parse(roofcast::test::printed("predict --format json " + arguments));
}

json predicted(const std::string& arguments) {
    return roofcast::test::only_prediction(roofcast::test::printed("predict --format json " + arguments));
}

}  // namespace

TEST_CASE("a language model has TTFT, TPOT, and an end-to-end latency made of both") {
    const json p = predicted("--gpu a100-sxm4-80gb --model llama-3.1-8b --precision fp16 --prompt 512 --generate 128");
    CHECK(all_predicted("--gpu t4 --model resnet50")["schema_version"] == 2);
    // Prefill yields the first of 128 tokens, 127 decode steps the others.
    CHECK(p["latency_ms"].get<double>() == rel(p["ttft_ms"].get<double>() + 127 * p["tpot_ms"].get<double>(), 1e-6));
    // 16 GB of weights at 2039 GB/s: no step is under 7.4 ms.
    CHECK(p["tpot_ms"].get<double>() > 7.4);
    CHECK(p["tpot_ms"].get<double>() < 20);
    CHECK(p["fits"] == true);
    CHECK(p["memory"]["weights_gb"].get<double>() == rel(16.06, 0.01));
    // 32 layers, 8 KV heads of 128, keys and values, 2 bytes, 640 tokens: 32 * 2 * 8 * 128 * 2 * 640 = 83.9 MB.
    CHECK(p["memory"]["kv_cache_gb"].get<double>() == rel(0.0839, 0.01));
}

TEST_CASE("a model that does not fit says by how much and what would") {
    const auto result = roofcast::test::roofcast("predict --gpu rtx-4090 --model llama-3.1-70b --precision fp16");
    CHECK(result.exit_code == 1);
    CHECK(contains(result.output, "It does not fit: needs 14"));
    CHECK(contains(result.output, " GB usable, 1"));
    CHECK(contains(result.output, "tensor parallelism over 8 GPUs"));
}

TEST_CASE("a vision-language model shows its vision and language parts apart") {
    const json p = predicted("--gpu rtx-4090 --model qwen2.5-vl-3b --precision bf16 --image-size 448");
    REQUIRE(p["phases"].size() == 3);
    CHECK(p["phases"][0]["phase"] == "vision");
    CHECK(p["phases"][1]["phase"] == "prefill");
    CHECK(p["phases"][2]["phase"] == "decode");
}

TEST_CASE("several GPUs or models give a row each") {
    const json p = all_predicted("--gpu v100 --gpu a100 --model resnet50 --model bert-large --precision fp16");
    CHECK(p["predictions"].size() == 4);
}

TEST_CASE("--explain lists costliest operators, fused ones and the provenance of parameters") {
    const json p = predicted("--gpu a100 --model resnet50 --precision fp16 --batch 32 --execution compiled --explain");
    const json& phase = p["explain"]["phases"][0];
    CHECK(phase["operators"].size() <= 10);
    CHECK_FALSE(phase["operators"].empty());
    CHECK_FALSE(phase["fused"].empty());
    REQUIRE_FALSE(p["explain"]["parameters"].empty());
    CHECK(p["explain"]["parameters"][0].contains("provenance"));
}

TEST_CASE("--explain counts a fused operator once for each layer that has it") {
    const auto times = [](const json& p, const char* name) {
        std::int64_t count = 0;
        for (const json& row : p["explain"]["phases"][0]["fused"]) {
            if (row["operator"] == name) count += row["times"].get<std::int64_t>();
        }
        return count;
    };
    const json resnet = predicted("--gpu a100 --model resnet50 --precision fp16 --execution tensorrt --explain");
    // A convolution at the start, 16 blocks of three and four on shortcuts are normalized; the first, two in each block and its sum are
    // activated.
    CHECK(times(resnet, "batchnorm") == 1 + 16 * 3 + 4);
    CHECK(times(resnet, "relu") == 1 + 16 * 3);
    CHECK(times(resnet, "add") == 16);
    const json bert = predicted("--gpu a100 --model bert-large --precision fp16 --execution tensorrt --explain");
    CHECK(times(bert, "gelu") == 24);
}

TEST_CASE("--explain explains each of several predictions, and is refused for CSV") {
    const std::string run = "predict --gpu a100 --gpu v100-sxm2-16gb --model resnet50 --model bert-large --precision fp16 --explain";
    const std::string text = roofcast::test::roofcast(run).output;
    for (const char* title : {"resnet50 on a100-sxm4-80gb, forward: costliest", "bert-large on v100-sxm2-16gb, forward: costliest",
                              "bert-large on v100-sxm2-16gb, Parameters"}) {
        CAPTURE(title);
        CHECK(contains(text, title));
    }
    const json several = all_predicted("--gpu a100 --gpu t4 --model resnet50 --precision fp16 --explain");
    CHECK(several["predictions"][1]["explain"]["parameters"].size() > 10);
    CHECK(contains(refused(run + " --format csv"), "--explain"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --explain --format csv"), "--explain"));
}

TEST_CASE("--explain lists parameters of the kernels that run, and no others") {
    const auto listed = [](const std::string& arguments) {
        const json parameters = predicted(arguments + " --explain")["explain"]["parameters"];
        return [parameters](const std::string& group) {
            return std::any_of(parameters.begin(), parameters.end(),
                               [&](const json& p) { return p["parameter"].get<std::string>().starts_with(group); });
        };
    };
    const auto llm = listed("--gpu a100 --model llama-3.1-8b --precision fp16");
    for (const char* used : {"gemm.tensor16.", "attention.", "row_wise.", "power.tensor16_pj", "power.dram"}) CHECK(llm(used));
    for (const char* other :
         {"quantization.", "convolution.", "moe.", "collective.", "gemm.simt.", "gemm.tensor8.", "weight_only.", "copy."}) {
        CAPTURE(other);
        CHECK_FALSE(llm(other));
    }
    const auto net = listed("--gpu a100 --model resnet50 --precision fp16");
    CHECK(net("convolution."));
    CHECK_FALSE(net("attention."));
    const auto weight_only = listed("--gpu a100 --model llama-3.1-8b --precision fp16 --weights int4");
    CHECK(weight_only("weight_only."));
    CHECK_FALSE(weight_only("quantization."));
    CHECK(listed("--gpu h100 --model llama-3.1-8b --precision fp8")("quantization.tensor8."));
    CHECK(listed("--gpu h100 --model llama-3.1-8b --precision fp16 --tp 2")("collective."));
}

TEST_CASE("CSV has a header and one row for one prediction") {
    const auto result = roofcast::test::roofcast("predict --format csv --gpu t4 --model resnet50 --precision fp16");
    CHECK(result.exit_code == 0);
    CHECK(std::count(result.output.begin(), result.output.end(), '\n') == 2);
    CHECK(result.output.starts_with("model,gpu,precision"));
}

TEST_CASE("the memory table holds what arithmetic says") {
    const auto result = roofcast::test::roofcast("memory --format json --model llama-2-7b");
    REQUIRE(result.exit_code == 0);
    const json rows = json::parse(result.output)["rows"];
    REQUIRE(rows.size() == 5);
    // 6.738e9 parameters at 4 and 2 bytes; int8 and int4 leave embeddings and head in 16 bits, so they stay a little above 1 and 0.53
    // bytes.
    CHECK(rows[0]["weights_gb"].get<double>() == rel(26.95, 0.01));
    CHECK(rows[1]["weights_gb"].get<double>() == rel(13.48, 0.01));
    CHECK(rows[2]["storage"] == "fp8");
    CHECK(rows[2]["weights_gb"].get<double>() == rel(7.0, 0.03));
    CHECK(rows[3]["weights_gb"].get<double>() == rel(7.0, 0.03));
    CHECK(rows[4]["weights_gb"].get<double>() == rel(3.9, 0.05));
}

TEST_CASE("wrong sizes are refused with the option's name") {
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --batch 0"), "--batch"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --batch -3"), "--batch"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --batch many"), "--batch"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --prompt 0"), "--prompt"));
    CHECK(contains(refused("predict --gpu a100 --model llama-2-7b --prompt 100000"), "4096"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --image-size 0"), "--image-size"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --tp 3"), "--tp"));
    CHECK(contains(refused("predict --gpu a100 --model llama-3.1-8b --gpus 8 --tp 2"), "--gpus"));
}

TEST_CASE("unknown names are refused with the nearest ones") {
    CHECK(contains(refused("predict --gpu a10O --model resnet50"), "a100"));
    CHECK(contains(refused("predict --gpu a100 --model resnet5"), "did you mean resnet50"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --precision fp61"), "fp16"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --execution graph"), "cuda_graph"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --weights int5"), "--weights"));
}

TEST_CASE("an engine that is not described, or not in this execution mode, is refused") {
    for (const std::string command : {"predict --gpu a100 --model llama-3.1-8b", "memory --model llama-3.1-8b"}) {
        CHECK(contains(refused(command + " --software foo"), "--software"));
        CHECK(contains(refused(command + " --software foo"), "roofcast software list"));
        CHECK(contains(refused(command + " --software lama.cpp"), "did you mean llama"));
        CHECK(contains(refused(command + " --software transformers"), "--execution eager"));
        CHECK(roofcast::test::roofcast(command + " --software vllm").exit_code == 0);
        CHECK(roofcast::test::roofcast(command + " --software Transformers/4.40 --execution eager").exit_code == 0);
    }
}

TEST_CASE("an engine that does not run on the GPU is told of") {
    CHECK(contains(roofcast::test::printed("predict --gpu mi300x --model resnet50 --execution tensorrt"), "TensorRT runs on NVIDIA GPUs"));
    CHECK_FALSE(contains(roofcast::test::printed("predict --gpu t4 --model resnet50 --execution tensorrt"), "TensorRT runs on"));
}

TEST_CASE("a precision that the GPU lacks is refused with what it has") {
    const std::string message = refused("predict --gpu v100 --model llama-3.1-8b --precision bf16");
    CHECK(contains(message, "fp16"));
}

TEST_CASE("a run that names no precision takes the model's own, or the nearest that the GPU has") {
    const json own = predicted("--gpu h100 --model llama-3.1-8b");
    CHECK(own["precision"] == "bf16");
    CHECK(contains(own["notes"][0], "the default of llama-3.1-8b"));
    CHECK(predicted("--gpu h100 --model resnet50")["precision"] == "fp16");
    const json nearest = predicted("--gpu v100-pcie-32gb --model llama-3.1-8b");
    CHECK(nearest["precision"] == "fp16");
    CHECK(contains(nearest["notes"][0], "v100-pcie-32gb lacks bf16, the default of llama-3.1-8b"));
    const TemporaryFile config("config.json", R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 100,
        "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 4096, "torch_dtype": "bfloat16"})");
    CHECK(predicted("--gpu h100 --model " + config.path().string())["precision"] == "bf16");
    const auto memory = roofcast::test::roofcast("memory --format json --model llama-3.1-8b");
    CHECK(json::parse(memory.output)["rows"][1]["storage"] == "bf16");
}

TEST_CASE("directories and empty files in place of a profile or model are refused") {
    const TemporaryFile empty("empty.toml", "");
    const std::string folder = empty.path().parent_path().string(), file = empty.path().string();
    CHECK(contains(refused("predict --gpu " + folder + "/ --model resnet50"), "directory"));
    CHECK(contains(refused("predict --gpu " + file + " --model resnet50"), "empty"));
    CHECK(contains(refused("predict --gpu a100 --model " + file), "empty"));
    CHECK(contains(refused("predict --gpu a100 --model " + folder + "/"), "directory"));
    CHECK(contains(refused("predict --gpu a100 --model resnet50 --data-dir " + folder), "--data-dir"));
}

TEST_CASE("a number of tokens is no output file") {
    const std::string complaint = refused("predict --gpu a100 --model llama-3.1-8b --output 2048");
    CHECK(contains(complaint, "2048"));
    CHECK(contains(complaint, "--generate"));
}

TEST_CASE("an output file is written as a whole, and a directory in its place is refused") {
    const TemporaryFile out("out.json", "");
    CHECK(roofcast::test::roofcast("predict --gpu t4 --model resnet50 --precision fp16 --format json --output " + out.path().string())
              .exit_code == 0);
    CHECK(json::parse(std::ifstream(out.path()))["predictions"][0]["model"] == "resnet50");
    CHECK(
        contains(refused("predict --gpu t4 --model resnet50 --precision fp16 --output " + out.path().parent_path().string()), "directory"));
}

TEST_CASE("unknown commands are usage errors") {
    CHECK_FALSE(refused("predikt").empty());
    CHECK_FALSE(refused("gpu").empty());
}
