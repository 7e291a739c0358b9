// Decoders whose layers mix tokens by recurrent states in most places: Qwen3.5, Nemotron-H and Nemotron 3, Kimi Linear and K3.

#include <fmt/format.h>

#include <algorithm>

#include "workload/hugging_face_decoders.hpp"
#include "workload/hugging_face_kinds.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

constexpr std::int64_t usual_convolution = 4;

MoeShape qwen_experts(const JsonReader& config) {
    const std::int64_t experts = config.count("num_experts");
    return {.experts = experts,
            .top_k = config.count_between("num_experts_per_tok", 1, experts),
            .expert_intermediate = config.count("moe_intermediate_size"),
            .shared_intermediate = config.count_or("shared_expert_intermediate_size", 0),
            .shared_gate = true};
}

/// Letters of Nemotron's patterns, and the names that later configurations spell out.
enum class HybridLayer { mamba, attention, experts, mlp };

std::vector<HybridLayer> hybrid_layers(const JsonReader& config, std::string_view pattern, std::string_view names) {
    std::vector<HybridLayer> layers;
    if (config.has(pattern)) {
        for (const char letter : config.text_or(pattern, "")) {
            if (letter != 'M' && letter != '*' && letter != 'E' && letter != '-')
                throw config.error(pattern, "not supported", "letters M, E, * and -");
            layers.push_back(letter == 'M'   ? HybridLayer::mamba
                             : letter == '*' ? HybridLayer::attention
                             : letter == 'E' ? HybridLayer::experts
                                             : HybridLayer::mlp);
        }
        return layers;
    }
    for (const std::string& name : config.texts(names)) {
        if (name != "mamba" && name != "attention" && name != "moe" && name != "mlp")
            throw config.error(names, "not supported", "mamba, attention, moe and mlp");
        layers.push_back(name == "mamba"       ? HybridLayer::mamba
                         : name == "attention" ? HybridLayer::attention
                         : name == "moe"       ? HybridLayer::experts
                                               : HybridLayer::mlp);
    }
    return layers;
}

MoeShape nemotron_experts(const JsonReader& config) {
    const std::int64_t experts = config.count("n_routed_experts");
    return {.experts = experts,
            .top_k = config.count_between("num_experts_per_tok", 1, experts),
            .expert_intermediate = config.count("moe_intermediate_size"),
            .shared_intermediate = config.count_or("n_shared_experts", 0) * config.count_or("moe_shared_expert_intermediate_size", 0),
            .selection_bias = true,
            .latent = config.count_or("moe_latent_size", 0)};
}

Mamba2 mamba(const JsonReader& config) {
    Mamba2 a{.heads = config.count("mamba_num_heads"),
             .head_dim = config.count("mamba_head_dim"),
             .groups = config.count("n_groups"),
             .state = config.count("ssm_state_size"),
             .convolution = config.count_or("conv_kernel", usual_convolution, 1),
             .bias = config.flag_or("use_bias", false),
             .convolution_bias = config.flag_or("use_conv_bias", true)};
    if (a.heads % a.groups != 0) throw config.error("n_groups", "mamba_num_heads is not a multiple of it");
    return a;
}

/// Adds layers that have one mixer each.
void add_hybrid_layers(const JsonReader& config, const DecoderLlm& m, const std::vector<HybridLayer>& layers,
                       std::vector<LayerGroup>& groups) {
    for (const HybridLayer layer : layers) {
        switch (layer) {
            case HybridLayer::mamba:
                add_layer(groups, mamba(config), {});
                break;
            case HybridLayer::attention: {
                GroupedAttention a = attention_of(m);
                a.rotary = false;  // Nemotron-H (2025), section 2: attention without positions
                add_layer(groups, a, {});
                break;
            }
            case HybridLayer::experts:
                add_layer(groups, {}, nemotron_experts(config));
                break;
            case HybridLayer::mlp:
                add_layer(groups, {}, DenseMlp{config.count("intermediate_size")});
                break;
        }
    }
}

/// Which layers, counted from 1, attend to all tokens.
std::vector<bool> full_layers(const JsonReader& linear, std::int64_t layers) {
    std::vector<int> kinds(static_cast<std::size_t>(layers), 0);
    for (const char* key : {"full_attn_layers", "kda_layers"}) {
        for (const std::int64_t layer : linear.counts(key)) {
            if (layer < 1 || layer > layers) throw linear.error(key, "no such layer", "numbers from 1 to num_hidden_layers");
            int& kind = kinds[static_cast<std::size_t>(layer - 1)];
            if (kind != 0) throw linear.error(key, "a layer is listed twice");
            kind = key == std::string_view("kda_layers") ? 1 : 2;
        }
    }
    if (std::find(kinds.begin(), kinds.end(), 0) != kinds.end()) throw linear.error("kda_layers", "a layer is in neither list");
    std::vector<bool> full;
    for (const int kind : kinds) full.push_back(kind == 2);
    return full;
}

MoeShape kimi_experts(const JsonReader& config) {
    constexpr ExpertKeys keys{"num_experts", "num_experts_per_token", "num_shared_experts", "moe_router_activation_func", "sigmoid"};
    MoeShape experts = routed_experts(config, keys);
    experts.latent = config.count_or("routed_expert_hidden_size", 0);
    experts.latent_norm = config.flag_or("latent_moe_use_norm", false);
    return experts;
}

}  // namespace

