#pragma once
/// Which graphs a workload runs, by family.

#include <vector>

#include "roofcast/op_graph.hpp"

namespace roofcast {

/// The decoder of an LLM or a VLM; nullptr for other families.
const DecoderLlm* language_model(const Workload& workload);
/// The whole of a VLM; nullptr for other families.
const VisionLanguage* vision_language(const Workload& workload);

/// Tokens in the cache of one sequence before the first is generated: prompt and images.
std::int64_t context_tokens(const Workload& workload, const RunShape& shape);

/// Graphs that together hold every weight once, at the shape's largest activations.
std::vector<OpGraph> weight_graphs(const Workload& workload, const RunShape& shape);

}  // namespace roofcast
