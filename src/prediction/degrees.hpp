#pragma once
/// Which degrees of parallelism a model can run with.

#include "roofcast/run.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// Whether `gpus` can split every layer's attention: heads divide, and KV heads do or are copied by as many GPUs each. At least 1.
bool splits_heads(const DecoderLlm& model, std::int64_t gpus);

/// Throws Error, which names the degree and those that work, where engines could not split `workload` so. Degrees are at least 1.
void check_degrees(const Workload& workload, const Parallelism& parallel);

}  // namespace roofcast
