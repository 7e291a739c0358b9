#pragma once
/// Operators of vision transformers that stand alone or before a language model.

#include "graph/layer_builder.hpp"

namespace roofcast {

/// Tokens of one image in the tower.
struct VitPass {
    const Vit& model;
    const Run& run;
    const Lowering& lowering;
    Count images = 1;      ///< in the whole batch
    Count patches = 0;     ///< of one image
    Count image_size = 0;  ///< pixels on a side
    Count temporal = 1;    ///< frames a patch spans
    bool packed = false;   ///< images of different sizes lie side by side, with rotary positions: Qwen2-VL and later
    [[nodiscard]] Count tokens() const { return patches + model.extra_tokens; }
    [[nodiscard]] Count rows() const { return images * tokens(); }
};

/// Patches of one image of `image_size` pixels on a side. Throws Error when these are fewer than a patch.
Count patches_of(const Vit& model, Count image_size);

Segment patch_segment(const VitPass& pass, const Numerics& n);
/// `window`: patches on a side of a local attention window; 0: all.
Segment vit_layers(const VitPass& pass, const Numerics& n, Count layers, Count window = 0);
Bytes vit_peak_activations(const VitPass& pass, const Numerics& n);

}  // namespace roofcast
