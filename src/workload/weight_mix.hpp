#pragma once
/// Mixes of weight formats, as a quantizer would choose them for a model.

#include <string_view>

#include "roofcast/tensor_formats.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

struct WeightMix;
struct WeightTables;

/// Formats of `model` by role: of each, the mean over its layers by the rules of the mix named `label`. Queries, keys and values are taken
/// as matrices of their own; norms and biases are in fp32. The mix must exist.
TensorFormats mixed_tensors(std::string_view label, const DecoderLlm& model);
TensorFormats mixed_tensors(const WeightMix& mix, const WeightTables& tables, const DecoderLlm& model);

}  // namespace roofcast
