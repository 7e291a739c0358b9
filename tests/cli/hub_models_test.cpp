// Models of 2026 through the program, and configurations that are wrong.
#include "support/paths.hpp"
#include "support/program.hpp"

using roofcast::test::contains;
using roofcast::test::printed;
using roofcast::test::refused;
using roofcast::test::TemporaryFile;

TEST_CASE("a model whose layers all have kernel models is predicted by its hub id") {
    const std::string text = printed("predict --gpu b200-sxm --model Qwen/Qwen3-VL-30B-A3B-Instruct --prompt 512 --generate 32");
    CHECK(contains(text, "qwen3-vl-30b-a3b-instruct"));
    CHECK(printed("predict --gpu b200-sxm --model qwen3-vl-30b-a3b-instruct --prompt 512 --generate 32") == text);
}

TEST_CASE("models with sparse and compressed attention have times, alone and served") {
    for (const char* model : {"deepseek-ai/DeepSeek-V3.2", "deepseek-ai/DeepSeek-V4-Flash", "deepseek-ai/DeepSeek-V4-Pro",
                              "zai-org/GLM-5 --precision fp8", "MiniMaxAI/MiniMax-M3"}) {
        CAPTURE(model);
        const std::string text = printed(std::string("predict --gpu b300-sxm --tp 8 --prompt 512 --generate 32 --model ") + model);
        CHECK(contains(text, "TPOT"));
        CHECK_FALSE(contains(text, "no kernel model"));
    }
    CHECK(contains(printed("serve-sim --gpu b200-sxm --tp 8 --model deepseek-ai/DeepSeek-V3.2 --software vllm --concurrency 2 --requests 4 "
                           "--prompt 512 --generate 16"),
                   "TPOT"));
}

TEST_CASE("model show says active parameters, prediction modules and KV bytes a token") {
    const std::string text = printed("model show deepseek-ai/DeepSeek-V3.2");
    CHECK(contains(text, "parameters    671877944064\n"));
    CHECK(contains(text, "37477143296 parameters a token, 38403822336 with the input embedding"));
    CHECK(contains(text, "685355329792"));
    CHECK(contains(text, "85888 bytes a token in bf16"));
}

TEST_CASE("experts in a format of their own are said, and fit where 16 bits would not") {
    const std::string text = printed("predict --gpu b200-sxm --model moonshotai/Kimi-K2.5 --tp 4 --prompt 512 --generate 32");
    CHECK(contains(text, "routed experts are stored as int4 (4.5 bits a weight)"));
    CHECK(contains(text, "It fits"));
}

TEST_CASE("a checkpoint with scales for its KV cache has one in fp8 unless the user says otherwise") {
    const std::string model = "predict --gpu b200-sxm --prompt 512 --generate 32 --model nvidia/Qwen3-235B-A22B-NVFP4";
    CHECK(contains(printed(model), "the KV cache is stored in fp8; the checkpoint includes its scales"));
    CHECK_FALSE(contains(printed(model + " --kv bf16"), "whose scales"));
}

TEST_CASE("wrong configurations give one message and exit code 2") {
    const std::string whole = R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
        "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 1024})";
    const auto message = [](const std::string& text) {
        const TemporaryFile file("config.json", text);
        return refused("predict --gpu h100-sxm5-80gb --model " + file.path().string());
    };
    const auto changed = [&whole](const std::string& from, const std::string& to) {
        std::string text = whole;
        return text.replace(text.find(from), from.size(), to);
    };
    CHECK(contains(message(whole.substr(0, 100)), "not valid JSON; found syntax error while parsing "));
    CHECK(contains(message(changed("\"hidden_size\": 64,", "")), "hidden_size: a required key is missing"));
    CHECK(contains(message(R"({"_class_name": "FluxTransformer2DModel", "num_layers": 19})"), "diffusion model"));
    CHECK(contains(message(changed("\"num_attention_heads\": 4", "\"num_attention_heads\": 5")), "64 is not a multiple of the heads"));
    CHECK(contains(message(changed("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 10000")), "num_hidden_layers: out of range"));
    std::string deep;
    for (int i = 0; i < 1000; ++i) deep += "{\"a\":";
    CHECK(contains(message(deep + "1" + std::string(1000, '}')), "nested too deeply"));
    CHECK(contains(message(changed("\"llama\"", "\"newcomer\", \"warp_heads\": 4")), "warp_heads"));
}
