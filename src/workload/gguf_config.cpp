// Keys: gguf-py/gguf/constants.py of llama.cpp.

#include "workload/gguf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "io/printable.hpp"
#include "io/toml_reader.hpp"
#include "workload/gguf_keys.hpp"
#include "workload/hugging_face_types.hpp"

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
void deepseek_expert_keys(const GgufKeys& keys, json& config) {
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

void latent_keys(const GgufKeys& keys, json& config) {
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

void query_key_keys(const GgufKeys& keys, json& config) {
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
void every_fourth_full(const GgufKeys& keys, DecoderLlm& m) {
    m.sliding_window = keys.count_or_zero("attention.sliding_window");
    constexpr std::int64_t all_every = 4;
    m.full_attention_every = m.sliding_window > 0 ? all_every : 1;
}

/// Nemotron's MLP squares what it keeps of one projection.
void squared_mlp(const GgufKeys&, DecoderLlm& m) {
    m.norm = Normalization::layernorm;
    m.gated_mlp = false;
}

}  // namespace

/// What files of some architectures have else than the configuration of their type.
struct GgufTrait {
    std::string_view name;
    void (*add_keys)(const GgufKeys&, json&) = no_keys;
    void (*change)(const GgufKeys&, DecoderLlm&) = change_nothing;  ///< of what the type has no key for
};

namespace {

constexpr GgufTrait traits[] = {
    {"mixtral_experts", llama_keys},       {"llama4_experts", llama4_keys},
    {"qwen_experts", qwen_moe_keys},       {"deepseek_experts", deepseek_expert_keys},
    {"gpt_oss_experts", gpt_oss_keys},     {"window", window_keys},
    {"gemma_window", gemma_window_keys},   {"latent_attention", latent_keys},
    {"query_key_norm", query_key_keys},    {"falcon_heads", falcon_keys},
    {"parallel_residual", gptneox_keys},   {"gpt2_names", gpt2_keys},
    {"layer_norms", no_keys, layer_norms}, {"every_fourth_full", no_keys, every_fourth_full},
    {"squared_mlp", no_keys, squared_mlp},
};

const GgufTrait& trait_of(const TableReader& table, const std::string& name) {
    std::vector<std::string> known;
    for (const GgufTrait& trait : traits) {
        if (trait.name == name) return trait;
        known.emplace_back(trait.name);
    }
    throw table.error("traits", "unknown trait", name, fmt::format("{}", fmt::join(known, ", ")), did_you_mean(name, known));
}

std::string architecture_name(const GgufFile& gguf) {
    const auto found = gguf.values.find("general.architecture");
    return found != gguf.values.end() && found->second.is_string() ? found->second.get<std::string>() : std::string();
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

std::vector<GgufArchitecture> load_gguf_architectures(const std::filesystem::path& file) {
    const toml::table root = parse_toml_file(file);
    TableReader reader(root, file.string());
    const std::vector<std::string> types = hugging_face::decoder_types();
    std::vector<GgufArchitecture> all;
    for (TableReader& table : reader.tables("architecture")) {
        GgufArchitecture own{.name = table.text("name"), .model_type = table.text("model_type"), .traits = {}};
        const auto same = [&own](const GgufArchitecture& other) { return other.name == own.name; };
        if (std::any_of(all.begin(), all.end(), same)) throw table.error("name", "the name occurs twice", own.name, "another name");
        if (std::find(types.begin(), types.end(), own.model_type) == types.end())
            throw table.error("model_type", "no reader knows this type", own.model_type, "a decoder's model_type of config.json",
                              did_you_mean(own.model_type, types));
        for (const std::string& name : table.texts_if("traits")) own.traits.push_back(&trait_of(table, name));
        table.finish();
        all.push_back(std::move(own));
    }
    reader.finish();
    return all;
}

const GgufArchitecture& architecture_of(const std::vector<GgufArchitecture>& architectures, const GgufFile& gguf) {
    const std::string name = architecture_name(gguf);
    std::vector<std::string> known;
    for (const GgufArchitecture& architecture : architectures) {
        if (architecture.name == name) return architecture;
        known.push_back(architecture.name);
    }
    throw Error({.what = name.empty() ? "a required key is missing" : "this architecture is not supported",
                 .file = gguf.path.string(),
                 .key = "general.architecture",
                 .found = printable(name),
                 .expected = fmt::format("{}", fmt::join(known, ", ")),
                 .suggestion = did_you_mean(name, known)});
}

std::int64_t gguf_layers(const GgufFile& gguf) {
    const GgufKeys keys(gguf, architecture_name(gguf));
    const std::int64_t blocks = keys.count("block_count"), ahead = keys.count_or_zero("nextn_predict_layers");
    if (ahead >= blocks) throw keys.error("nextn_predict_layers", "not below block_count", std::to_string(ahead));
    return blocks - ahead;
}

json gguf_config(const GgufFile& gguf, const GgufArchitecture& architecture) {
    const GgufKeys keys(gguf, architecture.name);
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
    for (const GgufTrait* trait : architecture.traits) trait->add_keys(keys, config);
    return config;
}

void apply_gguf_tensors(const GgufFile& gguf, const GgufArchitecture& architecture, DecoderLlm& model) {
    const GgufKeys keys(gguf, architecture.name);
    model.tied_embeddings = gguf.tensor("output.weight") == nullptr;
    model.head_bias = gguf.tensor("output.bias") != nullptr;
    for (const GgufTrait* trait : architecture.traits) trait->change(keys, model);
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
