#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "workload/hugging_face_configs.hpp"

using namespace roofcast;
using nlohmann::json;
using roofcast::test::check_same;
using roofcast::test::decoder;
using roofcast::test::failure;
using roofcast::test::read;
using roofcast::test::with;

TEST_CASE("dense decoder configs give the graphs of the shipped models") {
    check_same(
        with(decoder("llama", 32, 4096, 32, 8, 14336, 128256, 131072), {{"tie_word_embeddings", false}, {"torch_dtype", "bfloat16"}}),
        "llama-3.1-8b");
    check_same(with(decoder("mistral", 32, 4096, 32, 8, 14336, 32000, 32768), {{"sliding_window", 4096}}), "mistral-7b");
    check_same(with(decoder("qwen2", 28, 3584, 28, 4, 18944, 152064, 32768), {{"use_sliding_window", false}}), "qwen2-7b");
    check_same(with(decoder("qwen3", 28, 1024, 16, 8, 3072, 151936, 40960), {{"head_dim", 128}, {"tie_word_embeddings", true}}),
               "qwen3-0.6b");
    check_same(with(decoder("phi", 32, 2560, 32, 32, 10240, 51200, 2048), {{"num_key_value_heads", nullptr}}), "phi-2");
    check_same({{"model_type", "gpt2"}, {"n_layer", 36}, {"n_embd", 1280}, {"n_head", 20}, {"n_positions", 1024}, {"vocab_size", 50257}},
               "gpt2-large");
    check_same({{"model_type", "gptj"}, {"n_layer", 28}, {"n_embd", 4096}, {"n_head", 16}, {"n_positions", 2048}, {"vocab_size", 50400}},
               "gptj-6b");
    check_same(with(decoder("opt", 24, 1024, 16, 16, 1, 50272, 2048),
                    {{"ffn_dim", 4096}, {"word_embed_proj_dim", 512}, {"do_layer_norm_before", false}}),
               "opt-350m");
    check_same(with(decoder("falcon", 80, 14848, 232, 8, 1, 65024, 2048),
                    {{"num_kv_heads", 8}, {"new_decoder_architecture", true}, {"tie_word_embeddings", false}}),
               "falcon-180b");
}

TEST_CASE("mixture-of-experts configs give the graphs of the shipped models") {
    check_same(with(decoder("mixtral", 32, 4096, 32, 8, 14336, 32000, 32768), {{"num_local_experts", 8}, {"num_experts_per_tok", 2}}),
               "mixtral-8x7b");
    check_same(
        with(
            decoder("qwen2_moe", 28, 3584, 28, 4, 18944, 151936, 32768),
            {{"num_experts", 64}, {"num_experts_per_tok", 8}, {"moe_intermediate_size", 2560}, {"shared_expert_intermediate_size", 20480}}),
        "qwen2-57b-a14b");
    check_same(with(decoder("qwen3_moe", 48, 2048, 32, 4, 6144, 151936, 40960),
                    {{"head_dim", 128}, {"num_experts", 128}, {"num_experts_per_tok", 8}, {"moe_intermediate_size", 768}}),
               "qwen3-30b-a3b");
    check_same(with(decoder("qwen3_moe", 48, 2048, 32, 4, 6144, 151936, 40960),  // as transformers 5 writes it
                    {{"head_dim", 128}, {"num_local_experts", 128}, {"num_experts_per_tok", 8}, {"moe_intermediate_size", 768}}),
               "qwen3-30b-a3b");
    check_same(with(decoder("gpt_oss", 24, 2880, 64, 8, 2880, 201088, 131072),
                    {{"head_dim", 64}, {"num_local_experts", 32}, {"num_experts_per_tok", 4}, {"sliding_window", 128}}),
               "gpt-oss-20b");
    check_same(with(decoder("deepseek_v3", 61, 7168, 128, 128, 18432, 129280, 163840), {{"q_lora_rank", 1536},
                                                                                        {"kv_lora_rank", 512},
                                                                                        {"qk_rope_head_dim", 64},
                                                                                        {"qk_nope_head_dim", 128},
                                                                                        {"v_head_dim", 128},
                                                                                        {"n_routed_experts", 256},
                                                                                        {"n_shared_experts", 1},
                                                                                        {"num_experts_per_tok", 8},
                                                                                        {"moe_intermediate_size", 2048},
                                                                                        {"first_k_dense_replace", 3}}),
               "deepseek-v3");
}

TEST_CASE("encoder configs give the graphs of the shipped models") {
    const json bert = with(decoder("bert", 12, 768, 12, 12, 3072, 30522, 512), {{"type_vocab_size", 2}});
    check_same(bert, "bert-base");
    check_same(with(bert, {{"model_type", "electra"}, {"embedding_size", 768}}), "electra-base");
    check_same(with(bert, {{"model_type", "roberta"}, {"vocab_size", 50265}, {"max_position_embeddings", 514}, {"type_vocab_size", 1}}),
               "roberta-base");
    check_same(with(decoder("deberta-v2", 12, 384, 6, 6, 1536, 128100, 512), {{"type_vocab_size", 0},
                                                                              {"relative_attention", true},
                                                                              {"position_buckets", 256},
                                                                              {"share_att_key", true},
                                                                              {"position_biased_input", false}}),
               "deberta-v3-xsmall");
}

