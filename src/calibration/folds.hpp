#pragma once
/// Which rows are judged together, and by whom they are not seen.

#include <cstdint>
#include <string>

#include "roofcast/measurement.hpp"

namespace roofcast {

/// The shape of an operator without precision, software or GPU: "gemm 1 4096 4096 1024".
std::string shape_of(const Op& op);

/// A number from 0 to 1 that depends on nothing but its arguments, evenly spread over groups.
double group_draw(const std::string& group, std::uint64_t seed);

/// The fold of a group, 0 to folds − 1.
int fold_of(const std::string& group, int folds, std::uint64_t seed);

/// Whether a group is among the `fraction` that no fit sees. Independent of the folds.
bool is_held_out(const std::string& group, double fraction, std::uint64_t seed);

}  // namespace roofcast
