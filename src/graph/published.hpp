#pragma once
/// How far a model's graph is from its published figures.

#include <optional>

#include "roofcast/op_graph.hpp"

namespace roofcast {

struct Agreement {
    double parameters = 0, gmacs = 0;  ///< of the graph, at the image size of the published figures
    std::optional<double> worst;       ///< largest relative deviation from a published figure; none when nothing is published
    bool holds = true;                 ///< every figure is within 1 %, or within what its source rounded away
};

/// `sizes`: what the user set of a net whose inputs have symbols.
Agreement agreement_with_published(const Workload& workload, const Run& sizes = {});

}  // namespace roofcast
