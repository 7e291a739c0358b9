// Decoders whose attention or MLP differs from layer to layer: MiMo, GLM-4.5, Step, Gemma 4, Llama 4, and nets cut by architecture search.

#include <algorithm>
#include <cmath>

#include "workload/hugging_face_decoders.hpp"
#include "workload/hugging_face_kinds.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

/// Whether each layer attends to a window.
std::vector<bool> windowed_layers(const JsonReader& config, std::int64_t layers) {
    const auto types = config.texts("layer_types");
    if (types.size() != static_cast<std::size_t>(layers))
        throw config.error("layer_types", "not one entry for each layer", std::to_string(layers));
    std::vector<bool> windowed;
    for (const std::string& type : types) {
        if (type != "full_attention" && type != "sliding_attention")
            throw config.error("layer_types", "not supported", "full_attention and sliding_attention");
        windowed.push_back(type == "sliding_attention");
    }
    return windowed;
}

/// Width of an MLP that architecture search scaled by `multiple`: as LLaMA's, two thirds, in steps of 256.
std::int64_t scaled_intermediate(double multiple, std::int64_t hidden) {
    constexpr std::int64_t step = 256;
    const auto width = static_cast<std::int64_t>(2 * multiple * static_cast<double>(hidden) / 3);
    return (width + step - 1) / step * step;
}

TokenMixer searched_attention(const JsonReader& block, const DecoderLlm& m) {
    const JsonReader attention = block.object("attention");
    if (attention.flag_or("no_op", false)) return {};
    attention.require_flag("replace_with_linear", false);
    attention.require_count("window_length", 0);
    GroupedAttention a = attention_of(m);
    const std::int64_t group = attention.count("n_heads_in_group");
    if (m.heads % group != 0) throw attention.error("n_heads_in_group", "does not divide the attention heads");
    a.kv_heads = m.heads / group;
    return a;
}

ChannelMixer searched_mlp(const JsonReader& block, const DecoderLlm& m) {
    const JsonReader ffn = block.object("ffn");
    if (ffn.flag_or("no_op", false)) return {};
    if (ffn.flag_or("replace_with_linear", false)) return DenseMlp{};
    constexpr double most = 100;
    const double multiple = ffn.number_or("ffn_mult", 0);
    if (!(multiple > 0 && multiple <= most)) throw ffn.error("ffn_mult", "out of range", "a number above 0, up to 100");
    return DenseMlp{scaled_intermediate(multiple, m.hidden)};
}

}  // namespace

DecoderLlm mimo(const JsonReader& config) {
    config.require_flag("use_sliding_window", false);
    DecoderLlm m = gated_decoder(config);
    m.attention_bias = config.flag_or("attention_bias", true);
    if (const std::int64_t modules = config.count_or("num_nextn_predict_layers", 0); modules > 0)
        m.prediction = PredictionHeads{.modules = modules, .layers = {{attention_of(m), DenseMlp{m.intermediate}, 1}}};
    return m;
}

DecoderLlm mimo_v2_flash(const JsonReader& config) {
    DecoderLlm m = decoder_sizes(config);
    GroupedAttention full = attention_of(m);
    full.value_dim = config.count_or("v_head_dim", m.head_dim, 1);
    full.sinks = config.flag_or("add_full_attention_sink_bias", false);
    GroupedAttention windowed = full;
    windowed.heads = config.count_or("swa_num_attention_heads", m.heads, 1);
    windowed.kv_heads = config.count_or("swa_num_key_value_heads", m.kv_heads, 1);
    windowed.head_dim = config.count_or("swa_head_dim", m.head_dim, 1);
    windowed.value_dim = config.count_or("swa_v_head_dim", full.value_dim, 1);
    windowed.window = config.count("sliding_window");
    windowed.sinks = config.flag_or("add_swa_attention_sink_bias", false);
    if (windowed.heads % windowed.kv_heads != 0) throw config.error("swa_num_key_value_heads", "heads are not a multiple of it");
    const auto pattern = config.counts("hybrid_layer_pattern");
    const auto routed = expert_layers(config, m.layers, 0);
    if (pattern.size() != routed.size())
        throw config.error("hybrid_layer_pattern", "not one entry for each layer", std::to_string(m.layers));
    const MoeShape experts = routed_experts(config);
    const DenseMlp mlp{config.count("intermediate_size")};
    for (std::size_t i = 0; i < pattern.size(); ++i)
        add_layer(m.kinds, pattern[i] != 0 ? windowed : full, routed[i] ? ChannelMixer(experts) : ChannelMixer(mlp));
    summarize(m);
    return m;
}

DecoderLlm glm4_moe(const JsonReader& config) {
    DecoderLlm m = decoder_sizes(config);
    m.output_bias = false;
    m.qk_norm = config.flag_or("use_qk_norm", false);
    const GroupedAttention attention = attention_of(m);
    MoeShape experts = routed_experts(config);
    experts.selection_bias = true;
    const DenseMlp mlp{config.count("intermediate_size")};
    for (const bool routed : expert_layers(config, m.layers, config.count_or("first_k_dense_replace", 0)))
        add_layer(m.kinds, attention, routed ? ChannelMixer(experts) : ChannelMixer(mlp));
    if (const std::int64_t modules = config.count_or("num_nextn_predict_layers", 0); modules > 0)
        m.prediction = PredictionHeads{.modules = modules, .layers = {{attention, experts, 1}}, .own_tables = true};
    summarize(m);
    return m;
}

