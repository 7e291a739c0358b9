#pragma once
/// Lines of convolutional nets.

#include "roofcast/convnet.hpp"

namespace roofcast::test {

inline ConvLayer layer_of(ConvBlock block, std::int64_t size, std::int64_t heads = 0) {
    ConvLayer layer;
    layer.block = block;
    layer.size = size;
    layer.heads = heads;
    return layer;
}

}  // namespace roofcast::test
