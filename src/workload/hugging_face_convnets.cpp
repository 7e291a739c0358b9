// Convolutional nets and detectors: configs become the layers that their TOML descriptions list.

#include <utility>

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

Activation activation(const JsonReader& config, const char* standard) {
    const std::string name = config.text_or("hidden_act", standard);
    if (name == "relu") return Activation::relu;
    if (name == "relu6") return Activation::relu6;
    if (name == "silu" || name == "swish") return Activation::silu;
    if (name == "hardswish") return Activation::hardswish;
    if (name.starts_with("gelu")) return Activation::gelu;
    throw config.error("hidden_act", "not supported", "relu, relu6, silu, swish, hardswish or gelu");
}

double multiplier(const JsonReader& config, std::string_view key, double standard) {
    const double value = config.number_or(key, standard);
    constexpr double most = 100;
    if (!(value > 0 && value <= most)) throw config.error(key, "out of range", "a number above 0 and at most 100");
    return value;
}

/// Input and classes; a config without labels describes a net without a classifier.
ConvNet net_of(const JsonReader& config, const char* standard_activation) {
    constexpr std::int64_t usual_image = 224;
    ConvNet net;
    net.image_size = config.count_or("image_size", usual_image, 1);
    net.channels = config.count_or("num_channels", net.channels, 1);
    net.classes = classes(config);
    net.activation = activation(config, standard_activation);
    return net;
}

void add_classifier(ConvNet& net) {
    net.layers.push_back(layer(ConvBlock::global_pool));
    if (net.norm == ConvNorm::layer) net.layers.push_back(layer(ConvBlock::normalize));
    if (net.classes > 0) net.layers.push_back(layer(ConvBlock::linear));
}

/// Stem and stages of a ResNet; `widths` are those after a stage.
void add_resnet(ConvNet& net, const Stages& s, std::int64_t stem, bool bottleneck, bool downsample_first) {
    constexpr std::int64_t expansion = 4;
    net.layers.push_back(convolution(stem, 7, 2));
    net.layers.push_back(layer(ConvBlock::maxpool, 3));
    net.layers.back().pool_stride = 2;
    for (std::size_t i = 0; i < s.depths.size(); ++i) {
        const std::int64_t stride = i > 0 || downsample_first ? 2 : 1;
        net.layers.push_back(bottleneck ? layer(ConvBlock::bottleneck, s.widths[i] / expansion, stride)
                                        : layer(ConvBlock::basic, s.widths[i], stride));
        net.layers.back().repeat = s.depths[i];
    }
}

/// As above, of what a config of a ResNet says.
void add_resnet(ConvNet& net, const JsonReader& config) {
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
void add_named_resnet(ConvNet& net, const JsonReader& config, std::string_view standard) {
    const std::string name = config.text_or("backbone", standard);
    if (name != "resnet50" && name != "resnet101") throw config.error("backbone", "not supported", "resnet50 or resnet101");
    add_resnet(net, {{3, 4, name == "resnet50" ? 6 : 23, 3}, {256, 512, 1024, 2048}}, 64, true, false);
}

/// The features that DETR looks at: a ResNet by its name, or, where transformers wrote that out, by a config of its own.
void add_backbone(ConvNet& net, const JsonReader& config) {
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
    net.channels = own.count_or("num_channels", net.channels, 1);
    net.activation = activation(own, "relu");
    add_resnet(net, own);
}

/// DETR of `queries` where its config does not say how many.
ConvNet detector(const JsonReader& config, std::int64_t queries) {
    config.require_flag("dilation", false);
    ConvNet net;
    net.image_size = 928;  // as shipped: the area of the 800 x 1066 that the processor resizes to
    net.channels = config.count_or("num_channels", net.channels, 1);
    net.classes = classes(config) > 0 ? classes(config) : 91;
    net.norm = ConvNorm::frozen;
    add_backbone(net, config);
    ConvLayer projection = convolution(config.count_or("d_model", 256, 1), 1, 1);
    projection.bias = true;
    projection.norm = ConvNorm::none;
    projection.activation = Activation::none;
    ConvLayer head = layer(ConvBlock::detr_head, config.count_or("num_queries", queries, 1));
    head.layers = config.count_or("encoder_layers", 6, 1);
    head.heads = config.count_or("encoder_attention_heads", 8, 1);
    head.inner = config.count_or("encoder_ffn_dim", 2048, 1);
    config.require_count("decoder_layers", head.layers);
    config.require_count("decoder_attention_heads", head.heads);
    config.require_count("decoder_ffn_dim", head.inner);
    if (projection.size % head.heads != 0) throw config.error("d_model", "not a multiple of the heads");
    net.layers.push_back(std::move(projection));
    net.layers.push_back(std::move(head));
    return net;
}

}  // namespace

std::int64_t classes(const JsonReader& config) {
    return config.has("id2label") ? static_cast<std::int64_t>(config.size_of("id2label")) : config.count_or("num_labels", 0);
}

ConvNet resnet(const JsonReader& config) {
    ConvNet net = net_of(config, "relu");
    add_resnet(net, config);
    add_classifier(net);
    return net;
}

