#pragma once
/// Shapes that somebody else measured, to be measured again: equal work shows how far two harnesses disagree.

#include <cstdint>
#include <string>
#include <vector>

#include "host/plan.hpp"

namespace roofcast::microbench {

/// Cold cases of the GEMMs among the rows of a measurement file, each once, in random order. Rows of other operators, of
/// weight-only quantization, of functions other than linear and bmm, and of precisions unknown here are passed over. Throws FileError when
/// the file cannot be read or holds no such row.
std::vector<PlannedCase> shapes_of_file(const std::string& path, std::uint64_t seed);

}  // namespace roofcast::microbench
