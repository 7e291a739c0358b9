#include "workload/hugging_face_decoders.hpp"
#include "workload/hugging_face_kinds.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

DecoderLlm gpt_sizes(const JsonReader& config) {
    DecoderLlm m;
    m.layers = config.count("n_layer");
    m.hidden = config.count("n_embd");
    m.heads = m.kv_heads = config.count("n_head");
    m.head_dim = config.head_dim(m.hidden, "n_head");
    m.intermediate = config.count_or("n_inner", 4 * m.hidden, 1);
    m.vocabulary = config.count("vocab_size");
    m.max_context = config.count("n_positions");
    return m;
}

/// The key of the number of experts: transformers 5 names it as Mixtral's, whatever it read.
std::string_view experts_key(const JsonReader& config) {
    return config.has("num_experts") || !config.has("num_local_experts") ? "num_experts" : "num_local_experts";
}

void require_all_sparse(const JsonReader& config) {
    config.require_count("decoder_sparse_step", 1);
    if (config.size_of("mlp_only_layers") > 0) throw config.error("mlp_only_layers", "not supported", "an empty list");
}

void require_no_window(const JsonReader& config, DecoderLlm& m) {
    if (config.has("layer_types")) {
        read_layer_types(config, m);
    } else if (config.flag_or("use_sliding_window", false) && config.count_or("max_window_layers", 0) < m.layers) {
        throw config.error("use_sliding_window", "windows in some layers only are not supported without layer_types", "false");
    }
}

}  // namespace

DecoderLlm llama(const JsonReader& config) {
    for (const char* another : {"num_local_experts", "num_experts", "n_routed_experts", "kv_lora_rank"}) config.require_count(another, 0);
    DecoderLlm m = gated_decoder(config);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", false);
    m.mlp_bias = config.flag_or("mlp_bias", false);
    return m;
}

DecoderLlm mistral(const JsonReader& config) {
    config.require_flag("attention_bias", false);
    DecoderLlm m = gated_decoder(config);
    read_window(config, m, 0, 0);
    return m;
}

DecoderLlm mixtral(const JsonReader& config) {
    DecoderLlm m = mistral(config);
    const std::int64_t experts = config.count("num_local_experts");
    m.moe = MoeShape{
        .experts = experts, .top_k = config.count_between("num_experts_per_tok", 1, experts), .expert_intermediate = m.intermediate};
    return m;
}

DecoderLlm qwen2(const JsonReader& config) {
    DecoderLlm m = gated_decoder(config);
    m.attention_bias = true;
    require_no_window(config, m);
    return m;
}

DecoderLlm qwen2_moe(const JsonReader& config) {
    require_all_sparse(config);
    DecoderLlm m = rotary_decoder(config);
    m.attention_bias = config.flag_or("qkv_bias", true);
    const std::int64_t experts = config.count(experts_key(config));
    m.moe = MoeShape{.experts = experts,
                     .top_k = config.count_between("num_experts_per_tok", 1, experts),
                     .expert_intermediate = config.count("moe_intermediate_size"),
                     .shared_intermediate = config.count("shared_expert_intermediate_size", 0),
                     .shared_gate = true};
    require_no_window(config, m);
    return m;
}

DecoderLlm qwen3(const JsonReader& config) {
    DecoderLlm m = gated_decoder(config);
    m.head_dim = config.count_or("head_dim", 128, 1);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", false);
    m.qk_norm = true;
    require_no_window(config, m);
    return m;
}

DecoderLlm qwen3_moe(const JsonReader& config) {
    require_all_sparse(config);
    config.ignore({"intermediate_size", "shared_expert_intermediate_size", "qkv_bias", "use_qk_norm"});  // of layers that it has not
    DecoderLlm m = rotary_decoder(config);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", false);
    m.qk_norm = true;
    const std::int64_t experts = config.count(experts_key(config));
    m.moe = MoeShape{.experts = experts,
                     .top_k = config.count_between("num_experts_per_tok", 1, experts),
                     .expert_intermediate = config.count("moe_intermediate_size")};
    require_no_window(config, m);
    return m;
}

DecoderLlm deepseek_v3(const JsonReader& config) {
    config.require_count("moe_layer_freq", 1);
    DecoderLlm m = gated_decoder(config);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", false);
    m.mla = latent_shape(config);
    m.moe = routed_experts(config);
    if (config.has("first_k_dense_replace")) m.moe->dense_layers = config.count_between("first_k_dense_replace", 0, m.layers);
    if (const std::int64_t modules = config.count_or("num_nextn_predict_layers", 0); modules > 0) {
        // DeepSeek's README: 14 billion parameters in the module, of which 0.9 billion each are copies of embedding and head.
        m.prediction = PredictionHeads{.modules = modules,
                                       .layers = {{LatentAttention{.heads = m.heads, .shape = *m.mla, .index = {}}, *m.moe, 1}},
                                       .own_tables = true};
    }
    return m;
}

