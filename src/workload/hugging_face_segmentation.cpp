// Segmentation: configs become the layers that models/maskformer.toml, mask2former.toml and segformer.toml list.

#include <utility>

#include "workload/hugging_face_layers.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

ConvLayer projection(std::int64_t channels, std::int64_t kernel, ConvNorm norm, bool bias, Activation activation = Activation::none) {
    ConvLayer l = convolution(channels, kernel, 1);
    l.norm = norm;
    l.bias = bias;
    l.activation = activation;
    return l;
}

/// Runs what was added since layer number `first`, which reads itself and the layer before it, `times` in all.
void repeat_since(ConvNet& net, std::int64_t first, std::int64_t times) {
    if (times < 2) return;
    const std::vector<ConvLayer> once(net.layers.begin() + first, net.layers.end());
    for (ConvLayer again : once) {
        again.runs = times - 1;
        net.layers.push_back(std::move(again));
    }
}

/// `upsample` of layer `coarse`, and its sum with layer `lateral`.
void add_to(ConvNet& net, std::int64_t lateral, std::int64_t coarse, bool bilinear) {
    ConvLayer wider = from(coarse, layer(ConvBlock::upsample, 2));
    wider.bilinear = bilinear;
    net.layers.push_back(std::move(wider));
    ConvLayer sum = layer(ConvBlock::add);
    sum.from = {last(net), lateral};
    net.layers.push_back(std::move(sum));
}

ConvNet net_of(std::int64_t classes, std::int64_t standard_classes) {
    ConvNet net;
    net.classes = classes > 0 ? classes : standard_classes;
    net.activation = Activation::gelu;
    net.norm = ConvNorm::layer;
    net.norm_groups = 32;
    return net;
}

/// A Swin Transformer at `backbone_config`. Returns the numbers of the layers whose outputs are those of its stages.
Counts add_swin(ConvNet& net, const JsonReader& config) {
    const JsonReader own = config.object("backbone_config");
    const std::string type = own.text_or("model_type", "");
    if (type != "swin" && type != "maskformer-swin") throw own.error("model_type", "not supported", "swin or maskformer-swin");
    own.require_flag("qkv_bias", true);
    own.require_flag("use_absolute_embeddings", false);
    if (own.text_or("hidden_act", "gelu") != "gelu") throw own.error("hidden_act", "not supported", "gelu");
    net.channels = own.count_or("num_channels", net.channels, 1);
    const Counts depths = numbers(own, "depths", {2, 2, 6, 2}, most_repeats), heads = numbers(own, "num_heads", {3, 6, 12, 24}, widest);
    if (depths.size() != 4 || heads.size() != depths.size()) throw own.error("depths", "depths and num_heads are not of four stages");
    const std::int64_t window = own.count_or("window_size", 7, 1), patch = own.count_or("patch_size", 4, 1);
    std::int64_t width = own.count_or("embed_dim", 96, 1);
    constexpr std::int64_t window_copies = 3;
    Counts outputs;
    for (std::size_t i = 0; i < depths.size(); ++i) {
        const std::int64_t cut = i == 0 ? patch : 2;
        if (i > 0) {
            width *= 2;
            net.layers.push_back(layer(ConvBlock::pointwise, 1));
            net.layers.push_back(layer(ConvBlock::normalize));
        }
        ConvLayer merging = projection(width, cut, i == 0 ? ConvNorm::layer : ConvNorm::none, i == 0);
        merging.stride = cut;
        merging.padding = 0;
        net.layers.push_back(std::move(merging));
        const std::int64_t first = last(net) + 1;
        net.layers.push_back(layer(ConvBlock::pointwise, window_copies));
        ConvLayer attention = layer(ConvBlock::attend, width);
        attention.heads = heads[i];
        attention.window = window;
        attention.shifted = attention.bias = attention.separate_projections = attention.relative_positions = true;
        attention.fused_attention = false;
        attention.score_passes = 2;
        net.layers.push_back(std::move(attention));
        ConvLayer mlp = layer(ConvBlock::mlp);
        mlp.bias = true;
        mlp.expand = mlp_ratio(own);
        net.layers.push_back(std::move(mlp));
        repeat_since(net, first, depths[i]);
        outputs.push_back(last(net));
    }
    return outputs;
}

