// Segmentation: configs become the descriptions that models/maskformer.toml, mask2former.toml and segformer.toml are.

#include <array>
#include <string>
#include <utility>

#include "workload/described_net.hpp"
#include "workload/hugging_face_layers.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

DescribedNet segmented(const JsonReader& config, std::int64_t standard_classes) {
    DescribedNet net(config.file());
    net.set({"classes", classes(config) > 0 ? classes(config) : standard_classes});
    net.set({"activation", "gelu"});
    net.set({"norm", "layer"});
    net.set({"norm_groups", 32});
    net.set({"grouped_repeats", true});
    return net;
}

/// A Swin Transformer at `backbone_config`, with the names of its maps.
void add_swin(DescribedNet& net, const JsonReader& config) {
    const JsonReader own = config.object("backbone_config");
    const std::string type = own.text_or("model_type", "");
    if (type != "swin" && type != "maskformer-swin") throw own.error("model_type", "not supported", "swin or maskformer-swin");
    own.require_flag("qkv_bias", true);
    own.require_flag("use_absolute_embeddings", false);
    if (own.text_or("hidden_act", "gelu") != "gelu") throw own.error("hidden_act", "not supported", "gelu");
    net.set({"channels", own.count_or("num_channels", 3, 1)});
    const Counts depths = numbers(own, "depths", {2, 2, 6, 2}, most_repeats), heads = numbers(own, "num_heads", {3, 6, 12, 24}, widest);
    constexpr std::array names{"quarter", "eighth", "sixteenth", "thirty_second"};
    if (depths.size() != names.size() || heads.size() != depths.size())
        throw own.error("depths", "depths and num_heads are not of four stages");
    const std::int64_t patch = own.count_or("patch_size", 4, 1);
    net.add({{"conv", own.count_or("embed_dim", 96, 1)},
             {"kernel", patch},
             {"stride", patch},
             {"padding", 0},
             {"activation", "none"},
             {"bias", true}});
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) net.add({{"patch_merging", true}});
        net.add({{"swin_block", true},
                 {"window", own.count_or("window_size", 7, 1)},
                 {"heads", heads[i]},
                 {"expand", mlp_ratio(own)},
                 {"repeat", depths[i]},
                 {"name", names.at(i)}});
    }
}

/// `decoder_layers` may count one that is none: `besides`.
void add_head(DescribedNet& net, const char* head, const JsonReader& config, const char* heads_key, const char* inner_key,
              std::vector<std::string> maps, std::int64_t standard_layers, std::int64_t besides) {
    net.add({{head, true},
             {"queries", config.count_or("num_queries", 100, 1)},
             {"layers", config.count_or("decoder_layers", standard_layers, 1 + besides) - besides},
             {"heads", config.count_or(heads_key, 8, 1)},
             {"inner", config.count_or(inner_key, 2048, 1)},
             {"from", std::move(maps)}});
}

}  // namespace

ConvNet maskformer(const JsonReader& config) {
    DescribedNet net = segmented(config, 150);
    net.set({"image_size", 640});  // as shipped: the processor's for ADE20K, of images of 4 to 3
    net.set({"aspect", 1.35});
    add_swin(net, config);
    const std::int64_t width = config.count_or("fpn_feature_size", 256, 1), masks = config.count_or("mask_feature_size", 256, 1);
    net.add({{"normalize", true}, {"name", "features"}});
    net.add({{"conv", width}, {"kernel", 3}, {"norm", "group"}, {"activation", "relu"}});
    for (const char* stage : {"sixteenth", "eighth", "quarter"})
        net.add({{"pyramid_step", width}, {"from", std::vector<std::string>{"previous", stage}}});
    const auto project = [&](std::int64_t kernel, const char* map, const char* name) {
        net.add(
            {{"conv", masks}, {"kernel", kernel}, {"bias", true}, {"norm", "none"}, {"activation", "none"}, {"from", map}, {"name", name}});
    };
    project(3, "previous", "mask_features");
    project(1, "features", "memory");
    const JsonReader decoder = config.has("decoder_config") ? config.object("decoder_config") : config;
    decoder.require_count("d_model", masks);
    add_head(net, "maskformer_head", decoder, "decoder_attention_heads", "decoder_ffn_dim", {"mask_features", "memory"}, 6, 0);
    return std::move(net).read();
}

