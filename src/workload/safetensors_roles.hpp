#pragma once
/// What tensors of Hugging Face checkpoints are for, by their names.

#include <cstdint>
#include <optional>
#include <string_view>

#include "roofcast/tensor_formats.hpp"

namespace roofcast {

/// What a name says after it is taken apart.
struct CheckpointName {
    std::optional<TensorRole> role{};
    std::int64_t layer = -1;   ///< -1: of none
    bool decoder = true;       ///< of the language model, not of an image tower, or of modules that predict several tokens ahead
    bool scale = false;        ///< scales or zero points of a quantized tensor of this role, no weights
    bool group_scale = false;  ///< with `scale`: as many as the weights have groups
};

CheckpointName checkpoint_name(std::string_view tensor);

}  // namespace roofcast