TEST_CASE("vision configs give the graphs of the shipped models") {
    const json base{{"model_type", "vit"},     {"image_size", 224},  {"patch_size", 16},          {"hidden_size", 768},
                    {"num_hidden_layers", 12}, {"num_labels", 1000}, {"num_attention_heads", 12}, {"intermediate_size", 3072}};
    check_same(base, "vit-base-patch16-224");
    check_same(with(base, {{"model_type", "beit"}, {"use_relative_position_bias", true}, {"layer_scale_init_value", 0.1}}),
               "beit-base-patch16-224");
    check_same({{"model_type", "swin"},
                {"embed_dim", 96},
                {"depths", {2, 2, 6, 2}},
                {"num_heads", {3, 6, 12, 24}},
                {"window_size", 7},
                {"num_labels", 1000}},
               "swin-tiny-patch4-window7-224");
    json large = base;
    large.update(
        {{"patch_size", 14}, {"hidden_size", 1024}, {"num_hidden_layers", 24}, {"num_attention_heads", 16}, {"intermediate_size", 4096}});
    check_same({{"model_type", "clip"}, {"projection_dim", 768}, {"vision_config", large}}, "clip-vit-large-patch14");
}

TEST_CASE("vision-language configs give the graphs of the shipped models") {
    const json decoder_2b = with(decoder("qwen2_vl", 28, 1536, 12, 2, 8960, 151936, 32768), {{"tie_word_embeddings", true}});
    const json tower{{"depth", 32}, {"embed_dim", 1280}, {"num_heads", 16}, {"mlp_ratio", 4}, {"patch_size", 14}};
    check_same(with(decoder_2b, {{"vision_config", tower}}), "qwen2-vl-2b");
    const json newer{{"depth", 32},     {"hidden_size", 1280}, {"intermediate_size", 3420},
                     {"num_heads", 16}, {"window_size", 112},  {"fullatt_block_indexes", {7, 15, 23, 31}}};
    check_same(with(decoder("qwen2_5_vl", 28, 3584, 28, 4, 18944, 152064, 128000), {{"vision_config", newer}}), "qwen2.5-vl-7b");
    const json text =
        with(decoder("x", 40, 4096, 32, 8, 14336, 128256, 131072), {{"cross_attention_layers", {3, 8, 13, 18, 23, 28, 33, 38}}});
    const json vision{{"image_size", 560},      {"patch_size", 14},      {"hidden_size", 1280},       {"num_hidden_layers", 32},
                      {"num_global_layers", 8}, {"attention_heads", 16}, {"intermediate_size", 5120}, {"max_num_tiles", 4}};
    check_same({{"model_type", "mllama"}, {"text_config", text}, {"vision_config", vision}}, "llama-3.2-11b-vision");
}

TEST_CASE("a config that cannot be read says which key and what is supported") {
    CHECK(failure(R"({"model_type": "mamba"})").expected.find("docs/reference/models.md") != std::string::npos);
    CHECK(failure(R"({"hidden_size": 4})").key == "model_type");
    CHECK(failure(R"({"model_type": "llama"})").key == "num_hidden_layers");
    CHECK(failure(R"({"model_type": "llama", "num_hidden_layers": -1})").what == "out of range");
    CHECK(failure(with(decoder("llama", 2, 64, 4, 2, 128, 1000, 1024), {{"num_local_experts", 8}}).dump()).key == "num_local_experts");
    CHECK(failure(R"({"model_type": "llama", "num_hidden_layers": "many"})").what == "wrong type");
    CHECK(failure("[1, 2]").what == "a JSON object is needed");
    CHECK(failure("{").what.find("not valid JSON") != std::string::npos);
    CHECK(failure("").what == "the file is empty");
    json config = decoder("qwen3_moe", 48, 2048, 32, 4, 6144, 151936, 40960);
    config["decoder_sparse_step"] = 2;  // half of the layers dense: another graph, so not read as if it were 1
    CHECK(failure(config.dump()).key == "decoder_sparse_step");
}

