// Keys: gguf-py/gguf/constants.py of llama.cpp.

#include "workload/gguf_config.hpp"

#include <fmt/format.h>

#include <string_view>

#include "io/printable.hpp"
#include "workload/gguf_keys.hpp"

namespace roofcast {

namespace {

using nlohmann::json;

/// The key, or what a tensor is long.
std::int64_t key_or_length(const GgufKeys& keys, std::string_view key, std::string_view tensor, std::size_t dim) {
    const std::int64_t value = keys.count_or_zero(key);
    return value > 0 ? value : keys.length(tensor, dim);
}

void add_experts(const GgufKeys& keys, json& config, const char* experts) {
    config[experts] = keys.count("expert_count");
    config["num_experts_per_tok"] = keys.count("expert_used_count");
    if (const std::int64_t width = key_or_length(keys, "expert_feed_forward_length", "ffn_down_exps.weight", 0); width > 0)
        config["moe_intermediate_size"] = width;
}

/// Experts with a dense first layer or several, and shared ones, as DeepSeek has them.
void add_deepseek_experts(const GgufKeys& keys, json& config) {
    add_experts(keys, config, "n_routed_experts");
    config["n_shared_experts"] = keys.count_or_zero("expert_shared_count");
    config["first_k_dense_replace"] = keys.count_or_zero("leading_dense_block_count");
    if (keys.length("exp_probs_b.bias", 0) > 0) config["topk_method"] = "noaux_tc";
}

void llama_keys(const GgufKeys& keys, json& config) {
    if (keys.count_or_zero("expert_count") == 0) return;
    config["model_type"] = "mixtral";  // whose experts have the width of its MLP
    add_experts(keys, config, "num_local_experts");
    if (config.contains("moe_intermediate_size")) config["intermediate_size"] = config["moe_intermediate_size"];
}

void llama4_keys(const GgufKeys& keys, json& config) {
    add_experts(keys, config, "num_local_experts");
    config["intermediate_size_mlp"] = config["intermediate_size"];
    config["intermediate_size"] = config["moe_intermediate_size"];
    config.erase("moe_intermediate_size");
    if (const std::int64_t step = keys.count_or_zero("interleave_moe_layer_step"); step > 0) config["interleave_moe_layer_step"] = step;
}

void qwen_moe_keys(const GgufKeys& keys, json& config) {
    add_experts(keys, config, "num_experts");
    config["shared_expert_intermediate_size"] = key_or_length(keys, "expert_shared_feed_forward_length", "ffn_up_shexp.weight", 1);
}

void gemma_window_keys(const GgufKeys& keys, json& config) {
    config["sliding_window"] = keys.count_or_zero("attention.sliding_window");
    const json* factor = keys.find("rope.scaling.factor");
    if (factor != nullptr && factor->is_number()) config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", factor->get<double>()}};
}

void window_keys(const GgufKeys& keys, json& config) {
    if (const std::int64_t window = keys.count_or_zero("attention.sliding_window"); window > 0) config["sliding_window"] = window;
}

void falcon_keys(const GgufKeys& keys, json& config) {
    const std::int64_t kv_heads = keys.count_or_zero("attention.head_count_kv");
    config["num_kv_heads"] = kv_heads;
    config["new_decoder_architecture"] = kv_heads > 1;
    config["multi_query"] = kv_heads == 1;
    config["ffn_hidden_size"] = config["intermediate_size"];
    config["num_ln_in_parallel_attn"] = keys.length("attn_norm_2.weight", 0) > 0 ? 2 : 1;
}

void gptneox_keys(const GgufKeys& keys, json& config) {
    config["use_parallel_residual"] = keys.flag("use_parallel_residual", true);
}

void gpt2_keys(const GgufKeys&, json& config) {
    config["n_layer"] = config["num_hidden_layers"];
    config["n_embd"] = config["hidden_size"];
    config["n_head"] = config["num_attention_heads"];
    config["n_inner"] = config["intermediate_size"];
    config["n_positions"] = config["max_position_embeddings"];
}

void deepseek2_keys(const GgufKeys& keys, json& config) {
    add_deepseek_experts(keys, config);
    const std::int64_t rope = keys.count("rope.dimension_count"), by_head = keys.count_or_zero("attention.key_length_mla");
    const std::int64_t key = by_head > 0 ? by_head : keys.count("attention.key_length"),
                       value = keys.count_or_zero("attention.value_length_mla");
    if (key <= rope) throw keys.error("attention.key_length", "not above rope.dimension_count", std::to_string(key));
    config["num_key_value_heads"] = config["num_attention_heads"];  // absorbed heads share one
    config["kv_lora_rank"] = keys.count("attention.kv_lora_rank");
    config["q_lora_rank"] = keys.count_or_zero("attention.q_lora_rank");
    config["qk_rope_head_dim"] = rope;
    config["qk_nope_head_dim"] = key - rope;
    config["v_head_dim"] = value > 0 ? value : keys.count("attention.value_length");
    config.erase("head_dim");
}

void gpt_oss_keys(const GgufKeys& keys, json& config) {
    add_experts(keys, config, "num_local_experts");
    config["intermediate_size"] = config["moe_intermediate_size"];
    config.erase("moe_intermediate_size");
    config["sliding_window"] = keys.count("attention.sliding_window");
}

void glm4_moe_keys(const GgufKeys& keys, json& config) {
    add_deepseek_experts(keys, config);
    config["use_qk_norm"] = keys.length("attn_q_norm.weight", 0) > 0;
    config["attention_bias"] = keys.length("attn_q.bias", 0) > 0;
}

void no_keys(const GgufKeys&, json&) {}

void change_nothing(const GgufKeys&, DecoderLlm&) {}

void layer_norms(const GgufKeys& keys, DecoderLlm& m) {
    m.norm = Normalization::layernorm;
    m.parallel_block = keys.length("ffn_norm.weight", 0) == 0;
    if (m.parallel_block) m.norms_per_layer = 1;
}

/// Cohere: every fourth layer sees all tokens.
void cohere2_layers(const GgufKeys& keys, DecoderLlm& m) {
    layer_norms(keys, m);
    m.sliding_window = keys.count_or_zero("attention.sliding_window");
    constexpr std::int64_t all_every = 4;
    m.full_attention_every = m.sliding_window > 0 ? all_every : 1;
}

/// Nemotron's MLP squares what it keeps of one projection.
void nemotron_layers(const GgufKeys&, DecoderLlm& m) {
    m.norm = Normalization::layernorm;
    m.gated_mlp = false;
}

struct GgufArchitecture {
    std::string_view name;
    std::string_view model_type;  ///< of the configuration
    void (*add_keys)(const GgufKeys&, json&) = no_keys;
    void (*change)(const GgufKeys&, DecoderLlm&) = change_nothing;  ///< what the type has not
};

constexpr GgufArchitecture architectures[] = {
    {"llama", "llama", llama_keys},
    {"llama4", "llama4_text", llama4_keys},
    {"mistral3", "mistral", window_keys},
    {"qwen2", "qwen2"},
    {"qwen2moe", "qwen2_moe", qwen_moe_keys},
    {"qwen3", "qwen3"},
    {"qwen3moe", "qwen3_moe", qwen_moe_keys},
    {"gemma", "gemma"},
    {"gemma2", "gemma2", gemma_window_keys},
    {"gemma3", "gemma3_text", gemma_window_keys},
    {"phi2", "phi"},
    {"phi3", "phi3", window_keys},
    {"falcon", "falcon", falcon_keys},
    {"gptneox", "gpt_neox", gptneox_keys},
    {"gpt2", "gpt2", gpt2_keys},
    {"gptj", "gptj", gpt2_keys},
    {"stablelm", "llama", no_keys, layer_norms},
    {"starcoder2", "starcoder2", window_keys},
    {"command-r", "llama", no_keys, layer_norms},
    {"cohere2", "llama", no_keys, cohere2_layers},
    {"deepseek2", "deepseek_v3", deepseek2_keys},
    {"gpt-oss", "gpt_oss", gpt_oss_keys},
    {"granite", "granite"},
    {"granitemoe", "mixtral", llama_keys},
    {"olmo2", "llama"},
    {"olmoe", "mixtral", llama_keys},
    {"internlm2", "llama"},
    {"baichuan", "llama"},
    {"minicpm", "llama"},
    {"exaone", "llama"},
    {"smollm3", "smollm3"},
    {"glm4", "glm4"},
    {"glm4moe", "glm4_moe", glm4_moe_keys},
    {"seed_oss", "llama"},
    {"ernie4_5", "llama"},
    {"hunyuan-dense", "llama"},
    {"nemotron", "llama", no_keys, nemotron_layers},
};

std::string architecture_name(const GgufFile& gguf) {
    const auto found = gguf.values.find("general.architecture");
    return found != gguf.values.end() && found->second.is_string() ? found->second.get<std::string>() : std::string();
}

const GgufArchitecture& architecture_of(const GgufFile& gguf) {
    const std::string name = architecture_name(gguf);
    for (const GgufArchitecture& known : architectures) {
        if (known.name == name) return known;
    }
    throw Error({.what = name.empty() ? "a required key is missing" : "this architecture is not supported",
                 .file = gguf.path.string(),
                 .key = "general.architecture",
                 .found = printable(name),
                 .expected = fmt::format("{}", fmt::join(gguf_architectures(), ", ")),
                 .suggestion = did_you_mean(name, gguf_architectures())});
}

/// Norms of queries and keys over all heads at once, as OLMo 2 has them, have no field of their own.
void norm_all_heads(DecoderLlm& m) {
    const GroupedAttention attention{.heads = m.heads,
                                     .kv_heads = m.kv_heads,
                                     .head_dim = m.head_dim,
                                     .bias = m.attention_bias,
                                     .output_bias = m.output_bias,
                                     .norm = QueryKeyNorm::all_heads,
                                     .index = {}};
    m.kinds = {{attention, m.moe ? ChannelMixer(*m.moe) : ChannelMixer(DenseMlp{m.intermediate}), m.layers}};
}

}  // namespace

std::vector<std::string> gguf_architectures() {
    std::vector<std::string> names;
    for (const GgufArchitecture& known : architectures) names.emplace_back(known.name);
    return names;
}

std::int64_t gguf_layers(const GgufFile& gguf) {
    const GgufKeys keys(gguf, architecture_name(gguf));
    const std::int64_t blocks = keys.count("block_count"), ahead = keys.count_or_zero("nextn_predict_layers");
    if (ahead >= blocks) throw keys.error("nextn_predict_layers", "not below block_count", std::to_string(ahead));
    return blocks - ahead;
}

json gguf_config(const GgufFile& gguf) {
    const GgufArchitecture& architecture = architecture_of(gguf);
    const GgufKeys keys(gguf, std::string(architecture.name));
    const GgufTensor* table = gguf.tensor("token_embd.weight");
    if (table == nullptr || table->dims.size() < 2)
        throw Error({.what = "the file has no embedding table: this is not a whole language model",
                     .file = gguf.path.string(),
                     .key = "token_embd.weight",
                     .found = {},
                     .expected = "a tensor of two dimensions"});
    json config = {{"model_type", architecture.model_type},
                   {"num_hidden_layers", gguf_layers(gguf)},
                   {"hidden_size", keys.count("embedding_length")},
                   {"num_attention_heads", keys.count("attention.head_count")},
                   {"max_position_embeddings", keys.count("context_length")},
                   {"vocab_size", table->dims[1]},
                   {"tie_word_embeddings", gguf.tensor("output.weight") == nullptr}};
    config["num_key_value_heads"] = config["num_attention_heads"];
    if (const std::int64_t kv_heads = keys.count_or_zero("attention.head_count_kv"); kv_heads > 0) config["num_key_value_heads"] = kv_heads;
    if (const std::int64_t width = keys.count_or_zero("feed_forward_length"); width > 0) config["intermediate_size"] = width;
    if (const std::int64_t width = keys.count_or_zero("attention.key_length"); width > 0) config["head_dim"] = width;
    architecture.add_keys(keys, config);
    return config;
}

void apply_gguf_tensors(const GgufFile& gguf, DecoderLlm& model) {
    const GgufArchitecture& architecture = architecture_of(gguf);
    const GgufKeys keys(gguf, std::string(architecture.name));
    model.tied_embeddings = gguf.tensor("output.weight") == nullptr;
    model.head_bias = gguf.tensor("output.bias") != nullptr;
    architecture.change(keys, model);
    if (!model.kinds.empty()) return;
    model.attention_bias = keys.length("attn_q.bias", 0) > 0 || keys.length("attn_qkv.bias", 0) > 0;
    model.output_bias = keys.length("attn_output.bias", 0) > 0;
    model.mlp_bias = keys.length("ffn_up.bias", 0) > 0;
    const GgufTensor* norm = gguf.tensor("blk.0.attn_q_norm.weight");
    model.qk_norm = norm != nullptr && norm->dims.size() == 1 && norm->dims[0] == model.head_dim;
    if (norm != nullptr && !model.qk_norm && norm->dims[0] == model.heads * model.head_dim && model.sliding_window == 0)
        norm_all_heads(model);
}

}  // namespace roofcast
