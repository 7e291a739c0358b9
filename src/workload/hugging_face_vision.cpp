#include <fmt/format.h>

#include <algorithm>

#include "workload/hugging_face_models.hpp"
#include "workload/readers.hpp"

namespace roofcast::hugging_face {

namespace {

Vit tower(const JsonReader& config) {
    Vit m;
    m.image_size = config.count_or("image_size", 224, 1);
    m.patch = config.count_between("patch_size", 1, m.image_size);
    m.channels = config.count_or("num_channels", 3, 1);
    m.layers = config.count("num_hidden_layers");
    m.hidden = config.count("hidden_size");
    m.heads = m.hidden / config.head_dim(m.hidden, config.has("attention_heads") ? "attention_heads" : "num_attention_heads");
    m.intermediate = config.count("intermediate_size");
    m.classes = 0;
    m.activation_kernels = eager_activation(config, "hidden_act", "gelu");
    return m;
}

Swin windows(const JsonReader& config) {
    config.require_flag("use_absolute_embeddings", false);
    Swin m;
    m.image_size = config.count_or("image_size", 224, 1);
    m.patch = config.has("patch_size") ? config.count_between("patch_size", 1, m.image_size) : m.patch;
    m.channels = config.count_or("num_channels", 3, 1);
    m.embed = config.count("embed_dim");
    m.window = config.count("window_size");
    m.depths = config.counts("depths");
    m.heads = config.counts("num_heads");
    if (m.depths.empty() || m.depths.size() != m.heads.size()) throw config.error("num_heads", "num_heads and depths differ in length");
    if (m.depths.size() > most_stages) throw config.error("depths", "too many stages", fmt::format("at most {}", most_stages));
    for (std::size_t i = 0; i < m.heads.size(); ++i) {
        if (m.heads[i] < 1 || m.depths[i] < 1) throw config.error("num_heads", "heads and depths must be at least 1");
        if ((m.embed << i) % m.heads[i] != 0) throw config.error("num_heads", "a stage's width is not a multiple of its heads");
    }
    m.mlp_ratio = mlp_ratio(config);
    m.classes = classes(config);
    return m;
}

VisionLanguage qwen_vl(const JsonReader& config, const JsonReader& vision, Vit tower) {
    VisionLanguage m;
    // Earlier configs hold the decoder's keys at the top, later ones under text_config.
    m.language = qwen2(config.has("text_config") ? config.object("text_config") : config);
    if (config.has("text_config") && config.has("tie_word_embeddings")) {
        m.language.tied_embeddings = config.flag_or("tie_word_embeddings", false);
    }
    constexpr std::int64_t usual_image = 448;  // the processor takes any size; 448 is that of the shipped descriptors
    tower.image_size = usual_image;
    tower.patch = vision.has("patch_size") ? vision.count_between("patch_size", 1, usual_image) : 14;
    tower.channels = vision.count_or("in_channels", vision.count_or("in_chans", 3, 1), 1);
    tower.layers = vision.count("depth");
    tower.heads = tower.hidden / vision.head_dim(tower.hidden, "num_heads");
    tower.extra_tokens = tower.classes = 0;
    tower.patch_bias = tower.absolute_positions = false;
    m.vision = tower;
    m.merge = vision.has("spatial_merge_size") ? vision.count_between("spatial_merge_size", 1, most_merged) : 2;
    m.temporal_patch = vision.count_or("temporal_patch_size", 2, 1);
    m.projector = {m.merge * m.merge * tower.hidden, m.language.hidden};
    return m;
}

}  // namespace

double mlp_ratio(const JsonReader& config) {
    constexpr double usual = 4;
    const double ratio = config.number_or("mlp_ratio", usual);
    if (!(ratio >= plausible_factor.lower && ratio <= plausible_factor.upper))
        throw config.error("mlp_ratio", "out of range",
                           fmt::format("a number from {} to {}", plausible_factor.lower, plausible_factor.upper));
    return ratio;
}

Vit vit(const JsonReader& config) {
    Vit m = tower(config);
    m.qkv_bias = config.flag_or("qkv_bias", true);
    m.classes = classes(config);
    return m;
}

Vit deit(const JsonReader& config) {
    Vit m = vit(config);
    m.extra_tokens = 2;
    const auto architectures = config.texts("architectures");
    const bool distilled = !architectures.empty() && architectures.front().ends_with("WithTeacher");
    m.classifiers = distilled ? 2 : 1;
    return m;
}

Vit beit(const JsonReader& config) {
    config.require_flag("use_shared_relative_position_bias", false);
    Vit m = tower(config);
    m.key_bias = false;
    m.absolute_positions = config.flag_or("use_absolute_position_embeddings", false);
    m.relative_position_bias = config.flag_or("use_relative_position_bias", false);
    m.layer_scale = config.number_or("layer_scale_init_value", 0.1) > 0;
    m.fc_norm = config.flag_or("use_mean_pooling", true);
    m.classes = classes(config);
    return m;
}

Vit clip(const JsonReader& config) {
    const JsonReader vision = config.object("vision_config");
    Vit m = tower(vision);
    m.activation_kernels = eager_activation(vision, "hidden_act", "quick_gelu");
    m.patch_bias = false;
    m.pre_norm = true;
    m.projection = config.count_or("projection_dim", vision.count_or("projection_dim", 512));
    return m;
}

Swin swin(const JsonReader& config) {
    return windows(config);
}

Swin swin_v2(const JsonReader& config) {
    Swin m = windows(config);
    m.v2 = true;
    return m;
}

VisionLanguage qwen2_vl(const JsonReader& config) {
    const JsonReader vision = config.object("vision_config");
    Vit tower;
    tower.hidden = vision.count("embed_dim");
    tower.activation_kernels = eager_activation(vision, "hidden_act", "quick_gelu");
    tower.intermediate = static_cast<std::int64_t>(mlp_ratio(vision) * static_cast<double>(tower.hidden));
    return qwen_vl(config, vision, tower);
}

VisionLanguage qwen2_5_vl(const JsonReader& config) {
    const JsonReader vision = config.object("vision_config");
    Vit tower;
    tower.hidden = vision.count("hidden_size");
    tower.intermediate = vision.count("intermediate_size");
    tower.gated_mlp = true;
    tower.norm = Normalization::rmsnorm;
    VisionLanguage m = qwen_vl(config, vision, tower);
    m.vision_window = vision.count_or("window_size", 112) / m.vision.patch;
    const auto full = static_cast<std::int64_t>(vision.size_of("fullatt_block_indexes"));
    m.vision_full_layers = std::min(full, m.vision.layers);
    return m;
}

VisionLanguage mllama(const JsonReader& config) {
    const JsonReader vision = config.object("vision_config"), text = config.object("text_config");
    VisionLanguage m;
    m.language = llama(text);
    m.language.cross_attention_layers = text.counts("cross_attention_layers");
    m.vision = tower(vision);
    m.vision.pre_norm = true;
    m.vision.patch_bias = m.vision.qkv_bias = false;
    m.global_layers = vision.count_or("num_global_layers", 0);
    m.tiles = vision.has("max_num_tiles") ? vision.count_between("max_num_tiles", 1, most_tiles) : 4;
    m.fixed_image_tokens = 1;
    m.projector = {m.language.hidden};
    const std::int64_t side = m.vision.image_size / m.vision.patch;
    m.language.cross_attention_tokens = m.tiles * (side * side + m.vision.extra_tokens);
    return m;
}

}  // namespace roofcast::hugging_face
