#pragma once
/// Compound scaling: variants of a net that are wider, narrower, deeper or shallower. Tan and Le, EfficientNet (2019).

#include <cstdint>

#include "io/toml_reader.hpp"

namespace roofcast {

class NetScaling {
public:
    /// Keys `depth_multiple`, `width_multiple`, `max_channels`, `channel_divisor` and `scaling` of a net. Throws Error.
    explicit NetScaling(TableReader& reader);

    /// Channels that the net lists, as its variant has them.
    [[nodiscard]] std::int64_t channels(std::int64_t listed) const;
    /// Repetitions of a block, likewise.
    [[nodiscard]] std::int64_t repeats(std::int64_t listed) const;

private:
    double depth_, width_;
    std::int64_t most_channels_;  ///< before the width is scaled; 0: no cap
    std::int64_t divisor_;        ///< scaled channels are a multiple of it
    bool as_yolo_;                ///< how Ultralytics rounds; false: how EfficientNets do
};

}  // namespace roofcast
