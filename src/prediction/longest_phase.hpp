#pragma once
/// The phase that tells what bounds a run.

#include <algorithm>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// The longest phase of a prediction that has any; the first of equal ones.
inline const Phase& longest_phase(const Prediction& p) {
    return *std::max_element(p.phases.begin(), p.phases.end(), [](const Phase& a, const Phase& b) { return a.latency < b.latency; });
}

}  // namespace roofcast
