#include "workload/hugging_face_kinds.hpp"

#include <algorithm>

#include "workload/hugging_face_decoders.hpp"

namespace roofcast::hugging_face {

void add_layer(std::vector<LayerGroup>& groups, const TokenMixer& tokens, const ChannelMixer& channels) {
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const LayerGroup& g) { return g.tokens == tokens && g.channels == channels; });
    if (same != groups.end()) {
        ++same->layers;
    } else {
        groups.push_back({tokens, channels, 1});
    }
}

DecoderLlm decoder_sizes(const JsonReader& config) {
    DecoderLlm m = rotary_decoder(config);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", false);
    return m;
}

GroupedAttention attention_of(const DecoderLlm& m) {
    return {.heads = m.heads,
            .kv_heads = m.kv_heads,
            .head_dim = m.head_dim,
            .bias = m.attention_bias,
            .output_bias = m.output_bias,
            .norm = m.qk_norm ? QueryKeyNorm::per_head : QueryKeyNorm::none,
            .index = {}};
}

std::vector<bool> expert_layers(const JsonReader& config, std::int64_t layers, std::int64_t dense) {
    std::vector<bool> flags(static_cast<std::size_t>(layers), true);
    std::fill_n(flags.begin(), std::min(dense, layers), false);
    if (config.is_list("moe_layer_freq")) {
        const auto listed = config.counts("moe_layer_freq");
        if (listed.size() != flags.size()) throw config.error("moe_layer_freq", "not one entry for each layer", std::to_string(layers));
        for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = listed[i] != 0;
    } else {
        config.require_count("moe_layer_freq", 1);
    }
    return flags;
}

MlaShape latent_shape(const JsonReader& config) {
    return {.q_rank = config.count_or("q_lora_rank", 0),
            .kv_rank = config.count("kv_lora_rank"),
            .rope_dim = config.count("qk_rope_head_dim"),
            .nope_dim = config.count("qk_nope_head_dim"),
            .value_dim = config.count("v_head_dim")};
}

MoeShape routed_experts(const JsonReader& config, const ExpertKeys& keys) {
    const std::int64_t experts = config.count(keys.experts), width = config.count("moe_intermediate_size");
    return {.experts = experts,
            .top_k = config.count_between(keys.top_k, 1, experts),
            .expert_intermediate = width,
            .shared_intermediate = config.count_or(keys.shared, 0) * width,
            .selection_bias = config.text_or(keys.bias, "") == keys.with_bias};
}

void summarize(DecoderLlm& m) {
    m.layers = 0;
    m.moe.reset();
    for (const LayerGroup& group : m.kinds) {
        m.layers += group.layers;
        if (const auto* experts = std::get_if<MoeShape>(&group.channels)) m.moe = *experts;
        if (const auto* mlp = std::get_if<DenseMlp>(&group.channels)) m.intermediate = std::max(m.intermediate, mlp->intermediate);
        if (const auto* a = std::get_if<GroupedAttention>(&group.tokens)) m.attention_sinks = m.attention_sinks || a->sinks;
    }
}

}  // namespace roofcast::hugging_face