ConvNet convnext(const JsonReader& config) {
    ConvNet net = net_of(config, "gelu");
    if (net.activation != Activation::gelu) throw config.error("hidden_act", "not supported", "gelu");
    if (config.number_or("layer_scale_init_value", 1) <= 0) throw config.error("layer_scale_init_value", "not supported", "above 0");
    net.norm = ConvNorm::layer;
    const Stages s = stages(config, {3, 3, 9, 3}, {96, 192, 384, 768});
    const std::int64_t patch = config.has("patch_size") ? config.count_between("patch_size", 1, net.image_size) : 4;
    for (std::size_t i = 0; i < s.depths.size(); ++i) {
        const std::int64_t cut = i == 0 ? patch : 2;
        ConvLayer reduction = convolution(s.widths[i], cut, cut);
        reduction.padding = 0;
        reduction.bias = true;
        reduction.norm = i == 0 ? ConvNorm::layer : ConvNorm::none;
        reduction.activation = Activation::none;
        if (i > 0) net.layers.push_back(layer(ConvBlock::normalize));
        net.layers.push_back(std::move(reduction));
        net.layers.push_back(layer(ConvBlock::convnext, s.widths[i]));
        net.layers.back().repeat = s.depths[i];
    }
    add_classifier(net);
    return net;
}

ConvNet efficientnet(const JsonReader& config) {
    ConvNet net = net_of(config, "swish");
    if (!config.has("image_size")) net.image_size = 600;
    net.scaling = CompoundScaling::efficientnet;
    net.width_multiple = multiplier(config, "width_coefficient", 2.0);
    net.depth_multiple = multiplier(config, "depth_coefficient", 3.1);
    net.channel_divisor = config.count_or("depth_divisor", 8, 1);
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
    net.layers.push_back(convolution(stem, 3, 2));
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (in.at(i) != (i == 0 ? stem : out[i - 1])) throw config.error("in_channels", "a block's input is not the output before it");
        ConvLayer block = layer(ConvBlock::mbconv, out[i], strides.at(i));
        block.kernel = kernels.at(i);
        block.repeat = repeats.at(i);
        block.expand = static_cast<double>(ratios.at(i));
        block.squeeze_excite = squeeze;
        net.layers.push_back(std::move(block));
    }
    net.layers.push_back(convolution(last, 1, 1));
    add_classifier(net);
    return net;
}

ConvNet mobilenet_v2(const JsonReader& config) {
    config.require_count("output_stride", 32);
    config.require_flag("first_layer_is_expansion", true);
    ConvNet net = net_of(config, "relu6");
    net.scaling = CompoundScaling::efficientnet;
    net.width_multiple = multiplier(config, "depth_multiplier", 1);
    net.channel_divisor = config.count_or("depth_divisible_by", 8, 1);
    if (config.count_or("min_depth", 8) > net.channel_divisor)
        throw config.error("min_depth", "not supported", "depth_divisible_by or less");
    const double expand = multiplier(config, "expand_ratio", 6);
    struct Stage {
        std::int64_t channels, repeat, stride;
    };
    constexpr std::int64_t stem = 32, last = 1280;  // these and the stages are fixed in the library
    net.pads_apart = config.flag_or("tf_padding", true);
    net.layers.push_back(convolution(stem, 3, 2));
    for (const auto& [channels, repeat, stride] :
         {Stage{16, 1, 1}, Stage{24, 2, 2}, Stage{32, 3, 2}, Stage{64, 4, 2}, Stage{96, 3, 1}, Stage{160, 3, 2}, Stage{320, 1, 1}}) {
        ConvLayer block = layer(ConvBlock::mbconv, channels, stride);
        block.kernel = 3;
        block.repeat = repeat;
        block.expand = net.layers.size() == 1 ? 1 : expand;
        net.layers.push_back(std::move(block));
    }
    net.layers.push_back(convolution(last, 1, 1));
    net.layers.back().scaled = net.width_multiple >= 1 || !config.flag_or("finegrained_output", true);
    add_classifier(net);
    return net;
}

ConvNet regnet(const JsonReader& config) {
    const std::string type = config.text_or("layer_type", "y");
    if (type != "x" && type != "y") throw config.error("layer_type", "not supported", "x or y");
    ConvNet net = net_of(config, "relu");
    const Stages s = stages(config, {2, 6, 12, 2}, {128, 192, 512, 1088});
    constexpr double squeezed = 0.25;
    net.layers.push_back(convolution(config.count_or("embedding_size", 32, 1), 3, 2));
    for (std::size_t i = 0; i < s.depths.size(); ++i) {
        ConvLayer block = layer(ConvBlock::regnet, s.widths[i], i > 0 || config.flag_or("downsample_in_first_stage", true) ? 2 : 1);
        block.repeat = s.depths[i];
        block.group_width = config.count_or("groups_width", 64, 1);
        if (type == "y") block.squeeze_excite = squeezed;
        net.layers.push_back(std::move(block));
    }
    add_classifier(net);
    return net;
}

ConvNet detr(const JsonReader& config) {
    return detector(config, 100);
}

ConvNet conditional_detr(const JsonReader& config) {
    ConvNet net = detector(config, 300);
    net.layers.back().conditional = true;
    return net;
}

}  // namespace roofcast::hugging_face
