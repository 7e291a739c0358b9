#pragma once
/// What a serving engine does on a GPU by default.

#include <vector>

#include "roofcast/decoder_figures.hpp"
#include "roofcast/engine_memory.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// Sizes of a step on `gpu`, where programs can allocate `memory`.
const StepDefaults& step_defaults(const EngineMemory& engine, const GpuProfile& gpu, Bytes memory);
/// Caches of the layers of one pipeline stage.
std::vector<CacheKind> kinds_of_stage(const DecoderLlm& model, const Run& request);

}  // namespace roofcast