DecoderLlm step3p7(const JsonReader& config) {
    DecoderLlm m = decoder_sizes(config);
    GroupedAttention full = attention_of(m);
    full.norm = QueryKeyNorm::per_head;
    GroupedAttention windowed = full;
    windowed.window = config.count("sliding_window");
    const std::int64_t experts = config.count("num_experts");
    const MoeShape moe{.experts = experts,
                       .top_k = config.count_between("num_experts_per_tok", 1, experts),
                       .expert_intermediate = config.count("moe_intermediate_size"),
                       .shared_intermediate = config.count_or("n_shared_experts", 1) * config.count_or("share_expert_dim", 0)};
    const DenseMlp mlp{config.count("intermediate_size")};
    const auto routed = expert_layers(config, m.layers, config.count_or("first_k_dense_replace", 0));
    const auto windows = windowed_layers(config, m.layers);
    for (std::size_t i = 0; i < routed.size(); ++i)
        add_layer(m.kinds, windows[i] ? windowed : full, routed[i] ? ChannelMixer(moe) : ChannelMixer(mlp));
    // Each module has a dense layer with a window, and a head of its own.
    if (const std::int64_t modules = config.count_or("num_nextn_predict_layers", 0); modules > 0)
        m.prediction = PredictionHeads{.modules = modules, .layers = {{windowed, mlp, 1}}};
    summarize(m);
    return m;
}

DecoderLlm gemma4_text(const JsonReader& config) {
    config.ignore({"vocab_size_per_layer_input", "expert_intermediate_size"});  // of tables that it has not
    config.require_count("hidden_size_per_layer_input", 0);
    config.require_count("num_kv_shared_layers", 0);
    config.require_flag("use_double_wide_mlp", false);
    DecoderLlm m = decoder_sizes(config);
    m.norms_per_layer = 4;
    m.tied_embeddings = config.flag_or("tie_word_embeddings", true);
    GroupedAttention windowed = attention_of(m);
    windowed.norm = QueryKeyNorm::per_head;
    windowed.window = config.count("sliding_window");
    GroupedAttention full = windowed;
    full.window = 0;
    full.head_dim = config.count_or("global_head_dim", m.head_dim, 1);
    full.kv_heads = config.count_or("num_global_key_value_heads", m.kv_heads, 1);
    full.keys_are_values = config.flag_or("attention_k_eq_v", false);
    if (m.heads % full.kv_heads != 0) throw config.error("num_global_key_value_heads", "heads are not a multiple of it");
    // With experts, the dense MLP remains as a shared expert.
    const std::int64_t width = config.count("intermediate_size");
    ChannelMixer channels = DenseMlp{width};
    if (config.flag_or("enable_moe_block", false)) {
        const std::int64_t experts = config.count("num_experts");
        channels = MoeShape{.experts = experts,
                            .top_k = config.count_between("top_k_experts", 1, experts),
                            .expert_intermediate = config.count("moe_intermediate_size"),
                            .shared_intermediate = width};
    }
    for (const bool window : windowed_layers(config, m.layers)) add_layer(m.kinds, window ? windowed : full, channels);
    summarize(m);
    return m;
}

DecoderLlm llama4_text(const JsonReader& config) {
    constexpr std::int64_t usual_chunk = 8192, usual_interval = 4;  // of the library
    DecoderLlm m = decoder_sizes(config);
    const std::int64_t experts = config.count("num_local_experts"), width = config.count("intermediate_size");
    const MoeShape moe{.experts = experts,
                       .top_k = config.count_between("num_experts_per_tok", 1, experts),
                       .expert_intermediate = width,
                       .shared_intermediate = width};
    const DenseMlp mlp{config.count("intermediate_size_mlp")};
    const std::int64_t routed_every = config.count_or("interleave_moe_layer_step", 1, 1);
    const std::int64_t all_every = config.count_or("no_rope_layer_interval", usual_interval, 1);
    GroupedAttention full = attention_of(m);
    full.rotary = false;
    GroupedAttention chunked = attention_of(m);
    chunked.chunk = config.count_or("attention_chunk_size", usual_chunk, 1);
    if (config.flag_or("use_qk_norm", true)) chunked.norm = QueryKeyNorm::unlearned;
    // Where a list says it layer by layer, 0 is a layer without positions.
    const auto rotated = config.size_of("no_rope_layers") > 0 ? config.counts("no_rope_layers") : std::vector<std::int64_t>();
    if (!rotated.empty() && rotated.size() != static_cast<std::size_t>(m.layers))
        throw config.error("no_rope_layers", "not one entry for each layer", std::to_string(m.layers));
    for (std::int64_t i = 1; i <= m.layers; ++i)
        add_layer(m.kinds, (rotated.empty() ? i % all_every == 0 : rotated[static_cast<std::size_t>(i - 1)] == 0) ? full : chunked,
                  i % routed_every == 0 ? ChannelMixer(moe) : ChannelMixer(mlp));
    summarize(m);
    return m;
}

DecoderLlm nemotron_nas(const JsonReader& config) {
    DecoderLlm m = decoder_sizes(config);
    m.mlp_bias = config.flag_or("mlp_bias", false);
    const auto blocks = config.objects("block_configs");
    if (blocks.size() != static_cast<std::size_t>(m.layers))
        throw config.error("block_configs", "not one entry for each layer", std::to_string(m.layers));
    for (const JsonReader& block : blocks) add_layer(m.kinds, searched_attention(block, m), searched_mlp(block, m));
    summarize(m);
    return m;
}

}  // namespace roofcast::hugging_face
