#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "workload/hugging_face_configs.hpp"

using namespace roofcast;
using nlohmann::json;
using roofcast::test::check_same;
using roofcast::test::failure;
using roofcast::test::read;
using roofcast::test::rel;
using roofcast::test::with;

namespace {

/// As `check_same`, and the shipped model's published number of parameters within 1 %.
void check_published(const json& config, const char* id) {
    check_same(config, id);
    CAPTURE(std::string(id));
    const Workload shipped = find_workload(test::models_dir(), id);
    REQUIRE(shipped.published.parameters);
    CHECK(total_parameters(forward_graph(read(config), {}, {})) == rel(*shipped.published.parameters, 0.01));
}

json resnet_config(const char* type, const std::vector<int>& widths, const std::vector<int>& depths) {
    return {{"model_type", "resnet"}, {"layer_type", type}, {"embedding_size", 64}, {"hidden_sizes", widths},
            {"depths", depths},       {"num_channels", 3},  {"hidden_act", "relu"}, {"downsample_in_first_stage", false},
            {"num_labels", 1000}};
}

}  // namespace

TEST_CASE("convolutional configs give the graphs of the shipped models and their published parameters") {
    check_published(resnet_config("bottleneck", {256, 512, 1024, 2048}, {3, 4, 6, 3}), "resnet50");
    check_published(resnet_config("basic", {64, 128, 256, 512}, {2, 2, 2, 2}), "resnet18");
    check_published({{"model_type", "convnext"},
                     {"hidden_act", "gelu"},
                     {"patch_size", 4},
                     {"depths", {3, 3, 9, 3}},
                     {"hidden_sizes", {96, 192, 384, 768}},
                     {"image_size", 224},
                     {"num_labels", 1000}},
                    "convnext-tiny");
    check_published({{"model_type", "regnet"},
                     {"layer_type", "y"},
                     {"embedding_size", 32},
                     {"hidden_sizes", {48, 120, 336, 888}},
                     {"depths", {2, 6, 17, 2}},
                     {"groups_width", 24},
                     {"num_labels", 1000}},
                    "regnety_016");
}

TEST_CASE("mobile convolutional configs give the parameters and FLOPs of the shipped models, and the library's padding") {
    // Absent lists are those of the library, which are EfficientNet's.
    check_published({{"model_type", "efficientnet"},
                     {"width_coefficient", 1.0},
                     {"depth_coefficient", 1.0},
                     {"hidden_act", "swish"},
                     {"image_size", 224},
                     {"num_labels", 1000}},
                    "efficientnet-b0");
    check_published({{"model_type", "efficientnet"},
                     {"width_coefficient", 1.4},
                     {"depth_coefficient", 1.8},
                     {"kernel_sizes", {3, 3, 5, 3, 5, 5, 3}},
                     {"image_size", 380},
                     {"num_labels", 1000}},
                    "efficientnet-b4");
    const json mobile{{"model_type", "mobilenet_v2"}, {"depth_multiplier", 1.0}, {"hidden_act", "relu6"}, {"num_labels", 1000}};
    check_published(mobile, "mobilenet-v2");
    check_published(with(mobile, {{"depth_multiplier", 0.35}, {"finegrained_output", true}}), "mobilenet-v2-035");
    const auto pads_apart = [](const json& config) { return std::get<ConvNet>(read(config).architecture).pads_apart; };
    CHECK(pads_apart(mobile));  // the library's default, as the weights come from TensorFlow
    CHECK_FALSE(pads_apart(with(mobile, {{"tf_padding", false}})));
}

TEST_CASE("configs of BART and DETR give the graphs of the shipped models and their published parameters") {
    check_published({{"model_type", "bart"},
                     {"encoder_layers", 12},
                     {"decoder_layers", 12},
                     {"d_model", 1024},
                     {"encoder_attention_heads", 16},
                     {"decoder_attention_heads", 16},
                     {"encoder_ffn_dim", 4096},
                     {"decoder_ffn_dim", 4096},
                     {"activation_function", "gelu"},
                     {"vocab_size", 50265},
                     {"max_position_embeddings", 1024}},
                    "bart-large");
    check_published({{"model_type", "detr"}, {"backbone", "resnet50"}, {"num_queries", 100}, {"num_labels", 91}}, "detr-resnet-50");
    check_published({{"model_type", "detr"}, {"backbone", "resnet101"}, {"num_labels", 91}}, "detr-resnet-101");
    const json written_out{{"model_type", "resnet"}, {"depths", {3, 4, 23, 3}}};
    check_published({{"model_type", "detr"}, {"backbone", nullptr}, {"backbone_config", written_out}, {"num_labels", 91}},
                    "detr-resnet-101");
    const json of_timm{{"model_type", "timm_backbone"}, {"backbone", "resnet50"}};
    check_same({{"model_type", "conditional_detr"}, {"backbone_config", of_timm}, {"num_labels", 91}}, "conditional-detr-resnet-50");
}

TEST_CASE("convolutional configs of another graph are refused with their key") {
    const json resnet = resnet_config("bottleneck", {256, 512}, {3, 4});
    const auto key = [](const json& config, const json& more) { return failure(with(config, more).dump()).key; };
    CHECK(key(resnet, json::object()).empty());
    CHECK(key(resnet, {{"layer_type", "dense"}}) == "layer_type");
    CHECK(key(resnet, {{"depths", {3}}}) == "depths");
    CHECK(key(resnet, {{"depths", {3, 0}}}) == "depths");
    CHECK(key(resnet, {{"depths", json::array()}}) == "depths");
    CHECK(key(resnet, {{"hidden_sizes", {255, 512}}}) == "hidden_sizes");
    CHECK(key(resnet, {{"hidden_act", "tanh"}}) == "hidden_act");
    const json efficient{{"model_type", "efficientnet"}};
    CHECK(key(efficient, {{"width_coefficient", 0}}) == "width_coefficient");
    CHECK(key(efficient, {{"strides", {1, 2}}}) == "strides");
    CHECK(key({{"model_type", "mobilenet_v2"}}, {{"output_stride", 8}}) == "output_stride");
    CHECK(key({{"model_type", "detr"}}, {{"backbone", "swin"}}) == "backbone");
    const auto own_backbone = [&](const json& own) { return key({{"model_type", "detr"}}, {{"backbone_config", own}}); };
    CHECK(own_backbone({{"model_type", "resnet"}, {"out_features", {"stage4"}}}).empty());
    CHECK(own_backbone({{"model_type", "swin"}}) == "backbone_config.model_type");
    CHECK(own_backbone({{"model_type", "timm_backbone"}}) == "backbone_config.backbone");
    CHECK(own_backbone({{"model_type", "timm_backbone"}, {"backbone", "resnet50"}, {"output_stride", 16}}) ==
          "backbone_config.output_stride");
    CHECK(own_backbone({{"model_type", "resnet"}, {"out_features", {"stage3"}}}) == "backbone_config.out_features");
}