TEST_CASE("sizes whose products overflow, lists that are none and numbers beyond a double are refused") {
    CHECK(failure(R"({"model_type": "vit", "image_size": 1e999})").what == "not valid JSON");
    CHECK(failure(std::string(100'000, '[')).what == "lists and objects are nested too deeply");
    CHECK(failure(R"({"model_type": "resnet", "depths": 3})").key == "depths");
    CHECK(failure(R"({"model_type": "deit", "architectures": "x", "patch_size": 16, "num_hidden_layers": 1, "hidden_size": 8,
                      "num_attention_heads": 1, "intermediate_size": 8})")
              .key == "architectures");
    // Eight outputs, and the standard seven of every other list.
    CHECK(failure(R"({"model_type": "efficientnet", "out_channels": [1, 1, 1, 1, 1, 1, 1, 1]})").what.find("differ in length") !=
          std::string::npos);
    const std::vector<int> ones(70, 1);
    const json swin{{"model_type", "swin"}, {"embed_dim", 8}, {"window_size", 7}, {"depths", ones}, {"num_heads", ones}};
    CHECK(failure(swin.dump()).key == "depths");
    const json qwen = decoder("qwen2_vl", 2, 64, 4, 2, 128, 1000, 1024);
    const json vision{{"embed_dim", 64}, {"depth", 2}, {"num_heads", 4}, {"spatial_merge_size", 1 << 24}};
    CHECK(failure(with(qwen, {{"vision_config", vision}}).dump()).key == "vision_config.spatial_merge_size");
    const json text = with(decoder("x", 2, 64, 4, 2, 128, 1000, 1024), {{"cross_attention_layers", {1}}});
    const json tiled{{"image_size", 1 << 24},    {"patch_size", 1},        {"hidden_size", 8},        {"num_hidden_layers", 1},
                     {"num_attention_heads", 1}, {"intermediate_size", 8}, {"max_num_tiles", 1 << 24}};
    CHECK(failure(json{{"model_type", "mllama"}, {"text_config", text}, {"vision_config", tiled}}.dump()).key ==
          "vision_config.max_num_tiles");
}

TEST_CASE("a quantized checkpoint says how its weights are stored") {
    const json llama = decoder("llama", 32, 4096, 32, 8, 14336, 128256, 8192);
    const auto quantized = [&](const json& how) { return read(with(llama, {{"quantization_config", how}})).native_weights; };
    CHECK_FALSE(read(llama).native_weights);
    CHECK(quantized({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}})->bits == 4.25);
    // A 16-bit scale and a zero point for each 32 weights: 4 + 32 / 32.
    CHECK(quantized({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}})->bits == 5);
    CHECK(quantized({{"quant_method", "gptq"}, {"bits", 8}, {"group_size", -1}})->bits == 8.25);
    CHECK(quantized({{"quant_method", "fp8"}})->bits == 8);
    CHECK(quantized({{"quant_method", "mxfp4"}})->bits == 4.25);
    CHECK_THROWS_AS(quantized({{"quant_method", "bitsandbytes"}}), Error);
    CHECK_THROWS_AS(quantized({{"quant_method", "gptq"}, {"bits", 3}}), Error);
}

TEST_CASE("values that no model can have are refused with their key") {
    const auto key = [](const json& config, const json& more) { return failure(with(config, more).dump()).key; };
    const json llama = decoder("llama", 2, 64, 4, 2, 128, 1000, 256), mistral = with(llama, {{"model_type", "mistral"}});
    CHECK(key(llama, json::object()).empty());
    CHECK(key(llama, {{"hidden_act", "foo"}}) == "hidden_act");
    CHECK(key(llama, {{"sliding_window", -5}}) == "sliding_window");
    CHECK(key(llama, {{"head_dim", 0}}) == "head_dim");
    CHECK(key(llama, {{"vocab_size", 18446744073709551615ULL}}) == "vocab_size");
    CHECK(key(mistral, {{"sliding_window", -5}}) == "sliding_window");
    CHECK(key(mistral, {{"sliding_window", nullptr}}).empty());
    const json mixtral = with(llama, {{"model_type", "mixtral"}, {"num_local_experts", 8}});
    CHECK(key(mixtral, {{"num_experts_per_tok", 20}}) == "num_experts_per_tok");
    CHECK(failure(with(mixtral, {{"num_experts_per_tok", 20}}).dump()).expected == "a whole number from 1 to 8");
    CHECK(key(mixtral, {{"num_experts_per_tok", 0}}) == "num_experts_per_tok");
    CHECK(key(mixtral, {{"num_experts_per_tok", 8}}).empty());
    const json qwen = with(llama, {{"model_type", "qwen3_moe"}, {"num_experts", 8}, {"moe_intermediate_size", 32}});
    CHECK(key(qwen, {{"num_experts_per_tok", 20}}) == "num_experts_per_tok");
    CHECK(key(with(llama, {{"model_type", "qwen3_moe"}, {"moe_intermediate_size", 32}}), {{"num_experts_per_tok", 2}}) == "num_experts");
    CHECK(key(with(llama, {{"model_type", "falcon"}, {"new_decoder_architecture", true}}), {{"num_kv_heads", 3}}) == "num_kv_heads");
}

TEST_CASE("a patch larger than the image is refused with its key") {
    const json vit{{"model_type", "vit"},    {"image_size", 8},          {"patch_size", 16},        {"hidden_size", 64},
                   {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"intermediate_size", 128}};
    CHECK(failure(vit.dump()).key == "patch_size");
    CHECK(failure(with(vit, {{"image_size", 16}}).dump()).key.empty());
    const json swin{{"model_type", "swin"}, {"embed_dim", 96}, {"depths", {2, 2}}, {"num_heads", {3, 6}}, {"window_size", 7}};
    CHECK(failure(with(swin, {{"patch_size", 300}}).dump()).key == "patch_size");
    CHECK(failure(with(swin, {{"patch_size", 0}}).dump()).key == "patch_size");
    CHECK(failure(with(swin, {{"mlp_ratio", -4}}).dump()).key == "mlp_ratio");
}