/// The head on `maps`: that of the masks, then those that its queries attend to.
ConvLayer mask_head(const JsonReader& config, Counts maps) {
    constexpr std::int64_t usual_queries = 100;
    ConvLayer head = layer(ConvBlock::mask_head, config.count_or("num_queries", usual_queries, 1));
    head.from = std::move(maps);
    return head;
}

/// A stage's output, normalized, then projected to `width`.
void add_feature(ConvNet& net, std::int64_t stage, std::int64_t width, bool bias) {
    net.layers.push_back(from(stage, layer(ConvBlock::normalize)));
    net.layers.push_back(projection(width, 1, ConvNorm::group, bias));
}

}  // namespace

ConvNet maskformer(const JsonReader& config) {
    ConvNet net = net_of(classes(config), 150);
    net.image_size = 640;  // as shipped: the processor's for ADE20K, of images of 4 to 3
    net.aspect = 1.35;
    const Counts stages = add_swin(net, config);
    const std::int64_t width = config.count_or("fpn_feature_size", 256, 1), masks = config.count_or("mask_feature_size", 256, 1);
    net.layers.push_back(from(stages.back(), layer(ConvBlock::normalize)));
    const std::int64_t features = last(net);
    net.layers.push_back(projection(width, 3, ConvNorm::group, false, Activation::relu));
    for (std::size_t i = stages.size() - 1; i-- > 0;) {
        const std::int64_t coarse = last(net);
        add_feature(net, stages[i], width, false);
        add_to(net, last(net), coarse, false);
        net.layers.push_back(projection(width, 3, ConvNorm::group, false, Activation::relu));
    }
    net.layers.push_back(projection(masks, 3, ConvNorm::none, true));
    const std::int64_t map = last(net);
    const JsonReader decoder = config.has("decoder_config") ? config.object("decoder_config") : config;
    decoder.require_count("d_model", masks);
    net.layers.push_back(from(features, projection(masks, 1, ConvNorm::none, true)));
    ConvLayer head = mask_head(decoder, {map, last(net)});
    head.layers = decoder.count_or("decoder_layers", 6, 1);
    head.heads = decoder.count_or("decoder_attention_heads", 8, 1);
    head.inner = decoder.count_or("decoder_ffn_dim", 2048, 1);
    net.layers.push_back(std::move(head));
    return net;
}

ConvNet mask2former(const JsonReader& config) {
    ConvNet net = net_of(classes(config), 80);
    net.image_size = 384;  // as shipped: the processor's
    config.require_count("common_stride", 4);
    const Counts stages = add_swin(net, config);
    const std::int64_t width = config.count_or("feature_size", 256, 1), heads = config.count_or("num_attention_heads", 8, 1);
    config.require_count("mask_feature_size", width);
    config.require_count("hidden_dim", width);
    Counts levels;
    for (std::size_t i = stages.size() - 1; i > 0; --i) {
        add_feature(net, stages[i], width, true);
        levels.push_back(last(net));
    }
    ConvLayer encoder = layer(ConvBlock::deformable_encoder);
    encoder.from = levels;
    encoder.layers = config.count_or("encoder_layers", 6, 1);
    encoder.heads = heads;
    encoder.inner = config.count_or("encoder_feedforward_dim", 1024, 1);
    net.layers.push_back(std::move(encoder));
    const std::int64_t encoded = last(net);
    add_feature(net, stages.front(), width, false);
    add_to(net, last(net), encoded, true);
    net.layers.push_back(projection(width, 3, ConvNorm::group, false, Activation::relu));
    net.layers.push_back(projection(width, 1, ConvNorm::none, true));
    Counts maps{last(net)};
    maps.insert(maps.end(), levels.begin(), levels.end());
    ConvLayer head = mask_head(config, std::move(maps));
    // The library's number counts the prediction before the first layer.
    head.layers = config.count_or("decoder_layers", 10, 2) - 1;
    head.heads = heads;
    head.inner = config.count_or("dim_feedforward", 2048, 1);
    head.masked = true;
    net.layers.push_back(std::move(head));
    return net;
}

