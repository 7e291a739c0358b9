// The vision tower of a vision-language model, and what joins it to the decoder.

#include <algorithm>

#include "graph/decoder.hpp"
#include "graph/vit.hpp"

namespace roofcast {

namespace {

/// Aspect ratios of at most `tiles` tiles, and one for "none": each has embeddings of its own.
Count aspect_ratios(Count tiles) {
    Count ratios = 1;
    for (Count rows = 1; rows <= tiles; ++rows) ratios += tiles / rows;
    return ratios;
}

/// Llama 3.2 Vision: embeddings of each tile's place, before and after the local layers, and of each patch in each tile.
Segment tile_segment(const VisionLanguage& m, const VitPass& pass, const Numerics& n) {
    LayerBuilder b(n, 3);
    const Count elements = pass.rows() * m.vision.hidden;
    const double places = as_count(Count(aspect_ratios(m.tiles)) * m.tiles * m.vision.hidden);
    b.elementwise("tile_patches", elements, 1, 1).weights = places * as_count(pass.tokens());
    b.elementwise("tile_before", elements, 1, 1).weights = places;
    b.elementwise("tile_after", elements, 1, 1).weights = places;
    return {"tiles", 1, b.take()};
}

/// Layers one after the other, with a GELU between them.
Count add_projector_layers(LayerBuilder& b, const VisionLanguage& m, Count rows, Count width, const std::vector<std::int64_t>& widths) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (i > 0) b.gelu(rows * width);
        b.linear("projector", rows, widths[i], width, m.projector_bias);
        width = widths[i];
    }
    return width;
}

/// Projections of patches, what makes one token of several, and projections of that.
Segment projector_segment(const VisionLanguage& m, const VitPass& pass, const Numerics& n) {
    LayerBuilder b(n, 8);
    const Count merged = m.merge * m.merge;
    const Count patches = m.fixed_image_tokens > 0 ? pass.rows() : pass.images * pass.patches, rows = patches / merged;
    if (m.projector_norm) b.norm("merge_norm", m.vision.norm, pass.rows(), m.vision.hidden);
    Count width = add_projector_layers(b, m, patches, m.vision.hidden, m.patch_projector);
    if (m.global_layers > 0) {
        // Llama 3.2 Vision projects the last output in addition to those of five layers within.
        constexpr Count outputs = 6;
        width *= outputs;
        b.move("concat_outputs", patches * width);
    }
    if (m.pooled) {
        b.add("merge_pool", Reduce{patches * width, rows * width, as_count(merged), n.stored});
    } else {
        width *= merged;
    }
    add_projector_layers(b, m, rows, width, m.projector);
    for (Count i = 0; i < m.deepstack; ++i) {
        b.norm("stack_norm", m.vision.norm, rows, width);
        add_projector_layers(b, m, rows, width, m.projector);
    }
    return {"projector", 1, b.take()};
}

}  // namespace

std::int64_t image_side(const VisionLanguage& m, const Run& run) {
    const Count unit = m.vision.patch * m.merge;
    const Count size = run.image_size > 0 && m.tiles == 1 ? run.image_size : m.vision.image_size;
    return std::max(unit, (size + unit / 2) / unit * unit);
}

std::int64_t image_tokens(const VisionLanguage& model, const Run& run) {
    if (model.fixed_image_tokens > 0) return Count(run.images) * model.fixed_image_tokens;
    const Count side = image_side(model, run) / (model.vision.patch * model.merge);
    return Count(run.images) * side * side;
}

OpGraph vision_graph(const VisionLanguage& model, const Run& run, const Lowering& lowering) {
    const Numerics n = numerics_of(run, lowering, true);
    const Count size = image_side(model, run);
    const VitPass pass{.model = model.vision,
                       .run = run,
                       .lowering = lowering,
                       .images = Count(run.group_batch()) * run.images * model.tiles,
                       .patches = patches_of(model.vision, size),
                       .image_size = size,
                       .temporal = model.temporal_patch,
                       .packed = model.temporal_patch > 1};
    const Count full = model.vision_window > 0 ? model.vision_full_layers : model.vision.layers + model.global_layers;
    OpGraph graph;
    graph.name = "vision";
    graph.segments.reserve(5);
    graph.segments.push_back(patch_segment(pass, n));
    if (model.tiles > 1) graph.segments.push_back(tile_segment(model, pass, n));
    if (full > 0) graph.segments.push_back(vit_layers(pass, n, full));
    const Count windowed = model.vision_window > 0 ? model.vision.layers - full : Count(0);
    if (windowed > 0) graph.segments.push_back(vit_layers(pass, n, windowed, model.vision_window));
    graph.segments.push_back(projector_segment(model, pass, n));
    graph.peak_activations = vit_peak_activations(pass, n);
    return graph;
}

}  // namespace roofcast
