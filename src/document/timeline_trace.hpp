#pragma once
/// Predictions as a timeline for trace viewers: the Trace Event Format of Chrome and Perfetto.

#include <string>
#include <vector>

#include "scenario/named_prediction.hpp"

namespace roofcast {

/// A JSON document of complete events ("ph": "X"), times in us: a process a prediction, with tracks of launches by the CPU, of
/// communication and of each CUDA stream; phases and layers enclose the kernels of the first. Of equal passes of a phase one is drawn.
/// Predictions without times are left out.
std::string timeline_trace(const std::vector<NamedPrediction>& predictions);

}  // namespace roofcast
