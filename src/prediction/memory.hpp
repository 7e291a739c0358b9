#pragma once
/// Memory of a run whose graphs are known.

#include <span>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// As `memory_estimate`. `weight_graphs`: those of the function of that name, lowered for `stack`.
MemoryEstimate memory_of(std::span<const OpGraph> weight_graphs, const Workload& workload, const Run& request,
                         const SoftwareStacks& software, const SoftwareStack& stack);

}  // namespace roofcast
