#include "graph/conv_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Throws Error where a block that keeps its channels is given another number of them.
void require_kept(const Map& x, const ConvLayer& layer, Count channels) {
    constexpr std::array keeping{ConvBlock::convnext, ConvBlock::poolformer,      ConvBlock::convformer,
                                 ConvBlock::mlp,      ConvBlock::class_attention, ConvBlock::outlook};
    const bool keeps = std::find(keeping.begin(), keeping.end(), layer.block) != keeping.end();
    if (!keeps || layer.size == 0 || channels == x.channels) return;
    throw Error({.what = "the block cannot change the number of channels",
                 .found = std::to_string(channels),
                 .expected = fmt::format("{}, as its input has", x.channels)});
}

}  // namespace

Map backbone_block(ConvBuilder& b, const Map& x, const ConvLayer& layer, Count channels) {
    require_kept(x, layer, channels);
    switch (layer.block) {
        case ConvBlock::convnext:
            return convnext_block(b, x, layer);
        case ConvBlock::poolformer:
            return poolformer_block(b, x, layer, channels);
        case ConvBlock::convformer:
            return convformer_block(b, x, layer, channels);
        case ConvBlock::transformer:
            return transformer_block(b, x, layer, channels);
        case ConvBlock::attend:
            return attend_block(b, x, layer, channels);
        case ConvBlock::local_attend:
            return local_attend_block(b, x, layer, channels);
        case ConvBlock::pooling_attend:
            return pooling_attention_block(b, x, layer, channels);
        case ConvBlock::mlp:
            return mlp_block(b, x, layer);
        case ConvBlock::class_attention:
            return class_attention_block(b, x, layer);
        default:
            return outlook_block(b, x, layer);
    }
}

}  // namespace roofcast
