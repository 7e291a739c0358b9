// Decoders with latent, sparse or compressed attention: DeepSeek V3 to V4, Kimi K2, GLM-5, MiniMax M2 and M3.

#include <fmt/format.h>

#include <algorithm>

#include "workload/hugging_face_kinds.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

LatentAttention latent_attention(const JsonReader& config, const DecoderLlm& m) {
    return {.heads = m.heads, .shape = latent_shape(config), .bias = m.attention_bias, .output_bias = m.output_bias, .index = {}};
}

KeyIndex token_index(const JsonReader& config) {
    return {.heads = config.count("index_n_heads"), .dim = config.count("index_head_dim"), .top_k = config.count("index_topk")};
}

/// Which layers choose keys themselves; all where the config does not tell.
std::vector<bool> selecting_layers(const JsonReader& config, std::int64_t layers) {
    std::vector<bool> selects(static_cast<std::size_t>(layers), true);
    const auto types = config.texts("indexer_types");
    if (types.empty()) return selects;
    if (types.size() != selects.size()) throw config.error("indexer_types", "not one entry for each layer", std::to_string(layers));
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i] != "full" && types[i] != "shared") throw config.error("indexer_types", "not supported", "full and shared");
        selects[i] = types[i] == "full";
    }
    return selects;
}

/// Latent attention with an index, and leading dense layers.
DecoderLlm indexed_latent(const JsonReader& config, bool own_tables) {
    DecoderLlm m = decoder_sizes(config);
    LatentAttention attention = latent_attention(config, m);
    const KeyIndex index = token_index(config);
    const std::int64_t dense = config.has("first_k_dense_replace") ? config.count_between("first_k_dense_replace", 0, m.layers) : 0;
    const MoeShape experts = routed_experts(config);
    const DenseMlp mlp{config.count("intermediate_size")};
    const auto routed = expert_layers(config, m.layers, dense);
    const auto selects = selecting_layers(config, m.layers);
    config.ignore({"mlp_layer_types", "layer_types", "num_experts", "mlp_bias"});  // repeats, as the library writes them
    for (std::size_t i = 0; i < routed.size(); ++i) {
        attention.index = index;
        attention.index->selects = selects[i];
        add_layer(m.kinds, attention, routed[i] ? ChannelMixer(experts) : ChannelMixer(mlp));
    }
    attention.index = index;
    if (const std::int64_t modules = config.count_or("num_nextn_predict_layers", 0); modules > 0)
        m.prediction = PredictionHeads{.modules = modules, .layers = {{attention, experts, 1}}, .own_tables = own_tables};
    summarize(m);
    return m;
}

/// Published totals are those of the layers alone (228,689,764,864 of M2, 427,040,140,160 of M3 with its tower).
void leave_out_prediction(const JsonReader& config) {
    config.ignore({"use_mtp", "num_mtp_modules", "mtp_transformer_layers", "num_nextn_predict_layers"});
    if (config.has("num_mtp_modules"))
        config.remark("num_mtp_modules", "published checkpoints have no multi-token prediction modules, so none are counted");
}

/// MiniMax's experts: no shared one where its width is 0.
MoeShape minimax_experts(const JsonReader& config) {
    const std::int64_t experts = config.count("num_local_experts"), width = config.count("intermediate_size");
    const std::int64_t shared = config.count_or("shared_intermediate_size", 0) * config.count_or("n_shared_experts", 1);
    return {.experts = experts,
            .top_k = config.count_between("num_experts_per_tok", 1, experts),
            .expert_intermediate = width,
            .shared_intermediate = shared,
            .selection_bias = config.flag_or("use_routing_bias", false)};
}

GroupedAttention minimax_attention(const JsonReader& config, const DecoderLlm& m) {
    GroupedAttention a = attention_of(m);
    if (!config.flag_or("use_qk_norm", true)) return a;
    const std::string norm = config.text_or("qk_norm_type", "per_layer");
    if (norm != "per_layer" && norm != "per_head") throw config.error("qk_norm_type", "not supported", "per_layer or per_head");
    a.norm = norm == "per_head" ? QueryKeyNorm::per_head : QueryKeyNorm::all_heads;
    return a;
}

