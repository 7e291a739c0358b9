#pragma once
/// Memory of a run whose graphs are known.

#include <span>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// As `memory_estimate`. `weight_graphs`: those of the function of that name, lowered for `stack`. Activations are those of the graphs, or
/// of the engine's own step where it cuts prompts into steps of a fixed size.
MemoryEstimate memory_of(std::span<const OpGraph> weight_graphs, const Workload& workload, const Run& request,
                         const SoftwareStacks& software, const SoftwareStack& stack);

/// The largest step of an engine: a forward pass of `tokens` tokens or sampling for `sequences` sequences, whichever is larger, in addition
/// to the step's hidden states.
Bytes step_activations(const EngineMemory& engine, const DecoderLlm& model, const Run& request, Lowering lowering, std::int64_t tokens,
                       std::int64_t sequences);

}  // namespace roofcast
