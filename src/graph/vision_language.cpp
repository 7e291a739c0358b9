// The vision tower of a vision-language model, and what joins it to the decoder.

#include <algorithm>

#include "graph/decoder.hpp"
#include "graph/vit.hpp"

namespace roofcast {

namespace {

/// Aspect ratios of at most `tiles` tiles, and one for "none": each has embeddings of its own.
std::int64_t aspect_ratios(std::int64_t tiles) {
    std::int64_t ratios = 1;
    for (std::int64_t rows = 1; rows <= tiles; ++rows) ratios += tiles / rows;
    return ratios;
}

/// Llama 3.2 Vision: embeddings of each tile's place, before and after the local layers, and of each patch in each tile.
Segment tile_segment(const VisionLanguage& m, const VitPass& pass, const Numerics& n) {
    LayerBuilder b(n, 3);
    const std::int64_t elements = pass.rows() * m.vision.hidden;
    const double places = as_count(aspect_ratios(m.tiles) * m.tiles * m.vision.hidden);
    b.elementwise("tile_patches", elements, 1, 1).weights = places * as_count(pass.tokens());
    b.elementwise("tile_before", elements, 1, 1).weights = places;
    b.elementwise("tile_after", elements, 1, 1).weights = places;
    return {"tiles", 1, b.take()};
}

Segment projector_segment(const VisionLanguage& m, const VitPass& pass, const Numerics& n) {
    LayerBuilder b(n, 5);
    const std::int64_t merged = m.merge * m.merge;
    const std::int64_t rows = (m.fixed_image_tokens > 0 ? pass.rows() : pass.images * pass.patches / merged);
    if (m.projector_hidden == 0) {
        // Llama 3.2 Vision projects the last output beside those of five layers within.
        constexpr std::int64_t outputs = 6;
        const std::int64_t width = m.global_layers > 0 ? outputs * m.vision.hidden : merged * m.vision.hidden;
        b.norm("final_norm", m.vision.norm, pass.rows(), m.vision.hidden);
        if (m.global_layers > 0) b.move("concat_outputs", pass.rows() * width);
        b.linear("projector", rows, m.language.hidden, width, true);
    } else {
        b.norm("merge_norm", m.vision.norm, pass.rows(), m.vision.hidden);
        b.linear("merge_up", rows, m.projector_hidden, merged * m.vision.hidden, true);
        b.gelu(rows * m.projector_hidden);
        b.linear("merge_down", rows, m.language.hidden, m.projector_hidden, true);
    }
    return {"projector", 1, b.take()};
}

}  // namespace

std::int64_t image_side(const VisionLanguage& m, const RunShape& shape) {
    const std::int64_t unit = m.vision.patch * m.merge;
    const std::int64_t size = shape.image_size > 0 && m.tiles == 1 ? shape.image_size : m.vision.image_size;
    return std::max(unit, (size + unit / 2) / unit * unit);
}

std::int64_t image_tokens(const VisionLanguage& model, const RunShape& shape) {
    if (model.fixed_image_tokens > 0) return shape.images * model.fixed_image_tokens;
    const std::int64_t side = image_side(model, shape) / (model.vision.patch * model.merge);
    return shape.images * side * side;
}

OpGraph vision_graph(const VisionLanguage& model, const RunShape& shape) {
    const Numerics n = numerics_of(shape, true);
    const std::int64_t size = image_side(model, shape);
    const VitPass pass{.model = model.vision,
                       .shape = shape,
                       .images = shape.batch * shape.images * model.tiles,
                       .patches = patches_of(model.vision, size),
                       .image_size = size,
                       .temporal = model.temporal_patch,
                       .packed = model.temporal_patch > 1};
    const std::int64_t full = model.vision_window > 0 ? model.vision_full_layers : model.vision.layers + model.global_layers;
    OpGraph graph;
    graph.name = "vision";
    graph.segments.reserve(5);
    graph.segments.push_back(patch_segment(pass, n));
    if (model.tiles > 1) graph.segments.push_back(tile_segment(model, pass, n));
    if (full > 0) graph.segments.push_back(vit_layers(pass, n, full));
    const std::int64_t windowed = model.vision_window > 0 ? model.vision.layers - full : 0;
    if (windowed > 0) graph.segments.push_back(vit_layers(pass, n, windowed, model.vision_window));
    graph.segments.push_back(projector_segment(model, pass, n));
    graph.peak_activations = vit_peak_activations(pass, n);
    return graph;
}

}  // namespace roofcast
