// Formats of published checkpoints, types of models that are not known, and configurations that are wrong.
#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "roofcast/decoder_figures.hpp"
#include "roofcast/error.hpp"
#include "workload/hugging_face_configs.hpp"

using namespace roofcast;
using roofcast::test::decoder;
using roofcast::test::failure;
using roofcast::test::json;
using roofcast::test::models_dir;
using roofcast::test::read;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;
using roofcast::test::with;

namespace {

const json llama = decoder("llama", 2, 64, 4, 2, 128, 1000, 1024);

/// A variable of the environment for the time of a test.
class Environment {
public:
    Environment(const char* name, const std::string& value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        setenv(name, value.c_str(), 1);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() {
        if (before_) {
            setenv(name_, before_->c_str(), 1);
        } else {
            unsetenv(name_);
        }
    }

private:
    const char* name_;
    std::optional<std::string> before_;
};

Workload quantized(const json& quantization) {
    return read(with(llama, {{"quantization_config", quantization}}));
}

json compressed(const json& weights, const char* format, const json& ignore) {
    return {{"quant_method", "compressed-tensors"},
            {"format", format},
            {"ignore", ignore},
            {"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}}};
}

std::string missing_model(std::string_view id) {
    try {
        find_workload(models_dir(), id);
    } catch (const Error& e) {
        return e.detail().suggestion;
    }
    return {};
}

}  // namespace

TEST_CASE("formats of published checkpoints are read as they are stored") {
    CHECK(quantized({{"quant_method", "fp8"}}).native_weights->label == "fp8");
    CHECK(quantized({{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}}).native_weights->label == "fp8_block");
    // 4 bits and one 16-bit scale for 32 weights.
    const json int4 = {{"num_bits", 4}, {"type", "int"}, {"group_size", 32}, {"symmetric", true}};
    const Workload experts = quantized(compressed(int4, "pack-quantized", {"lm_head", "re:.*self_attn.*"}));
    CHECK_FALSE(experts.native_weights);
    CHECK(experts.native_experts->bits == rel(4.5, 1e-12));
    CHECK(quantized(compressed(int4, "pack-quantized", {"lm_head"})).native_weights->bits == rel(4.5, 1e-12));
    CHECK(quantized(compressed({{"num_bits", 4}, {"type", "float"}}, "mxfp4-pack-quantized", json::array())).native_weights->label ==
          "mxfp4");
    CHECK(quantized({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}).native_weights->bits == rel(4.5, 1e-12));
    const Workload modelopt = read(with(llama, {{"hf_quant", {{"quant_algo", "FP8"}, {"kv_cache_quant_algo", "FP8"}}}}));
    CHECK(modelopt.native_weights->label == "fp8");
    CHECK(modelopt.native_cache == Precision::fp8);
}

TEST_CASE("what a config leaves open is said, and what it says in no known way is an error") {
    const Workload mixed = quantized({{"quant_method", "modelopt"}, {"quant_algo", "MIXED_PRECISION"}});
    CHECK_FALSE(mixed.native_weights);
    REQUIRE(mixed.notes.size() == 1);
    CHECK(mixed.notes.front().starts_with("quant_algo MIXED_PRECISION"));
    const auto key = [](const json& quantization) { return failure(with(llama, {{"quantization_config", quantization}}).dump()).key; };
    CHECK(key({{"quant_method", "bitsandbytes"}}) == "quantization_config.quant_method");
    CHECK(key({{"quant_method", "modelopt"}, {"quant_algo", "FP3"}}) == "quantization_config.quant_algo");
    CHECK(key(compressed({{"num_bits", 3}, {"type", "int"}}, "pack-quantized", json::array())) ==
          "quantization_config.config_groups.group_0.weights.num_bits");
    CHECK(key({{"quant_method", "fp8"}, {"kv_cache_scheme", {{"num_bits", 4}, {"type", "float"}}}}) ==
          "quantization_config.kv_cache_scheme");
}

TEST_CASE("earlier models of the same kinds have the parameters of their checkpoints") {
    // Totals of safetensors files on Hugging Face, prediction modules included.
    const auto checkpoint = [](const json& config) {
        const DecoderParameters p = decoder_parameters(std::get<DecoderLlm>(read(config).architecture));
        return p.all + p.prediction;
    };
    const json latent = {{"kv_lora_rank", 512}, {"qk_rope_head_dim", 64}, {"qk_nope_head_dim", 128}, {"v_head_dim", 128}};
    const json lite = with(decoder("deepseek_v2", 27, 2048, 16, 16, 10944, 102400, 163840), latent);
    CHECK(checkpoint(with(lite, {{"q_lora_rank", nullptr},
                                 {"n_routed_experts", 64},
                                 {"n_shared_experts", 2},
                                 {"num_experts_per_tok", 6},
                                 {"moe_intermediate_size", 1408},
                                 {"first_k_dense_replace", 1}})) == rel(15706484224, 1e-6));
    CHECK(checkpoint(with(decoder("glm4_moe", 46, 4096, 96, 8, 10944, 151552, 131072), {{"head_dim", 128},
                                                                                        {"attention_bias", true},
                                                                                        {"n_routed_experts", 128},
                                                                                        {"n_shared_experts", 1},
                                                                                        {"num_experts_per_tok", 8},
                                                                                        {"moe_intermediate_size", 1408},
                                                                                        {"first_k_dense_replace", 1},
                                                                                        {"num_nextn_predict_layers", 1}})) ==
          rel(110468824832, 1e-5));
    CHECK(checkpoint(with(decoder("qwen3_next", 48, 2048, 16, 2, 5120, 151936, 262144), {{"head_dim", 256},
                                                                                         {"num_experts", 512},
                                                                                         {"num_experts_per_tok", 10},
                                                                                         {"moe_intermediate_size", 512},
                                                                                         {"shared_expert_intermediate_size", 512},
                                                                                         {"linear_num_key_heads", 16},
                                                                                         {"linear_num_value_heads", 32},
                                                                                         {"linear_key_head_dim", 128},
                                                                                         {"linear_value_head_dim", 128}})) ==
          rel(79674391296, 1e-6));
}

TEST_CASE("towers of Llama 4 and MiniMax-M3 have the parameters of their checkpoints") {
    // Llama-4-Scout as it is published, with its tower: 108,641,793,536.
    const json text = with(decoder("llama4_text", 48, 5120, 40, 8, 8192, 202048, 10485760),
                           {{"head_dim", 128}, {"num_local_experts", 16}, {"num_experts_per_tok", 1}, {"intermediate_size_mlp", 16384}});
    const json vision = {{"hidden_size", 1408},        {"image_size", 336},           {"intermediate_size", 5632},
                         {"num_attention_heads", 16},  {"num_hidden_layers", 34},     {"patch_size", 14},
                         {"pixel_shuffle_ratio", 0.5}, {"projector_input_dim", 4096}, {"projector_output_dim", 4096}};
    const Workload scout = read({{"model_type", "llama4"}, {"text_config", text}, {"vision_config", vision}});
    CHECK(total_parameters(forward_graph(scout, {}, {})) == rel(108641793536, 1e-9));
    const Workload m3 = find_workload(models_dir(), "nvidia/MiniMax-M3-NVFP4");
    CHECK(total_parameters(forward_graph(m3, {}, {})) == rel(427040140160, 1e-7));
}

TEST_CASE("an unknown type is read as the kind whose keys it has, and says so") {
    const Workload by_keys = read(with(llama, {{"model_type", "newcomer"}, {"rope_theta", 10000}}));
    CHECK(std::get<DecoderLlm>(by_keys.architecture).layers == 2);
    REQUIRE(by_keys.notes.size() == 1);
    CHECK(by_keys.notes.front() == "unknown model_type newcomer: read as llama, from its keys");
    const json qwen = with(llama, {{"model_type", "newcomer"}, {"architectures", {"Qwen3ForCausalLM"}}});
    CHECK(std::get<DecoderLlm>(read(qwen).architecture).qk_norm);
    const json experts = with(llama, {{"model_type", "newcomer"}, {"num_local_experts", 8}, {"num_experts_per_tok", 2}});
    CHECK(std::get<DecoderLlm>(read(experts).architecture).moe->experts == 8);
}

TEST_CASE("keys that no reader knows are named, of an unknown type as an error") {
    const ErrorDetail unknown = failure(with(llama, {{"model_type", "newcomer"}, {"warp_heads", 3}, {"flux_dim", 8}}).dump());
    CHECK(unknown.what.find("flux_dim, warp_heads") != std::string::npos);
    const Workload known = read(with(llama, {{"warp_heads", 3}}));
    REQUIRE(known.notes.size() == 1);
    CHECK(known.notes.front() == "unknown keys were ignored: warp_heads");
    const ErrorDetail type = failure(json{{"model_type", "lama"}, {"hidden_size", 64}}.dump());
    CHECK(type.key == "model_type");
    CHECK(type.found == "\"lama\"");
    CHECK(type.suggestion.find("llama") != std::string::npos);
    constexpr std::size_t two_lines = 240;
    CHECK(std::string(Error(type).what()).size() < two_lines);
    const std::string none = Error(failure(json{{"hidden_size", 64}}.dump())).what();
    CHECK(none.find("docs/reference/models.md") != std::string::npos);
    CHECK(none.size() < two_lines);
}

TEST_CASE("wrong configurations are refused with the key that is wrong") {
    const std::string whole = llama.dump();
    CHECK(failure(whole.substr(0, whole.size() / 2)).what == "not valid JSON");
    json half = llama;
    half.erase("hidden_size");
    CHECK(failure(half.dump()).key == "hidden_size");
    CHECK(failure(R"({"_class_name": "UNet2DConditionModel", "block_out_channels": [320, 640]})").key == "_class_name");
    CHECK(failure(with(llama, {{"num_attention_heads", 5}}).dump()).key == "num_key_value_heads");
    CHECK(failure(with(llama, {{"num_attention_heads", 6}}).dump()).key == "num_attention_heads");
    CHECK(failure(with(llama, {{"num_hidden_layers", 10'000}}).dump()).key == "num_hidden_layers");
    std::string deep = "{\"a\":";
    for (int i = 0; i < 1000; ++i) deep += "{\"a\":";
    deep += "1" + std::string(1001, '}');
    CHECK(failure(deep).what == "lists and objects are nested too deeply");
}

TEST_CASE("numbers that Python writes and JSON has no words for are read as absent, in texts as they are") {
    const TemporaryFile file(
        "config.json",
        llama.dump().insert(1, R"("time_step_limit": [0.0, Infinity], "x": -Infinity, "y": NaN, "_name_or_path": "To Infinity \"NaN\"",)"));
    const Workload workload = load_workload(file.path());
    CHECK(workload.name == "To Infinity \"NaN\"");
}

TEST_CASE("a file that is named after a hub id has its name for an id") {
    const TemporaryFile file("Some-Lab__New-7B.json", llama.dump());
    const Workload workload = load_workload(file.path());
    CHECK(workload.id == "new-7b");
    CHECK(workload.aliases == std::vector<std::string>{"some-lab/new-7b"});
    CHECK(workload.name == "New-7B");
}

TEST_CASE("a hub id that is not shipped is read from the local cache, in the revision of main") {
    const std::string model = "hub/models--some-lab--New-7B/";
    const TemporaryFile old(model + "snapshots/old/config.json", with(llama, {{"num_hidden_layers", 3}}).dump());
    const auto cache = old.path().parent_path().parent_path().parent_path().parent_path();
    const auto add = [&](const std::string& name, const std::string& text) {
        const auto file = cache / "models--some-lab--New-7B" / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    };
    const auto layers = [] { return std::get<DecoderLlm>(find_workload(models_dir(), "some-lab/New-7B").architecture).layers; };
    const Environment no_home("HF_HOME", "/nonexistent");
    {
        const Environment hub("HF_HUB_CACHE", cache.string());
        CHECK(layers() == 3);
        add("snapshots/main-revision/config.json", llama.dump());
        add("refs/main", "main-revision\n");
        CHECK(layers() == 2);
        CHECK(find_workload(models_dir(), "some-lab/New-7B").id == "new-7b");
        CHECK(missing_model("some-lab/Other-7B").find("hf download some-lab/Other-7B config.json") != std::string::npos);
    }
    const Environment unset("HF_HUB_CACHE", "");
    const Environment home("HF_HOME", cache.parent_path().string());
    CHECK(layers() == 2);
}
