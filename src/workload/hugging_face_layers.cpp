#include "workload/hugging_face_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofcast::hugging_face {

ConvLayer layer(ConvBlock block, std::int64_t size, std::int64_t stride) {
    ConvLayer l;
    l.block = block;
    l.size = size;
    l.stride = stride;
    return l;
}

ConvLayer convolution(std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
    ConvLayer l = layer(ConvBlock::conv, channels, stride);
    l.kernel = kernel;
    return l;
}

ConvLayer from(std::int64_t input, ConvLayer layer) {
    layer.from = {input};
    return layer;
}

std::int64_t last(const ConvNet& net) {
    return static_cast<std::int64_t>(net.layers.size()) - 1;
}

Counts numbers(const JsonReader& config, std::string_view key, const Counts& standard, std::int64_t most) {
    Counts values = config.has(key) ? config.counts(key) : standard;
    const bool inside = std::all_of(values.begin(), values.end(), [most](std::int64_t v) { return v >= 1 && v <= most; });
    if (values.empty() || !inside) throw config.error(key, "out of range", fmt::format("whole numbers from 1 to {}", most));
    return values;
}

}  // namespace roofcast::hugging_face
