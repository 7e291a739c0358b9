// Vision transformers, and the models that join one to a decoder.

#include <fmt/format.h>

#include "workload/readers.hpp"

namespace roofcast {

namespace {

void read_vit_flags(TableReader& reader, Vit& model) {
    model.qkv_bias = reader.flag_if("qkv_bias").value_or(true);
    model.key_bias = reader.flag_if("key_bias").value_or(true);
    model.pre_norm = reader.flag_if("pre_norm").value_or(false);
    model.layer_scale = reader.flag_if("layer_scale").value_or(false);
    model.relative_position_bias = reader.flag_if("relative_position_bias").value_or(false);
    model.absolute_positions = reader.flag_if("absolute_positions").value_or(true);
    model.gated_mlp = reader.flag_if("gated_mlp").value_or(false);
    model.patch_bias = reader.flag_if("patch_bias").value_or(true);
    model.rotary = reader.flag_if("rotary").value_or(false);
    model.attention_norm = reader.flag_if("attention_norm").value_or(false);
    model.mlp_norm = reader.flag_if("mlp_norm").value_or(false);
    model.attention_pool = reader.flag_if("attention_pool").value_or(false);
    model.fc_norm = reader.flag_if("fc_norm").value_or(false);
    model.norm = read_norm(reader, "norm", Normalization::layernorm);
    model.activation_kernels = read_activation(reader, "activation");
}

}  // namespace

Vit read_vit(TableReader& reader) {
    Vit model;
    model.patch = reader.count("patch", 1, largest_size);
    model.image_size = reader.count_if("image_size", model.patch, largest_size).value_or(224);
    model.channels = reader.count_if("channels", 1, largest_size).value_or(3);
    model.layers = reader.count("layers", 1, largest_size);
    model.hidden = reader.count("hidden", 1, largest_size);
    model.heads = reader.count("heads", 1, largest_size);
    if (model.hidden % model.heads != 0) throw reader.error("heads", "hidden is not a multiple of heads");
    model.intermediate = reader.count_if("intermediate", 1, largest_size).value_or(4 * model.hidden);
    model.extra_tokens = reader.count_if("extra_tokens", 0, largest_size).value_or(1);
    model.classes = reader.count_if("classes", 0, largest_size).value_or(1000);
    model.classifiers = reader.count_if("classifiers", 1, 2).value_or(1);
    model.projection = reader.count_if("projection", 0, largest_size).value_or(0);
    read_vit_flags(reader, model);
    return model;
}

Swin read_swin(TableReader& reader) {
    Swin model;
    model.image_size = reader.count_if("image_size", 1, largest_size).value_or(224);
    model.patch = reader.count_if("patch", 1, largest_size).value_or(4);
    model.channels = reader.count_if("channels", 1, largest_size).value_or(3);
    model.embed = reader.count("embed", 1, largest_size);
    model.window = reader.count("window", 1, largest_size);
    model.classes = reader.count_if("classes", 0, largest_size).value_or(1000);
    model.depths = reader.counts_if("depths", 1, largest_size);
    model.heads = reader.counts_if("heads", 1, largest_size);
    if (model.depths.empty()) throw reader.missing("depths", "layers of each stage");
    if (model.heads.size() != model.depths.size()) throw reader.error("heads", "heads and depths must be lists of equal length");
    if (model.depths.size() > most_stages) throw reader.error("depths", "too many stages", {}, fmt::format("at most {}", most_stages));
    for (std::size_t i = 0; i < model.heads.size(); ++i) {
        if ((model.embed << i) % model.heads[i] != 0) throw reader.error("heads", "a stage's width is not a multiple of its heads");
    }
    model.windows = reader.counts_if("windows", 1, largest_size);
    if (!model.windows.empty() && model.windows.size() != model.depths.size())
        throw reader.error("windows", "windows and depths must be lists of equal length");
    model.mlp_ratio = reader.number_if("mlp_ratio", plausible_factor).value_or(4);
    model.v2 = reader.flag_if("v2").value_or(false);
    return model;
}

VisionLanguage read_vision_language(TableReader& reader) {
    VisionLanguage model;
    TableReader vision = reader.table("vision"), language = reader.table("language");
    model.vision = read_vit(vision);
    model.language = read_decoder(language);
    vision.finish_with_base();
    language.finish_with_base();
    model.merge = reader.count_if("merge", 1, most_merged).value_or(1);
    if (const auto hidden = reader.count_if("projector_hidden", 0, largest_size).value_or(0); hidden > 0) model.projector = {hidden};
    model.projector.push_back(model.language.hidden);
    model.vision_window = reader.count_if("vision_window", 0, largest_size).value_or(0);
    model.vision_full_layers = reader.count_if("vision_full_layers", 0, model.vision.layers).value_or(0);
    model.temporal_patch = reader.count_if("temporal_patch", 1, largest_size).value_or(1);
    model.fixed_image_tokens = reader.count_if("fixed_image_tokens", 0, largest_size).value_or(0);
    model.global_layers = reader.count_if("global_layers", 0, largest_size).value_or(0);
    model.tiles = reader.count_if("tiles", 1, most_tiles).value_or(1);
    const std::int64_t side = model.vision.image_size / model.vision.patch;
    model.language.cross_attention_tokens =
        model.language.cross_attention_layers.empty() ? 0 : model.tiles * (side * side + model.vision.extra_tokens);
    return model;
}

}  // namespace roofcast
