#pragma once
/// How long the outputs of a convolutional net's layers are needed, found in one pass over what they read.

#include <cstdint>
#include <vector>

#include "roofcast/convnet.hpp"

namespace roofcast {

/// Layer number that `from` of layer `i` means; -1 is the image.
inline std::int64_t source_layer(std::int64_t from, std::size_t i) {
    return from >= 0 ? from : static_cast<std::int64_t>(i) + from;
}

class Lifetimes {
public:
    explicit Lifetimes(const ConvNet& net);

    /// A part of a map, or a map seen otherwise, that is kept with it.
    [[nodiscard]] bool is_view(std::size_t i) const {
        const ConvBlock block = layers_[i].block;
        return (block == ConvBlock::slice && !layers_[i].copied) || block == ConvBlock::view || block == ConvBlock::first_rows ||
               block == ConvBlock::extra_tokens;
    }
    /// Whether a layer behind the next one reads it.
    [[nodiscard]] bool outlives_next(std::size_t i) const { return last_use_[i] > i + 1; }
    /// Layers that none behind `i` reads: their maps can go. No views.
    [[nodiscard]] const std::vector<std::size_t>& ending_at(std::size_t i) const { return ending_[i]; }

private:
    const std::vector<ConvLayer>& layers_;
    std::vector<std::size_t> last_use_;
    std::vector<std::vector<std::size_t>> ending_;
};

}  // namespace roofcast
