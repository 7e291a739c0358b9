#include "workload/hugging_face_decoders.hpp"

namespace roofcast::hugging_face {

void read_layer_types(const JsonReader& config, DecoderLlm& m) {
    const auto types = config.texts("layer_types");
    if (types.empty()) return;
    std::int64_t first_full = -1, windowed = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i] == "sliding_attention") {
            ++windowed;
        } else if (types[i] != "full_attention") {
            throw config.error("layer_types", "not supported", "full_attention and sliding_attention");
        } else if (first_full < 0) {
            first_full = static_cast<std::int64_t>(i);
        }
    }
    if (windowed == 0) {
        m.sliding_window = 0;
        return;
    }
    m.sliding_window = config.count("sliding_window");
    m.full_attention_every = first_full + 1;  // 0 when none is full
    for (std::size_t i = 0; i < types.size(); ++i) {
        const bool full = m.full_attention_every > 0 && (static_cast<std::int64_t>(i) + 1) % m.full_attention_every == 0;
        if (full != (types[i] == "full_attention")) throw config.error("layer_types", "not supported", "every n-th layer full");
    }
}

void read_window(const JsonReader& config, DecoderLlm& m, std::int64_t standard, std::int64_t full_every) {
    m.sliding_window = config.count_or("sliding_window", standard);
    m.full_attention_every = m.sliding_window > 0 ? full_every : 1;
    read_layer_types(config, m);
}

DecoderLlm rotary_decoder(const JsonReader& config) {
    DecoderLlm m;
    m.layers = config.count_between("num_hidden_layers", 1, most_layers);
    m.hidden = config.count("hidden_size");
    m.heads = config.count("num_attention_heads");
    m.kv_heads = config.count_or("num_key_value_heads", m.heads);
    if (m.kv_heads < 1 || m.heads % m.kv_heads != 0) throw config.error("num_key_value_heads", "heads are not a multiple of it");
    const bool latent = config.has("kv_lora_rank");  // whose heads have widths of their own
    m.head_dim = config.has("head_dim") || latent ? config.count(latent ? "qk_nope_head_dim" : "head_dim")
                                                  : config.head_dim(m.hidden, "num_attention_heads");
    if (latent) config.ignore({"head_dim"});
    m.vocabulary = config.count("vocab_size");
    m.max_context = config.count("max_position_embeddings");
    m.tied_embeddings = config.flag_or("tie_word_embeddings", false);
    static_cast<void>(config.count_or("sliding_window", 0));  // of a window that is off, too: a negative one is a slip
    return m;
}

DecoderLlm gated_decoder(const JsonReader& config) {
    DecoderLlm m = rotary_decoder(config);
    m.intermediate = config.count("intermediate_size");
    return m;
}

void make_classic(DecoderLlm& m) {
    m.norm = Normalization::layernorm;
    m.gated_mlp = false;
    m.attention_bias = m.output_bias = m.mlp_bias = true;
}

}  // namespace roofcast::hugging_face
