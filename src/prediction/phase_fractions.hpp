#pragma once
/// What the time of a run's phases goes into.

#include <vector>

#include "prediction/interval.hpp"

namespace roofcast {

/// Passes after the first token: a verification reads all weights for a few tokens, as a decode step does.
bool is_decode(const Phase& phase);

/// A phase with the time that its classes of operators take in all its passes, and the least time that it can take at data-sheet rates.
/// Stages of a pipeline share a prompt, and take turns in decode.
struct KnownPhase {
    const Phase* phase;
    std::vector<TimeFraction> spent;  ///< seconds
    Seconds floor;
};

/// Time fractions of a phase whose passes run on `gpu`.
KnownPhase known_phase(const Phase& phase, const GpuProfile& gpu, const Parallelism& parallel);

/// Classes with their shares of the time of `phases`, sorted by class; what the GPU does not spend in kernels belongs to "assembly".
std::vector<TimeFraction> fractions_of(const std::vector<const KnownPhase*>& phases);

}  // namespace roofcast
