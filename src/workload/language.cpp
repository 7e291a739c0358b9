// Language models: decoders, encoders, and the summary of published tables.

#include "workload/readers.hpp"

namespace roofcast {

namespace {

MoeShape read_moe(TableReader reader) {
    MoeShape moe;
    moe.experts = reader.count("experts", 1, largest_size);
    moe.top_k = reader.count("top_k", 1, moe.experts);
    moe.expert_intermediate = reader.count("expert_intermediate", 1, largest_size);
    moe.shared_intermediate = reader.count_if("shared_intermediate", 0, largest_size).value_or(0);
    moe.dense_layers = reader.count_if("dense_layers", 0, largest_size).value_or(0);
    moe.expert_bias = reader.flag_if("expert_bias").value_or(false);
    moe.shared_gate = reader.flag_if("shared_gate").value_or(false);
    reader.finish_with_base();
    return moe;
}

MlaShape read_mla(TableReader reader) {
    MlaShape mla;
    reader.expect({"rope_dim", "nope_dim"});
    mla.q_rank = reader.count_if("q_rank", 0, largest_size).value_or(0);
    mla.kv_rank = reader.count("kv_rank", 1, largest_size);
    mla.rope_dim = reader.count("rope_dim", 1, largest_size);
    mla.nope_dim = reader.count("nope_dim", 1, largest_size);
    mla.value_dim = reader.count("value_dim", 1, largest_size);
    reader.finish_with_base();
    return mla;
}

/// Modules of layers like the last one.
PredictionHeads read_prediction(TableReader reader, const DecoderLlm& model) {
    PredictionHeads heads;
    heads.modules = reader.count("modules", 1, largest_size);
    heads.own_tables = reader.flag_if("own_tables").value_or(false);
    reader.finish_with_base();
    LayerGroup layer;
    if (model.mla) {
        layer.tokens = LatentAttention{.heads = model.heads, .shape = *model.mla, .index = {}};
    } else {
        layer.tokens = GroupedAttention{.heads = model.heads, .kv_heads = model.kv_heads, .head_dim = model.head_dim, .index = {}};
    }
    layer.channels = model.moe ? ChannelMixer(*model.moe) : ChannelMixer(DenseMlp{model.intermediate});
    heads.layers = {layer};
    return heads;
}

void read_attention(TableReader& reader, DecoderLlm& model) {
    model.heads = reader.count("heads", 1, largest_size);
    model.kv_heads = reader.count_if("kv_heads", 1, model.heads).value_or(model.heads);
    if (model.heads % model.kv_heads != 0) throw reader.error("kv_heads", "heads are not a multiple of kv_heads");
    if (const auto head_dim = reader.count_if("head_dim", 1, largest_size)) {
        model.head_dim = *head_dim;
    } else {
        if (model.hidden % model.heads != 0) throw reader.error("heads", "hidden is not a multiple of heads, and head_dim is missing");
        model.head_dim = model.hidden / model.heads;
    }
    model.attention_bias = reader.flag_if("attention_bias").value_or(false);
    model.output_bias = reader.flag_if("output_bias").value_or(false);
    model.qk_norm = reader.flag_if("qk_norm").value_or(false);
    model.attention_sinks = reader.flag_if("attention_sinks").value_or(false);
    model.sliding_window = reader.count_if("sliding_window", 0, largest_size).value_or(0);
    const std::int64_t full_every = model.sliding_window > 0 ? 0 : 1;
    model.full_attention_every = reader.count_if("full_attention_every", 0, largest_size).value_or(full_every);
    model.cross_attention_layers = reader.counts_if("cross_attention_layers", 0, largest_size);
    if (reader.has("mla")) model.mla = read_mla(reader.table("mla"));
}

void read_blocks(TableReader& reader, DecoderLlm& model) {
    model.norm = read_norm(reader, "norm", Normalization::rmsnorm);
    model.norms_per_layer = reader.count_if("norms_per_layer", 1, 4).value_or(2);
    model.final_norm = reader.flag_if("final_norm").value_or(true);
    model.parallel_block = reader.flag_if("parallel_block").value_or(false);
    model.gated_mlp = reader.flag_if("gated_mlp").value_or(true);
    model.mlp_bias = reader.flag_if("mlp_bias").value_or(false);
    model.activation_kernels = read_activation(reader, "activation");
    if (reader.has("moe")) model.moe = read_moe(reader.table("moe"));
    model.intermediate =
        model.moe ? reader.count_if("intermediate", 0, largest_size).value_or(0) : reader.count("intermediate", 1, largest_size);
}

}  // namespace

Normalization read_norm(TableReader& reader, std::string_view key, Normalization standard) {
    const auto name = reader.text_if(key);
    if (!name) return standard;
    if (*name == "layernorm") return Normalization::layernorm;
    if (*name == "rmsnorm") return Normalization::rmsnorm;
    throw reader.error(key, "unknown norm", {}, "layernorm or rmsnorm");
}

DecoderLlm read_decoder(TableReader& reader) {
    DecoderLlm model;
    model.layers = reader.count("layers", 1, largest_size);
    model.hidden = reader.count("hidden", 1, largest_size);
    model.vocabulary = reader.count("vocabulary", 1, largest_size);
    model.max_context = reader.count("max_context");
    model.learned_positions = reader.count_if("learned_positions", 0, largest_size).value_or(0);
    model.embedding_dim = reader.count_if("embedding_dim", 0, largest_size).value_or(0);
    model.tied_embeddings = reader.flag_if("tied_embeddings").value_or(false);
    model.head_bias = reader.flag_if("head_bias").value_or(false);
    read_attention(reader, model);
    read_blocks(reader, model);
    if (reader.has("prediction")) model.prediction = read_prediction(reader.table("prediction"), model);
    return model;
}

Encoder read_encoder(TableReader& reader) {
    Encoder model;
    model.layers = reader.count("layers", 1, largest_size);
    model.hidden = reader.count("hidden", 1, largest_size);
    model.heads = reader.count("heads", 1, largest_size);
    if (model.hidden % model.heads != 0) throw reader.error("heads", "hidden is not a multiple of heads");
    model.intermediate = reader.count("intermediate", 1, largest_size);
    model.vocabulary = reader.count("vocabulary", 1, largest_size);
    model.max_positions = reader.count_if("max_positions", 0, largest_size).value_or(0);
    model.padding_positions = reader.count_if("padding_positions", 0, largest_size).value_or(0);
    if (model.padding_positions > 0 && model.padding_positions >= model.max_positions)
        throw reader.error("padding_positions", "no position is left for a token", {}, "fewer than max_positions");
    model.type_vocabulary = reader.count_if("type_vocabulary", 0, largest_size).value_or(0);
    model.embedding_dim = reader.count_if("embedding_dim", 0, largest_size).value_or(0);
    model.relative_positions = reader.count_if("relative_positions", 0, largest_size).value_or(0);
    model.pooler = reader.flag_if("pooler").value_or(true);
    model.decoder_layers = reader.count_if("decoder_layers", 0, largest_size).value_or(0);
    model.default_tokens = reader.count_if("default_tokens", 1, largest_size).value_or(512);
    model.activation_kernels = read_activation(reader, "activation");
    return model;
}

Summary read_summary(TableReader& reader) {
    Summary model;
    model.gmacs = reader.number("gmacs", plausible_total);
    model.mactivations = reader.number("mactivations", plausible_total);
    model.mparams = reader.number("mparams", plausible_total);
    model.layers = reader.count_if("layers", 0, largest_size).value_or(0);
    model.transformer = reader.flag_if("transformer").value_or(false);
    return model;
}

}  // namespace roofcast
