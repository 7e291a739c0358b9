// Models that read images: a vision tower, a projector and one of the decoders.

#include <algorithm>

#include "workload/hugging_face_models.hpp"
#include "workload/readers.hpp"

namespace roofcast::hugging_face {

namespace {

constexpr std::int64_t usual_side = 448;  // processors take any size; 448 is that of the shipped descriptors

/// `decoder` of `text_config`, and of the outer config what stands there only.
template <class ReadDecoder>
DecoderLlm language(const JsonReader& config, ReadDecoder decoder) {
    DecoderLlm m = decoder(config.object_or_this("text_config"));
    if (config.has("text_config") && config.has("tie_word_embeddings"))
        m.tied_embeddings = config.flag_or("tie_word_embeddings", m.tied_embeddings);
    return m;
}

/// A plain tower by the library's usual key names.
Vit plain_tower(const JsonReader& vision, std::string_view layers = "num_hidden_layers", std::string_view heads = "num_attention_heads") {
    Vit m;
    m.hidden = vision.count("hidden_size");
    m.layers = vision.count(layers);
    m.heads = m.hidden / vision.head_dim(m.hidden, heads);
    m.intermediate = vision.count("intermediate_size");
    m.channels = vision.count_or("in_channels", vision.count_or("num_channels", 3, 1), 1);
    m.image_size = vision.count_or("image_size", usual_side, 1);
    m.patch = vision.count_between("patch_size", 1, m.image_size);
    m.extra_tokens = m.classes = 0;
    return m;
}

/// One token of `merge` × `merge` patches, through two layers.
void merge_patches(const JsonReader& reader, VisionLanguage& m, std::string_view key) {
    m.merge = reader.has(key) ? reader.count_between(key, 1, most_merged) : 2;
}

/// The model of `text` that sees what `describe(vision_config, model)` fills in; `text` alone where the config has no tower.
template <class Describe>
Architecture with_tower(const JsonReader& config, DecoderLlm text, Describe describe) {
    if (!config.has("vision_config")) return text;
    VisionLanguage m;
    m.language = std::move(text);
    describe(config.object("vision_config"), m);
    return m;
}

Architecture qwen_vision(const JsonReader& config, DecoderLlm decoder) {
    return with_tower(config, std::move(decoder), [&](const JsonReader& vision, VisionLanguage& m) {
        m.vision = plain_tower(vision, "depth", "num_heads");
        m.vision.position_rows = vision.count("num_position_embeddings");
        m.temporal_patch = vision.count_or("temporal_patch_size", 2, 1);
        merge_patches(vision, m, "spatial_merge_size");
        m.projector = {m.merge * m.merge * m.vision.hidden, m.language.hidden};
        m.deepstack = static_cast<std::int64_t>(vision.size_of("deepstack_visual_indexes"));
    });
}

}  // namespace

Architecture qwen3_vl(const JsonReader& config) {
    const auto decoder = [](const JsonReader& text) { return text.has("num_experts") ? qwen3_moe(text) : qwen3(text); };
    return qwen_vision(config, language(config, decoder));
}

Architecture qwen3_5_vl(const JsonReader& config) {
    return qwen_vision(config, language(config, qwen3_5));
}

Architecture kimi_k25(const JsonReader& config) {
    const auto decoder = [](const JsonReader& text) { return text.has("linear_attn_config") ? kimi_linear(text) : deepseek_v3(text); };
    return with_tower(config, language(config, decoder), [&](const JsonReader& vision, VisionLanguage& m) {
        Vit& tower = m.vision;
        tower.hidden = vision.count("vt_hidden_size");
        tower.layers = vision.count("vt_num_hidden_layers");
        tower.heads = vision.count("vt_num_attention_heads");
        tower.attention_width = vision.count_or("qkv_hidden_size", tower.hidden, 1);
        if (tower.attention_width % tower.heads != 0) throw vision.error("vt_num_attention_heads", "the width is not a multiple of it");
        tower.intermediate = vision.count("vt_intermediate_size");
        tower.image_size = usual_side;
        tower.patch = vision.count_between("patch_size", 1, usual_side);
        tower.extra_tokens = tower.classes = 0;
        tower.position_rows = vision.count("init_pos_emb_height") * vision.count("init_pos_emb_width");
        tower.norm = vision.text_or("norm_type", "layernorm") == "rmsnorm" ? Normalization::rmsnorm : Normalization::layernorm;
        tower.qkv_bias = vision.flag_or("attn_bias", true);
        tower.linear_bias = vision.flag_or("linear_bias", true);
        tower.patch_bias = vision.flag_or("patch_embed_proj_bias", true);
        const auto merge = vision.counts("merge_kernel_size");
        if (merge.size() != 2 || merge[0] != merge[1] || merge[0] < 1 || merge[0] > most_merged)
            throw vision.error("merge_kernel_size", "not supported", "two equal numbers");
        m.merge = merge[0];
        m.projector = {m.merge * m.merge * tower.hidden, m.language.hidden};
        if (const std::string kind = vision.text_or("mm_projector_type", "patchmerger"); kind != "patchmerger")
            vision.remark("mm_projector_type", kind + " is read as patchmerger: a norm and two layers");
    });
}

Architecture minimax_m3_vl(const JsonReader& config) {
    return with_tower(config, language(config, minimax_m3), [&](const JsonReader& vision, VisionLanguage& m) {
        const JsonReader merging = config.object_or_this("img_token_compression_config");
        vision.ignore({"img_token_compression_config", "vocab_size", "projection_dim", "num_key_value_heads"});  // repeats
        m.vision = plain_tower(vision);
        m.vision.image_size = usual_side;
        m.vision.absolute_positions = m.vision.patch_bias = false;
        m.vision.pre_norm = true;
        m.temporal_patch = merging.count_or("temporal_patch_size", 1, 1);
        merge_patches(merging, m, "spatial_merge_size");
        const std::int64_t width = config.count_or("projector_hidden_size", m.language.hidden, 1);
        m.patch_projector = {width, m.language.hidden};
        m.projector = {width, m.language.hidden};
        m.projector_bias = config.flag_or("multimodal_projector_bias", true);
        m.projector_norm = false;
    });
}

Architecture gemma3(const JsonReader& config) {
    return with_tower(config, language(config, gemma3_text), [&](const JsonReader& vision, VisionLanguage& m) {
        constexpr std::int64_t usual_tokens = 256;
        vision.require_flag("vision_use_head", false);
        m.vision = plain_tower(vision);
        const std::int64_t side = m.vision.image_size / m.vision.patch, tokens = config.count_or("mm_tokens_per_image", usual_tokens, 1);
        for (m.merge = 1; m.merge < side && (side / m.merge) * (side / m.merge) > tokens;) ++m.merge;
        m.projector = {m.language.hidden};
        m.projector_bias = false;
        m.pooled = true;
    });
}

Architecture gemma4(const JsonReader& config) {
    return with_tower(config, language(config, gemma4_text), [&](const JsonReader& vision, VisionLanguage& m) {
        vision.require_flag("use_clipped_linears", false);
        vision.ignore({"head_dim", "global_head_dim", "num_key_value_heads", "max_position_embeddings", "image_seq_length", "standardize"});
        m.vision = plain_tower(vision);
        merge_patches(vision, m, "pooling_kernel_size");
        // The largest square image whose tokens are not more than the processor's.
        const std::int64_t tokens = config.count_between("vision_soft_tokens_per_image", 1, largest_size);
        std::int64_t side = 1;
        while ((side + 1) * (side + 1) <= tokens) ++side;
        m.vision.image_size = side * m.merge * m.vision.patch;
        m.vision.position_rows = 2 * vision.count("position_embedding_size");  // one table for each axis
        m.vision.norm = Normalization::rmsnorm;
        m.vision.gated_mlp = m.vision.qk_norm = m.vision.post_norms = true;
        m.vision.qkv_bias = vision.flag_or("attention_bias", false);
        m.vision.patch_bias = m.vision.linear_bias = false;
        m.projector = {m.language.hidden};
        m.projector_bias = false;
        m.pooled = true;
    });
}

Architecture llama4(const JsonReader& config) {
    return with_tower(config, language(config, llama4_text), [&](const JsonReader& vision, VisionLanguage& m) {
        m.vision = plain_tower(vision);
        m.vision.extra_tokens = 1;
        m.vision.pre_norm = true;
        m.vision.patch_bias = false;
        const double shuffle = vision.number_or("pixel_shuffle_ratio", 0.5);
        if (!(shuffle > 0 && shuffle <= 1)) throw vision.error("pixel_shuffle_ratio", "out of range", "a number above 0, up to 1");
        m.merge = std::clamp<std::int64_t>(static_cast<std::int64_t>(1 / shuffle + 0.5), 1, most_merged);
        vision.ignore({"multi_modal_projector_bias", "projector_dropout", "vision_output_dim"});
        m.projector = {vision.count("projector_input_dim"), vision.count("projector_output_dim"), m.language.hidden};
        m.projector_bias = false;
    });
}

Architecture mistral3(const JsonReader& config) {
    return with_tower(config, language(config, mistral), [&](const JsonReader& vision, VisionLanguage& m) {
        m.vision = plain_tower(vision);
        vision.require_count("head_dim", m.vision.hidden / m.vision.heads);
        m.vision.norm = Normalization::rmsnorm;
        m.vision.absolute_positions = m.vision.qkv_bias = m.vision.linear_bias = m.vision.patch_bias = false;
        m.vision.gated_mlp = m.vision.pre_norm = true;
        merge_patches(config, m, "spatial_merge_size");
        m.vision.image_size = m.vision.image_size / (m.vision.patch * m.merge) * m.vision.patch * m.merge;
        m.projector = {m.vision.hidden, m.language.hidden, m.language.hidden};
        m.projector_bias = config.flag_or("multimodal_projector_bias", false);
    });
}

}  // namespace roofcast::hugging_face
