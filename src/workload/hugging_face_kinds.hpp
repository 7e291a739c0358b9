#pragma once
/// Configs of decoders whose layers differ: layers are added one by one, equal ones are counted together.

#include "roofcast/workload.hpp"
#include "workload/json_reader.hpp"

namespace roofcast::hugging_face {

/// Adds one layer to `groups`.
void add_layer(std::vector<LayerGroup>& groups, const TokenMixer& tokens, const ChannelMixer& channels);

/// Sizes that every decoder has, with attention as `num_attention_heads` and its companions say. No MLP.
DecoderLlm decoder_sizes(const JsonReader& config);

/// Attention as the decoder's fields say.
GroupedAttention attention_of(const DecoderLlm& m);

/// Whether each of `layers` layers has experts: as the list `moe_layer_freq` says; without a list all but the first `dense`. Throws Error
/// where `moe_layer_freq` is a number other than 1.
std::vector<bool> expert_layers(const JsonReader& config, std::int64_t layers, std::int64_t dense);

/// What a family of models calls the keys of its experts; `bias` reads `with_bias` where scores have a selection bias.
struct ExpertKeys {
    std::string_view experts, top_k, shared, bias, with_bias;
};
inline constexpr ExpertKeys deepseek_keys{"n_routed_experts", "num_experts_per_tok", "n_shared_experts", "topk_method", "noaux_tc"};
/// Ranks and head widths of latent attention.
MlaShape latent_shape(const JsonReader& config);
/// Experts of one width, shared ones among them.
MoeShape routed_experts(const JsonReader& config, const ExpertKeys& keys = deepseek_keys);

/// Sets what checks and peaks of memory ask the model itself for: layers, experts, the widest MLP.
void summarize(DecoderLlm& m);

}  // namespace roofcast::hugging_face
