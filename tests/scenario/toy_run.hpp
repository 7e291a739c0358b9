#pragma once
/// Predictions with round numbers, made without any kernel.

#include <string>
#include <utility>

#include "roofcast/prediction.hpp"

namespace roofcast::test {

/// 100 W, of which 20 % idling.
inline Gpu toy_device() {
    Gpu gpu;
    gpu.profile.id = "toy";
    gpu.profile.name = "Toy";
    gpu.profile.tdp = 100 * watt;
    gpu.profile.idle = 20 * watt;
    return gpu;
}

/// `passes` passes that take `latency` together and spend `dynamic` each.
inline Phase toy_phase(std::string name, double passes, Seconds latency, Joules dynamic) {
    Phase phase;
    phase.name = std::move(name);
    phase.passes = passes;
    phase.latency = latency;
    phase.timeline.total = latency / passes;
    phase.timeline.dynamic_energy = dynamic;
    return phase;
}

}  // namespace roofcast::test
