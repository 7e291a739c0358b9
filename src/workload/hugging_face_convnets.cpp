// Convolutional nets and detectors: configs become the TOML description that models/ would have of them.

#include <array>
#include <utility>

#include "workload/described_net.hpp"
#include "workload/hugging_face_layers.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

/// Layers and widths of the stages.
struct Stages {
    Counts depths, widths;
};

Stages stages(const JsonReader& config, const Counts& depths, const Counts& widths) {
    Stages s{numbers(config, "depths", depths, most_repeats), numbers(config, "hidden_sizes", widths, widest)};
    if (s.depths.size() != s.widths.size()) throw config.error("depths", "depths and hidden_sizes differ in length");
    return s;
}

/// The word that TOML descriptions have for `hidden_act`.
std::string activation(const JsonReader& config, const char* standard) {
    const std::string name = config.text_or("hidden_act", standard);
    if (name == "swish") return "silu";
    if (name.starts_with("gelu")) return "gelu";
    for (const char* same : {"relu", "relu6", "silu", "hardswish"}) {
        if (name == same) return name;
    }
    throw config.error("hidden_act", "not supported", "relu, relu6, silu, swish, hardswish or gelu");
}

double multiplier(const JsonReader& config, std::string_view key, double standard) {
    const double value = config.number_or(key, standard);
    constexpr double most = 100;
    if (!(value > 0 && value <= most)) throw config.error(key, "out of range", "a number above 0 and at most 100");
    return value;
}

/// Input and classes; a config without labels describes a net without a classifier.
DescribedNet net_of(const JsonReader& config, const char* standard_activation, std::int64_t usual_image = 224) {
    DescribedNet net(config.file());
    net.set({"image_size", config.count_or("image_size", usual_image, 1)});
    net.set({"channels", config.count_or("num_channels", 3, 1)});
    net.set({"activation", activation(config, standard_activation)});
    return net;
}

/// `normalized`: a norm before the classes.
ConvNet classified(DescribedNet net, const JsonReader& config, bool normalized = false) {
    const std::int64_t count = classes(config);
    net.add({{"global_pool", true}});
    if (normalized) net.add({{"normalize", true}});
    if (count > 0) {
        net.set({"classes", count});
        net.add({{"linear", true}});
    }
    return std::move(net).read();
}

/// Stem and stages of a ResNet; `widths` are those after a stage.
void add_resnet(DescribedNet& net, const Stages& s, std::int64_t stem, bool bottleneck, bool downsample_first) {
    constexpr std::int64_t expansion = 4;
    net.add({{"conv", stem}, {"kernel", 7}, {"stride", 2}});
    net.add({{"maxpool", 3}, {"stride", 2}});
    for (std::size_t i = 0; i < s.depths.size(); ++i) {
        const char* block = bottleneck ? "bottleneck" : "basic";
        const std::int64_t channels = bottleneck ? s.widths[i] / expansion : s.widths[i];
        net.add({{block, channels}, {"stride", i > 0 || downsample_first ? 2 : 1}, {"repeat", s.depths[i]}});
    }
}

/// As above, of what a config of a ResNet says.
void add_resnet(DescribedNet& net, const JsonReader& config) {
    config.require_flag("downsample_in_bottleneck", false);
    const std::string type = config.text_or("layer_type", "bottleneck");
    if (type != "bottleneck" && type != "basic") throw config.error("layer_type", "not supported", "bottleneck or basic");
    const Stages s = stages(config, {3, 4, 6, 3}, {256, 512, 1024, 2048});
    for (const std::int64_t width : s.widths) {
        if (type == "bottleneck" && width % 4 != 0) throw config.error("hidden_sizes", "bottlenecks need multiples of 4");
    }
    add_resnet(net, s, config.count_or("embedding_size", 64, 1), type == "bottleneck", config.flag_or("downsample_in_first_stage", false));
}

/// A ResNet that `config` names at `backbone`, or else `standard`.
void add_named_resnet(DescribedNet& net, const JsonReader& config, std::string_view standard) {
    const std::string name = config.text_or("backbone", standard);
    if (name != "resnet50" && name != "resnet101") throw config.error("backbone", "not supported", "resnet50 or resnet101");
    add_resnet(net, {{3, 4, name == "resnet50" ? 6 : 23, 3}, {256, 512, 1024, 2048}}, 64, true, false);
}

