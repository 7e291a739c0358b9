#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "workload/hugging_face_configs.hpp"

using namespace roofcast;
using nlohmann::json;
using roofcast::test::check_same;
using roofcast::test::failure;
using roofcast::test::read;
using roofcast::test::with;

namespace {

json swin_config(int width, json depths, json heads, int window) {
    return {{"model_type", "swin"},
            {"embed_dim", width},
            {"depths", std::move(depths)},
            {"num_heads", std::move(heads)},
            {"window_size", window}};
}

/// As a key of the library's configs.
json labels(int count) {
    json names = json::object();
    for (int i = 0; i < count; ++i) names[std::to_string(i)] = "label";
    return names;
}

const json maskformer = {{"model_type", "maskformer"},
                         {"fpn_feature_size", 256},
                         {"mask_feature_size", 256},
                         {"id2label", labels(150)},
                         {"backbone_config", swin_config(128, {2, 2, 18, 2}, {4, 8, 16, 32}, 12)},
                         {"decoder_config", {{"model_type", "detr"}, {"d_model", 256}, {"num_queries", 100}, {"decoder_layers", 6}}}};
const json mask2former = {{"model_type", "mask2former"}, {"feature_size", 256},
                          {"num_queries", 100},          {"decoder_layers", 10},
                          {"id2label", labels(80)},      {"backbone_config", swin_config(96, {2, 2, 6, 2}, {3, 6, 12, 24}, 7)}};
const json segformer = {{"model_type", "segformer"}, {"image_size", 224}, {"id2label", labels(150)}};

/// Kernel by kernel, in the order of the shipped net.
void check_equal_graph(const json& config, const char* id) {
    check_same(config, id);
    const OpGraph found = forward_graph(read(config), {}, {}), shipped = forward_graph(find_workload(test::models_dir(), id), {}, {});
    REQUIRE(found.segments.size() == shipped.segments.size());
    for (std::size_t i = 0; i < found.segments.size(); ++i) {
        CHECK(found.segments[i].nodes == shipped.segments[i].nodes);
        CHECK(found.segments[i].repeat == shipped.segments[i].repeat);
    }
}

}  // namespace

TEST_CASE("configs of segmentation give the graphs of the shipped models") {
    check_equal_graph(maskformer, "maskformer-swin-base");
    check_equal_graph(mask2former, "mask2former-swin-tiny");
    check_equal_graph(segformer, "segformer-b0");
    const json wider = {{"hidden_sizes", {64, 128, 320, 512}}, {"depths", {3, 4, 6, 3}}, {"decoder_hidden_size", 768}};
    check_equal_graph(with(segformer, wider), "segformer-b2");
}

TEST_CASE("backbones and widths that are not modelled are refused by their key") {
    const auto key = [](const json& config) { return failure(config.dump()).key; };
    CHECK(key(with(maskformer, {{"backbone_config", {{"model_type", "resnet"}}}})) == "backbone_config.model_type");
    CHECK(key(with(mask2former, {{"hidden_dim", 128}})) == "hidden_dim");
    CHECK(key(with(mask2former, {{"common_stride", 8}})) == "common_stride");
    CHECK(key(with(segformer, {{"sr_ratios", {8, 4, 2}}})) == "hidden_sizes");
    CHECK(key(with(segformer, {{"architectures", {"SegformerForImageClassification"}}})) == "architectures");
    for (const double ratio : {1e18, -3.0})
        CHECK(key(with(mask2former, {{"backbone_config", {{"model_type", "swin"}, {"mlp_ratio", ratio}}}})) == "backbone_config.mlp_ratio");
    json other = maskformer;
    other["decoder_config"]["d_model"] = 128;
    CHECK(key(other) == "decoder_config.d_model");
    other = maskformer;
    other["backbone_config"]["depths"] = {2, 2, 6};
    CHECK(key(other) == "backbone_config.depths");
    other.erase("backbone_config");
    CHECK(key(other) == "backbone_config");
}
