// Masks as GEMMs of queries with the places of a map. Cheng et al., Per-Pixel Classification is Not All You Need for Semantic
// Segmentation (2021), and Masked-attention Mask Transformer for Universal Image Segmentation (2022).

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "graph/conv_query_transformer.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

struct MaskDecoder {
    const QueryTransformer& t;
    Map masks;  ///< the map that masks are GEMMs of
    Count queries, classes;

    [[nodiscard]] Map scores_of(const Map& level) const {
        return {.channels = t.heads * queries, .height = level.height, .width = level.width};
    }

    void predict_masks(bool shared) const {
        t.b.normalize(t.rows(queries), ConvNorm::layer);
        t.perceptron(queries, 2, t.channels, shared);
        t.b.gemm("masks", 1, queries, masks.places(), t.channels);
    }

    /// What each query sees of `level`: its mask there, the same for all heads.
    void limit(const Map& level) const {
        const Map predicted{.channels = queries, .height = masks.height, .width = masks.width};
        const Map seen = t.b.interpolate(predicted, {.channels = queries, .height = level.height, .width = level.width}, true);
        t.b.activate(seen, Activation::sigmoid);
        t.b.copy(scores_of(level).elements(), "repeat_mask");
        t.b.pointwise_kernels("threshold", scores_of(level), 1, 1);
    }

    void masked_layer(const Map& level) const {
        // A query whose mask is empty sees all: where is looked up, and they are cleared. Over all scores run a sum, zeros that are filled
        // where nothing is seen, and half a pass that averages what heads attend to, which nothing reads.
        constexpr double lookup = 14, kernels = 3.5;
        t.b.pointwise_kernels("empty_masks", {.channels = 1, .height = t.heads * queries, .width = 1}, lookup, 1);
        t.b.pointwise_kernels("attention_mask", scores_of(level), kernels, 1);
        t.attend(queries, level.places());
        t.attend(queries, queries);
        t.mlp(queries);
    }

    void classify(bool shared) const {
        OpNode& node = t.b.linear(queries, t.channels, classes + 1);
        if (shared) node.weights = 0;
    }
};

/// Mask2Former: levels take turns, and masks of each layer limit the next one.
void masked_decoder(const MaskDecoder& d, const std::vector<Map>& levels, Count layers) {
    for (const Map& level : levels) d.t.read_level(level);
    d.predict_masks(false);
    d.limit(levels.front());
    const Count count = std::ssize(levels);
    for (Count i = 0; i < std::min(count, layers); ++i) {
        const Map& level = levels[static_cast<std::size_t>(i)];
        d.t.b.segment("decoder layer", (layers - i + count - 1) / count);
        d.t.b.read_back_sizes();
        d.masked_layer(level);
        d.predict_masks(true);
        d.limit(level);
    }
    d.t.b.segment("classes");
    d.classify(false);
    d.t.b.segment("classes", layers);
    d.classify(true);
}

}  // namespace

void mask_head(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer) {
    require_equal_channels(in, name(layer.block));
    if (!layer.masked && in.size() > 2) {
        throw Error({.what = "queries attend to one map unless masks limit them",
                     .key = "from",
                     .found = fmt::format("{} maps", in.size()),
                     .expected = "the map of the masks and one other, or masked = true"});
    }
    const Kept masks(b, in.front());
    const std::vector<Map> levels(in.begin() + (in.size() > 1 ? 1 : 0), in.end());
    std::deque<Kept> attended;
    for (const Map& level : levels) attended.emplace_back(b, level);
    const Count channels = levels.front().channels, queries = layer.size;
    const QueryTransformer t = query_transformer(b, channels, layer);
    const MaskDecoder decoder{.t = t, .masks = masks.map(), .queries = queries, .classes = b.net.classes};
    b.segment("queries");
    // Mask2Former also learns what its queries start as.
    b.scale(t.rows(queries), static_cast<double>((layer.masked ? 2 : 1) * queries * channels));
    if (layer.masked) return masked_decoder(decoder, levels, layer.layers);
    t.sine_positions(levels.front());
    b.segment("decoder layer", layer.layers);
    t.attend(queries, queries);
    t.attend(queries, levels.front().places());
    t.mlp(queries);
    b.segment("mask_head");
    decoder.predict_masks(false);
    decoder.classify(false);
}

}  // namespace roofcast
