#pragma once
/// Sizes of operators in words.

#include <string>

#include "roofcast/op.hpp"

namespace roofcast {

/// As the columns of measurements name them: "m=16 n=32 k=64".
std::string shape_text(const Op& op);

/// As equations write them: "[16, 64] · [64, 32]".
std::string sizes_text(const Op& op);

}  // namespace roofcast
