// Decoders that differ from those of Llama and GPT-2 in norms, windows or blocks. Scalars of embeddings, scores and logits change no
// operator; soft caps of scores are part of attention.

#include "workload/hugging_face_decoders.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

/// Gemma ties its embeddings and has heads of a width of their own.
DecoderLlm gemma_sizes(const JsonReader& config) {
    DecoderLlm m = gated_decoder(config);
    m.head_dim = config.count_or("head_dim", 256, 1);
    m.tied_embeddings = config.flag_or("tie_word_embeddings", true);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", false);
    return m;
}

/// Norms before and after attention and MLP; every n-th layer sees all tokens, the others a window.
DecoderLlm alternating_gemma(const JsonReader& config, std::int64_t full_every) {
    constexpr std::int64_t usual_window = 4096;
    DecoderLlm m = gemma_sizes(config);
    m.norms_per_layer = 4;
    read_window(config, m, usual_window, full_every);
    return m;
}

}  // namespace

DecoderLlm gemma(const JsonReader& config) {
    return gemma_sizes(config);
}

DecoderLlm gemma2(const JsonReader& config) {
    return alternating_gemma(config, 2);
}

DecoderLlm gemma3_text(const JsonReader& config) {
    DecoderLlm m = alternating_gemma(config, config.count_or("sliding_window_pattern", 6, 1));
    m.qk_norm = true;
    m.window_rotary = m.sliding_window > 0;
    if (config.is_object("rope_scaling")) {
        const JsonReader scaling = config.object("rope_scaling");
        const double factor = scaling.number_or("factor", 1);
        constexpr double most = 1024;
        if (scaling.text_or("rope_type", scaling.text_or("type", "")) == "linear" && factor > 1 && factor <= most)
            m.rotary_positions = static_cast<std::int64_t>(factor * static_cast<double>(m.max_context));
    }
    return m;
}

DecoderLlm glm4(const JsonReader& config) {
    DecoderLlm m = gated_decoder(config);
    m.attention_bias = config.flag_or("attention_bias", false);
    m.norms_per_layer = 4;
    return m;
}

DecoderLlm gpt_neox(const JsonReader& config) {
    DecoderLlm m = gated_decoder(config);
    make_classic(m);
    m.activation_kernels = eager_activation(config, "hidden_act", "gelu");
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", true);
    m.parallel_block = config.flag_or("use_parallel_residual", true);
    return m;
}

DecoderLlm smollm3(const JsonReader& config) {
    config.require_flag("use_sliding_window", false);
    static_cast<void>(config.size_of("no_rope_layers"));  // positions of these layers are not rotated: a small kernel less
    static_cast<void>(config.count_or("no_rope_layer_interval", 0));
    static_cast<void>(config.texts("layer_types"));
    DecoderLlm m = gated_decoder(config);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", false);
    m.mlp_bias = config.flag_or("mlp_bias", false);
    m.tied_embeddings = config.flag_or("tie_word_embeddings", true);
    return m;
}

DecoderLlm starcoder2(const JsonReader& config) {
    DecoderLlm m = gated_decoder(config);
    make_classic(m);
    m.activation_kernels = eager_activation(config, "hidden_act", "gelu_pytorch_tanh");
    m.attention_bias = m.output_bias = m.mlp_bias = config.flag_or("use_bias", true);
    m.tied_embeddings = config.flag_or("tie_word_embeddings", true);
    read_window(config, m, 0, 0);
    return m;
}

}  // namespace roofcast::hugging_face