ConvNet segformer(const JsonReader& config) {
    for (const std::string& model : config.texts("architectures")) {
        if (model.ends_with("ForImageClassification"))
            throw config.error("architectures", "only segmentation is supported", "SegformerForSemanticSegmentation");
    }
    ConvNet net = net_of(0, classes(config) > 0 ? classes(config) : 150);
    net.image_size = config.count_or("image_size", 512, 1);
    if (net.image_size == 224) net.image_size = 512;  // the library's default, which checkpoints for segmentation leave as it is
    net.channels = config.count_or("num_channels", net.channels, 1);
    if (config.text_or("hidden_act", "gelu") != "gelu") throw config.error("hidden_act", "not supported", "gelu");
    const Counts depths = numbers(config, "depths", {2, 2, 2, 2}, most_repeats),
                 widths = numbers(config, "hidden_sizes", {32, 64, 160, 256}, widest),
                 heads = numbers(config, "num_attention_heads", {1, 2, 5, 8}, widest),
                 reductions = numbers(config, "sr_ratios", {8, 4, 2, 1}, widest),
                 patches = numbers(config, "patch_sizes", {7, 3, 3, 3}, widest), strides = numbers(config, "strides", {4, 2, 2, 2}, widest),
                 ratios = numbers(config, "mlp_ratios", {4, 4, 4, 4}, widest);
    for (const Counts* list : {&depths, &heads, &reductions, &patches, &strides, &ratios}) {
        if (list->size() != widths.size()) throw config.error("hidden_sizes", "this list and others of the stages differ in length");
    }
    Counts outputs;
    for (std::size_t i = 0; i < depths.size(); ++i) {
        ConvLayer embedding = projection(widths[i], patches[i], ConvNorm::layer, true);
        embedding.stride = strides[i];
        net.layers.push_back(std::move(embedding));
        const std::int64_t first = last(net) + 1;
        ConvLayer attention = layer(ConvBlock::attend, widths[i]);
        attention.heads = heads[i];
        attention.reduction = reductions[i];
        attention.bias = attention.separate_projections = true;
        net.layers.push_back(std::move(attention));
        net.layers.push_back(layer(ConvBlock::pointwise, 2));
        ConvLayer mlp = layer(ConvBlock::mlp);
        mlp.kernel = 3;
        mlp.bias = true;
        mlp.expand = static_cast<double>(ratios[i]);
        net.layers.push_back(std::move(mlp));
        net.layers.push_back(layer(ConvBlock::pointwise, 4));
        repeat_since(net, first, depths[i]);
        net.layers.push_back(layer(ConvBlock::normalize));
        outputs.push_back(last(net));
    }
    const std::int64_t width = config.count_or("decoder_hidden_size", 256, 1);
    Counts joined;
    std::int64_t factor = 1;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        net.layers.push_back(from(outputs[i], projection(width, 1, ConvNorm::none, true)));
        if (i > 0) {
            factor *= strides[i];
            net.layers.push_back(layer(ConvBlock::upsample, factor));
        }
        joined.insert(joined.begin(), last(net));
    }
    ConvLayer concat = layer(ConvBlock::concat);
    concat.from = joined;
    net.layers.push_back(std::move(concat));
    net.layers.push_back(projection(width, 1, ConvNorm::batch, false, Activation::relu));
    net.layers.push_back(projection(net.classes, 1, ConvNorm::none, true));
    return net;
}

}  // namespace roofcast::hugging_face