/// The features that DETR looks at: a ResNet by its name, or, where transformers wrote that out, by a config of its own.
void add_backbone(DescribedNet& net, const JsonReader& config) {
    if (config.has("backbone") || !config.has("backbone_config")) return add_named_resnet(net, config, "resnet50");
    const JsonReader own = config.object("backbone_config");
    const std::string type = own.text_or("model_type", "");
    if (type == "timm_backbone") {
        own.require_count("output_stride", 32);
        return add_named_resnet(net, own, "");
    }
    if (type != "resnet") throw own.error("model_type", "not supported", "resnet or timm_backbone");
    if (own.size_of("out_features") > 0 && own.texts("out_features").back() != "stage4")
        throw own.error("out_features", "not supported", "stage4, the last one");
    if (own.has("num_channels")) net.set({"channels", own.count("num_channels")});
    net.set({"activation", activation(own, "relu")});
    add_resnet(net, own);
}

/// DETR of `queries` where its config does not say how many.
ConvNet detector(const JsonReader& config, std::int64_t queries, bool conditional) {
    config.require_flag("dilation", false);
    DescribedNet net(config.file());
    net.set({"image_size", 928});  // as shipped: the area of the 800 x 1066 that the processor resizes to
    net.set({"channels", config.count_or("num_channels", 3, 1)});
    net.set({"classes", classes(config) > 0 ? classes(config) : 91});
    net.set({"norm", "frozen"});
    add_backbone(net, config);
    const std::int64_t width = config.count_or("d_model", 256, 1), layers = config.count_or("encoder_layers", 6, 1),
                       heads = config.count_or("encoder_attention_heads", 8, 1), inner = config.count_or("encoder_ffn_dim", 2048, 1);
    config.require_count("decoder_layers", layers);
    config.require_count("decoder_attention_heads", heads);
    config.require_count("decoder_ffn_dim", inner);
    if (width % heads != 0) throw config.error("d_model", "not a multiple of the heads");
    net.add({{"conv", width}, {"bias", true}, {"norm", "none"}, {"activation", "none"}});
    net.add({{"detr_head", true},
             {"queries", config.count_or("num_queries", queries, 1)},
             {"layers", layers},
             {"heads", heads},
             {"inner", inner},
             {"conditional", conditional}});
    return std::move(net).read();
}

}  // namespace

std::int64_t classes(const JsonReader& config) {
    return config.has("id2label") ? static_cast<std::int64_t>(config.size_of("id2label")) : config.count_or("num_labels", 0);
}

ConvNet resnet(const JsonReader& config) {
    DescribedNet net = net_of(config, "relu");
    add_resnet(net, config);
    return classified(std::move(net), config);
}

ConvNet convnext(const JsonReader& config) {
    DescribedNet net = net_of(config, "gelu");
    if (activation(config, "gelu") != "gelu") throw config.error("hidden_act", "not supported", "gelu");
    if (config.number_or("layer_scale_init_value", 1) <= 0) throw config.error("layer_scale_init_value", "not supported", "above 0");
    net.set({"norm", "layer"});
    const Stages s = stages(config, {3, 3, 9, 3}, {96, 192, 384, 768});
    const std::int64_t patch = config.has("patch_size") ? config.count_between("patch_size", 1, config.count_or("image_size", 224, 1)) : 4;
    for (std::size_t i = 0; i < s.depths.size(); ++i) {
        const std::int64_t cut = i == 0 ? patch : 2;
        if (i > 0) net.add({{"normalize", true}});
        net.add({{"conv", s.widths[i]},
                 {"kernel", cut},
                 {"stride", cut},
                 {"padding", 0},
                 {"bias", true},
                 {"norm", i == 0 ? "layer" : "none"},
                 {"activation", "none"}});
        net.add({{"convnext", s.widths[i]}, {"repeat", s.depths[i]}});
    }
    return classified(std::move(net), config, true);
}