CompressedAttention compressed_attention(const JsonReader& config, const DecoderLlm& m, std::int64_t ratio) {
    constexpr std::int64_t overlapping = 4;  // DeepSeek's inference code: only the finest ratio overlaps, and has an index
    CompressedAttention a{.heads = m.heads,
                          .head_dim = m.head_dim,
                          .rope_dim = config.count_between("qk_rope_head_dim", 1, m.head_dim),
                          .q_rank = config.count("q_lora_rank"),
                          .output_groups = config.count_between("o_groups", 1, m.heads),
                          .output_rank = config.count("o_lora_rank"),
                          .window = config.count("sliding_window"),
                          .ratio = ratio,
                          .overlaps = ratio == overlapping,
                          .index = {}};
    if (m.heads % a.output_groups != 0) throw config.error("o_groups", "heads are not a multiple of it");
    if (a.overlaps) a.index = token_index(config);
    return a;
}

}  // namespace

DecoderLlm deepseek_v32(const JsonReader& config) {
    return indexed_latent(config, true);
}

DecoderLlm glm_moe_dsa(const JsonReader& config) {
    return indexed_latent(config, false);
}

DecoderLlm deepseek_v4(const JsonReader& config) {
    DecoderLlm m = decoder_sizes(config);
    const MoeShape experts = routed_experts(config);
    const auto ratios = config.counts("compress_ratios");
    const std::int64_t modules = config.count_or("num_nextn_predict_layers", 0);
    const auto layers = static_cast<std::size_t>(m.layers);
    if (ratios.size() < layers) throw config.error("compress_ratios", "fewer entries than layers", std::to_string(m.layers));
    for (std::size_t i = 0; i < layers; ++i) add_layer(m.kinds, compressed_attention(config, m, ratios[i]), experts);
    if (modules > 0) {
        const std::int64_t ratio = ratios.size() > layers ? ratios[layers] : 0;
        m.prediction = PredictionHeads{.modules = modules, .layers = {{compressed_attention(config, m, ratio), experts, 1}}};
    }
    m.residual_streams = config.count_or("hc_mult", 4, 1);
    summarize(m);
    return m;
}

DecoderLlm minimax_m2(const JsonReader& config) {
    leave_out_prediction(config);
    DecoderLlm m = decoder_sizes(config);
    m.kinds = {{minimax_attention(config, m), minimax_experts(config), m.layers}};
    summarize(m);
    return m;
}

DecoderLlm minimax_m3(const JsonReader& config) {
    leave_out_prediction(config);
    DecoderLlm m = decoder_sizes(config);
    config.ignore({"moe_intermediate_size"});  // repeats intermediate_size
    const GroupedAttention dense_attention = minimax_attention(config, m);
    GroupedAttention sparse_attention = dense_attention;
    const JsonReader sparse = config.object("sparse_attention_config");
    const std::int64_t block = sparse.count("sparse_block_size");
    sparse_attention.index = KeyIndex{.heads = sparse.count("sparse_num_index_heads"),
                                      .dim = sparse.count("sparse_index_dim"),
                                      .top_k = sparse.count("sparse_topk_blocks") * block,
                                      .block = block};
    const auto sparse_layers = sparse.counts("sparse_attention_freq");
    const auto routed = expert_layers(config, m.layers, config.count_or("first_k_dense_replace", 0));
    if (sparse_layers.size() != routed.size())
        throw sparse.error("sparse_attention_freq", "not one entry for each layer", std::to_string(m.layers));
    const MoeShape experts = minimax_experts(config);
    const DenseMlp mlp{config.count("dense_intermediate_size")};
    for (std::size_t i = 0; i < routed.size(); ++i) {
        add_layer(m.kinds, sparse_layers[i] != 0 ? sparse_attention : dense_attention,
                  routed[i] ? ChannelMixer(experts) : ChannelMixer(mlp));
    }
    summarize(m);
    return m;
}

}  // namespace roofcast::hugging_face