DecoderLlm qwen3_5(const JsonReader& config) {
    DecoderLlm m = decoder_sizes(config);
    config.require_count("decoder_sparse_step", 1);
    const bool routed = config.has("num_experts");
    if (routed) config.ignore({"intermediate_size"});  // of layers that it has not
    const ChannelMixer channels = routed ? ChannelMixer(qwen_experts(config)) : ChannelMixer(DenseMlp{config.count("intermediate_size")});
    if (config.size_of("mlp_only_layers") > 0) throw config.error("mlp_only_layers", "not supported", "an empty list");
    GroupedAttention full = attention_of(m);
    full.norm = QueryKeyNorm::per_head;
    full.gate = config.flag_or("attn_output_gate", true);
    const GatedDelta delta{.key_heads = config.count("linear_num_key_heads"),
                           .key_dim = config.count("linear_key_head_dim"),
                           .value_heads = config.count("linear_num_value_heads"),
                           .value_dim = config.count("linear_value_head_dim"),
                           .convolution = config.count_or("linear_conv_kernel_dim", usual_convolution, 1)};
    if (delta.value_heads % delta.key_heads != 0) throw config.error("linear_num_value_heads", "not a multiple of linear_num_key_heads");
    const auto types = config.texts("layer_types");
    if (!types.empty() && types.size() != static_cast<std::size_t>(m.layers))
        throw config.error("layer_types", "not one entry for each layer", std::to_string(m.layers));
    const std::int64_t every = config.count_or("full_attention_interval", 4, 1);
    for (std::int64_t i = 0; i < m.layers; ++i) {
        const std::string type =
            types.empty() ? ((i + 1) % every == 0 ? "full_attention" : "linear_attention") : types[static_cast<std::size_t>(i)];
        if (type != "full_attention" && type != "linear_attention")
            throw config.error("layer_types", "not supported", "full_attention and linear_attention");
        add_layer(m.kinds, type == "full_attention" ? TokenMixer(full) : TokenMixer(delta), channels);
    }
    if (const std::int64_t modules = config.count_or("mtp_num_hidden_layers", 0); modules > 0)
        m.prediction = PredictionHeads{
            .modules = modules, .layers = {{full, channels, 1}}, .own_tables = config.flag_or("mtp_use_dedicated_embeddings", false)};
    summarize(m);
    return m;
}

DecoderLlm nemotron_h(const JsonReader& config) {
    DecoderLlm m;
    m.hidden = config.count("hidden_size");
    m.heads = config.count("num_attention_heads");
    m.kv_heads = config.count("num_key_value_heads");
    if (m.heads % m.kv_heads != 0) throw config.error("num_key_value_heads", "heads are not a multiple of it");
    m.head_dim = config.has("head_dim") ? config.count("head_dim") : config.count("attention_head_dim");
    m.vocabulary = config.count("vocab_size");
    m.max_context = config.count("max_position_embeddings");
    m.tied_embeddings = config.flag_or("tie_word_embeddings", false);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", false);
    m.mlp_bias = config.flag_or("mlp_bias", false);
    const std::string activation = config.text_or("mlp_hidden_act", "relu2");
    if (activation != "relu2") throw config.error("mlp_hidden_act", "not supported", "relu2");
    m.gated_mlp = false;
    config.ignore({"intermediate_size"});  // where no layer is a dense MLP
    config.require_flag("mamba_proj_bias", false);
    if (config.text_or("mamba_hidden_act", "silu") != "silu") throw config.error("mamba_hidden_act", "not supported", "silu");
    const auto layers = hybrid_layers(config, "hybrid_override_pattern", "layers_block_type");
    if (layers.empty()) throw config.error("hybrid_override_pattern", "a required key is missing");
    if (layers.size() > static_cast<std::size_t>(most_layers))
        throw config.error("hybrid_override_pattern", "too many layers", fmt::format("at most {}", most_layers));
    if (config.has("num_hidden_layers")) config.require_count("num_hidden_layers", static_cast<std::int64_t>(layers.size()));
    add_hybrid_layers(config, m, layers, m.kinds);
    if (const std::int64_t modules = config.count_or("num_nextn_predict_layers", 0); modules > 0) {
        m.prediction = PredictionHeads{.modules = modules, .layers = {}};
        add_hybrid_layers(config, m, hybrid_layers(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type"), m.prediction->layers);
    }
    summarize(m);
    return m;
}

DecoderLlm kimi_linear(const JsonReader& config) {
    DecoderLlm m = decoder_sizes(config);
    const JsonReader linear = config.object("linear_attn_config");
    const KimiDelta delta{.heads = linear.count("num_heads"),
                          .dim = linear.count("head_dim"),
                          .convolution = linear.count_or("short_conv_kernel_size", usual_convolution, 1),
                          .full_rank_gate = linear.flag_or("use_full_rank_gate", false)};
    const bool latent_experts = config.has("routed_expert_hidden_size");
    const LatentAttention latent{.heads = m.heads,
                                 .shape = latent_shape(config),
                                 .rotary = !config.flag_or("mla_use_nope", false),
                                 // K3's report, equation 7; Kimi Linear, which has no latent experts, has none.
                                 .gate = config.flag_or("mla_use_output_gate", latent_experts),
                                 .index = {}};
    const auto full = full_layers(linear, m.layers);
    const auto routed = expert_layers(config, m.layers, config.count_or("first_k_dense_replace", 0));
    const MoeShape experts = kimi_experts(config);
    const DenseMlp mlp{config.count("intermediate_size")};
    for (std::size_t i = 0; i < full.size(); ++i) {
        add_layer(m.kinds, full[i] ? TokenMixer(latent) : TokenMixer(delta), routed[i] ? ChannelMixer(experts) : ChannelMixer(mlp));
    }
    m.residual_block = config.count_or("attn_res_block_size", 0);
    config.require_count("num_nextn_predict_layers", 0);
    summarize(m);
    return m;
}

}  // namespace roofcast::hugging_face