ConvNet mask2former(const JsonReader& config) {
    DescribedNet net = segmented(config, 80);
    net.set({"image_size", 384});  // as shipped: the processor's
    config.require_count("common_stride", 4);
    add_swin(net, config);
    const std::int64_t width = config.count_or("feature_size", 256, 1);
    config.require_count("mask_feature_size", width);
    config.require_count("hidden_dim", width);
    net.add({{"mask2former_pixel_decoder", width},
             {"layers", config.count_or("encoder_layers", 6, 1)},
             {"heads", config.count_or("num_attention_heads", 8, 1)},
             {"inner", config.count_or("encoder_feedforward_dim", 1024, 1)},
             {"from", std::vector<std::string>{"previous", "sixteenth", "eighth", "quarter"}}});
    // The library's number of layers counts the prediction before the first.
    add_head(net, "mask2former_head", config, "num_attention_heads", "dim_feedforward", {"previous"}, 10, 1);
    return std::move(net).read();
}

ConvNet segformer(const JsonReader& config) {
    for (const std::string& model : config.texts("architectures")) {
        if (model.ends_with("ForImageClassification"))
            throw config.error("architectures", "only segmentation is supported", "SegformerForSemanticSegmentation");
    }
    DescribedNet net = segmented(config, 150);
    const std::int64_t image = config.count_or("image_size", 512, 1);
    net.set({"image_size", image == 224 ? 512 : image});  // the library's default, which checkpoints for segmentation leave as it is
    net.set({"channels", config.count_or("num_channels", 3, 1)});
    if (config.text_or("hidden_act", "gelu") != "gelu") throw config.error("hidden_act", "not supported", "gelu");
    const auto list = [&](const char* key, const Counts& standard) { return numbers(config, key, standard, widest); };
    const Counts depths = numbers(config, "depths", {2, 2, 2, 2}, most_repeats), widths = list("hidden_sizes", {32, 64, 160, 256}),
                 heads = list("num_attention_heads", {1, 2, 5, 8}), reductions = list("sr_ratios", {8, 4, 2, 1}),
                 patches = list("patch_sizes", {7, 3, 3, 3}), strides = list("strides", {4, 2, 2, 2}),
                 ratios = list("mlp_ratios", {4, 4, 4, 4});
    for (const Counts* other : {&depths, &heads, &reductions, &patches, &strides, &ratios}) {
        if (other->size() != widths.size()) throw config.error("hidden_sizes", "this list and others of the stages differ in length");
    }
    for (std::size_t i = 0; i < depths.size(); ++i) {
        net.add({{"conv", widths[i]}, {"kernel", patches[i]}, {"stride", strides[i]}, {"activation", "none"}, {"bias", true}});
        net.add(
            {{"mix_transformer", true}, {"heads", heads[i]}, {"reduction", reductions[i]}, {"expand", ratios[i]}, {"repeat", depths[i]}});
        net.add({{"normalize", true}, {"name", "stage" + std::to_string(i)}});
    }
    const std::int64_t width = config.count_or("decoder_hidden_size", 256, 1);
    std::vector<std::string> joined;
    std::int64_t factor = 1;
    for (std::size_t i = 0; i < depths.size(); ++i) {
        const std::string name = "decoded" + std::to_string(i);
        factor *= i > 0 ? strides[i] : 1;
        net.add({{"stretched_stage", width}, {"factor", factor}, {"from", "stage" + std::to_string(i)}, {"name", name}});
        joined.insert(joined.begin(), name);
    }
    net.add({{"concat", true}, {"from", joined}});
    net.add({{"conv", width}, {"activation", "relu"}, {"norm", "batch"}});
    net.add({{"conv", classes(config) > 0 ? classes(config) : 150}, {"activation", "none"}, {"bias", true}, {"norm", "none"}});
    return std::move(net).read();
}

}  // namespace roofcast::hugging_face