ConvNet efficientnet(const JsonReader& config) {
    DescribedNet net = net_of(config, "swish", 600);
    net.set({"scaling", "efficientnet"});
    net.set({"width_multiple", multiplier(config, "width_coefficient", 2.0)});
    net.set({"depth_multiple", multiplier(config, "depth_coefficient", 3.1)});
    net.set({"channel_divisor", config.count_or("depth_divisor", 8, 1)});
    constexpr std::size_t usual_stages = 7;
    const Counts in = numbers(config, "in_channels", {32, 16, 24, 40, 80, 112, 192}, widest);
    const Counts out = numbers(config, "out_channels", {16, 24, 40, 80, 112, 192, 320}, widest);
    const Counts kernels = numbers(config, "kernel_sizes", {3, 3, 5, 3, 5, 5, 3}, widest);
    const Counts strides = numbers(config, "strides", {1, 2, 2, 2, 1, 2, 1}, widest);
    const Counts repeats = numbers(config, "num_block_repeats", {1, 2, 2, 3, 3, 4, 1}, most_repeats);
    const Counts ratios = numbers(config, "expand_ratios", {1, 6, 6, 6, 6, 6, 6}, widest);
    for (const char* key : {"in_channels", "kernel_sizes", "strides", "num_block_repeats", "expand_ratios"}) {
        const std::size_t length = config.has(key) ? config.size_of(key) : usual_stages;
        if (length != out.size()) throw config.error(key, "this list and out_channels differ in length");
    }
    const double squeeze = multiplier(config, "squeeze_expansion_ratio", 0.25);
    constexpr std::int64_t stem = 32, last = 1280;  // fixed in the library, scaled by width
    net.add({{"conv", stem}, {"kernel", 3}, {"stride", 2}});
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (in.at(i) != (i == 0 ? stem : out[i - 1])) throw config.error("in_channels", "a block's input is not the output before it");
        net.add({{"mbconv", out[i]},
                 {"kernel", kernels.at(i)},
                 {"stride", strides.at(i)},
                 {"repeat", repeats.at(i)},
                 {"expand", ratios.at(i)},
                 {"squeeze_excite", squeeze}});
    }
    net.add({{"conv", last}});
    return classified(std::move(net), config);
}

ConvNet mobilenet_v2(const JsonReader& config) {
    config.require_count("output_stride", 32);
    config.require_flag("first_layer_is_expansion", true);
    DescribedNet net = net_of(config, "relu6");
    const double width = multiplier(config, "depth_multiplier", 1), expand = multiplier(config, "expand_ratio", 6);
    const std::int64_t divisor = config.count_or("depth_divisible_by", 8, 1);
    if (config.count_or("min_depth", 8) > divisor) throw config.error("min_depth", "not supported", "depth_divisible_by or less");
    net.set({"scaling", "efficientnet"});
    net.set({"width_multiple", width});
    net.set({"channel_divisor", divisor});
    net.set({"pads_apart", config.flag_or("tf_padding", true)});
    constexpr std::int64_t stem = 32, last = 1280;  // these and the stages are fixed in the library
    net.add({{"conv", stem}, {"kernel", 3}, {"stride", 2}});
    net.add({{"mbconv", 16}, {"kernel", 3}});
    for (const auto& [channels, repeat, stride] : {std::array{24, 2, 2}, std::array{32, 3, 2}, std::array{64, 4, 2}, std::array{96, 3, 1},
                                                   std::array{160, 3, 2}, std::array{320, 1, 1}})
        net.add({{"mbconv", channels}, {"kernel", 3}, {"expand", expand}, {"stride", stride}, {"repeat", repeat}});
    net.add({{"conv", last}, {"scaled", width >= 1 || !config.flag_or("finegrained_output", true)}});
    return classified(std::move(net), config);
}

ConvNet regnet(const JsonReader& config) {
    const std::string type = config.text_or("layer_type", "y");
    if (type != "x" && type != "y") throw config.error("layer_type", "not supported", "x or y");
    DescribedNet net = net_of(config, "relu");
    const Stages s = stages(config, {2, 6, 12, 2}, {128, 192, 512, 1088});
    constexpr double squeezed = 0.25;
    net.add({{"conv", config.count_or("embedding_size", 32, 1)}, {"kernel", 3}, {"stride", 2}});
    for (std::size_t i = 0; i < s.depths.size(); ++i)
        net.add({{"regnet", s.widths[i]},
                 {"stride", i > 0 || config.flag_or("downsample_in_first_stage", true) ? 2 : 1},
                 {"repeat", s.depths[i]},
                 {"group_width", config.count_or("groups_width", 64, 1)},
                 {"squeeze_excite", type == "y" ? squeezed : 0.0}});
    return classified(std::move(net), config);
}

ConvNet detr(const JsonReader& config) {
    return detector(config, 100, false);
}

ConvNet conditional_detr(const JsonReader& config) {
    return detector(config, 300, true);
}

}  // namespace roofcast::hugging_face