DecoderLlm gpt_oss(const JsonReader& config) {
    config.ignore({"experts_per_token", "num_experts_per_tok"});
    DecoderLlm m = rotary_decoder(config);
    m.attention_bias = m.output_bias = config.flag_or("attention_bias", true);
    m.attention_sinks = true;
    m.sliding_window = config.count("sliding_window");
    m.full_attention_every = 2;
    read_layer_types(config, m);
    const std::int64_t experts = config.count("num_local_experts");
    const char* per_token =
        config.has("num_experts_per_tok") || !config.has("experts_per_token") ? "num_experts_per_tok" : "experts_per_token";
    m.moe = MoeShape{.experts = experts,
                     .top_k = config.count_between(per_token, 1, experts),
                     .expert_intermediate = config.count("intermediate_size"),
                     .expert_bias = true};
    return m;
}

DecoderLlm gpt2(const JsonReader& config) {
    DecoderLlm m = gpt_sizes(config);
    make_classic(m);
    m.activation_kernels = eager_activation(config, "activation_function", "gelu_new");
    m.learned_positions = m.max_context;
    m.tied_embeddings = config.flag_or("tie_word_embeddings", true);
    return m;
}

DecoderLlm gptj(const JsonReader& config) {
    DecoderLlm m = gpt_sizes(config);
    make_classic(m);
    m.activation_kernels = eager_activation(config, "activation_function", "gelu_new");
    m.attention_bias = m.output_bias = false;
    m.head_bias = m.parallel_block = true;
    m.norms_per_layer = 1;
    m.tied_embeddings = config.flag_or("tie_word_embeddings", false);
    return m;
}

DecoderLlm opt(const JsonReader& config) {
    config.require_flag("enable_bias", true);
    DecoderLlm m = rotary_decoder(config);
    make_classic(m);
    m.activation_kernels = eager_activation(config, "activation_function", "relu");
    m.intermediate = config.count("ffn_dim");
    constexpr std::int64_t position_offset = 2;
    m.learned_positions = m.max_context + position_offset;
    const std::int64_t width = config.count_or("word_embed_proj_dim", m.hidden, 1);
    m.embedding_dim = width == m.hidden ? 0 : width;
    m.final_norm = config.flag_or("do_layer_norm_before", true) && !config.flag_or("_remove_final_layer_norm", false);
    m.tied_embeddings = config.flag_or("tie_word_embeddings", true);
    return m;
}

DecoderLlm phi(const JsonReader& config) {
    config.require_flag("qk_layernorm", false);
    DecoderLlm m = gated_decoder(config);
    make_classic(m);
    m.activation_kernels = eager_activation(config, "hidden_act", "gelu_new");
    m.head_bias = m.parallel_block = true;
    m.norms_per_layer = 1;
    return m;
}

DecoderLlm falcon(const JsonReader& config) {
    config.require_flag("parallel_attn", true);
    DecoderLlm m;
    m.layers = config.count("num_hidden_layers");
    m.hidden = config.count("hidden_size");
    m.heads = config.count("num_attention_heads");
    const bool grouped = config.flag_or("new_decoder_architecture", false);
    m.kv_heads = grouped ? config.count("num_kv_heads") : config.flag_or("multi_query", true) ? 1 : m.heads;
    if (m.heads % m.kv_heads != 0) throw config.error("num_kv_heads", "heads are not a multiple of it");
    m.head_dim = config.head_dim(m.hidden, "num_attention_heads");
    m.intermediate = config.count_or("ffn_hidden_size", 4 * m.hidden, 1);
    m.vocabulary = config.count("vocab_size");
    m.max_context = config.count_or("max_position_embeddings", 2048, 1);
    m.norms_per_layer = grouped ? 2 : 1;
    if (config.has("num_ln_in_parallel_attn")) m.norms_per_layer = config.count_between("num_ln_in_parallel_attn", 1, 2);
    make_classic(m);
    m.activation_kernels = eager_activation(config, "activation", "gelu");
    m.parallel_block = true;
    m.attention_bias = m.output_bias = m.mlp_bias = config.flag_or("bias", false);
    m.tied_embeddings = config.flag_or("tie_word_embeddings", true);
    return m;
}

}  // namespace roofcast::hugging_face
