#include <algorithm>

#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

Encoder bert(const JsonReader& config) {
    const std::string positions = config.text_or("position_embedding_type", "absolute");
    if (positions != "absolute") throw config.error("position_embedding_type", "not supported", "absolute");
    Encoder m;
    m.layers = config.count("num_hidden_layers");
    m.hidden = config.count("hidden_size");
    m.heads = m.hidden / config.head_dim(m.hidden, "num_attention_heads");
    m.intermediate = config.count("intermediate_size");
    m.vocabulary = config.count("vocab_size");
    m.max_positions = config.count("max_position_embeddings");
    m.type_vocabulary = config.count("type_vocab_size", 0);
    m.default_tokens = std::min<std::int64_t>(m.default_tokens, m.max_positions);
    m.activation_kernels = eager_activation(config, "hidden_act", "gelu");
    return m;
}

Encoder roberta(const JsonReader& config) {
    Encoder m = bert(config);
    m.padding_positions = 2;  // the table counts from behind the token of padding, whose number is 1
    if (m.max_tokens() < 1) throw config.error("max_position_embeddings", "no position is left for a token", "more than 2");
    m.default_tokens = std::min<std::int64_t>(m.default_tokens, m.max_tokens());
    return m;
}

Encoder bart(const JsonReader& config) {
    Encoder m;
    m.layers = config.count("encoder_layers");
    m.decoder_layers = config.count("decoder_layers");
    m.hidden = config.count("d_model");
    m.heads = m.hidden / config.head_dim(m.hidden, "encoder_attention_heads");
    m.intermediate = config.count("encoder_ffn_dim");
    config.require_count("decoder_attention_heads", m.heads);
    config.require_count("decoder_ffn_dim", m.intermediate);
    m.vocabulary = config.count("vocab_size");
    m.padding_positions = 2;
    m.max_positions = config.count("max_position_embeddings") + m.padding_positions;
    m.default_tokens = std::min<std::int64_t>(m.default_tokens, m.max_tokens());
    m.activation_kernels = eager_activation(config, "activation_function", "gelu");
    m.pooler = false;
    return m;
}

Encoder electra(const JsonReader& config) {
    Encoder m = bert(config);
    m.pooler = false;
    const std::int64_t width = config.count_or("embedding_size", m.hidden, 1);
    m.embedding_dim = width == m.hidden ? 0 : width;
    return m;
}

Encoder deberta_v2(const JsonReader& config) {
    config.require_flag("relative_attention", true);
    config.require_flag("share_att_key", true);
    config.require_flag("position_biased_input", false);
    config.require_count("conv_kernel_size", 0);
    Encoder m = bert(config);
    m.pooler = false;
    const std::int64_t buckets = config.count_or("position_buckets", 0);
    m.relative_positions = 2 * (buckets > 0 ? buckets : m.max_positions);
    m.max_positions = 0;
    return m;
}

}  // namespace roofcast::hugging_face
