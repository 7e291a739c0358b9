// Bounds of the figures of a simulation.
#include <algorithm>

#include "roofcast/serving.hpp"

namespace roofcast {

namespace {

/// `figure` of `into` becomes the lesser, or with `largest` the greater, of both.
template <class Figure>
void take(Figure& into, const Figure& other, bool largest) {
    into = largest ? std::max(into, other) : std::min(into, other);
}

void take(Spread& into, const Spread& other, bool largest) {
    for (const auto figure : {&Spread::mean, &Spread::p50, &Spread::p90, &Spread::p95, &Spread::p99})
        take(into.*figure, other.*figure, largest);
}

void take(ServingStatistics& into, const ServingStatistics& other, bool largest) {
    for (const auto times : {&ServingStatistics::ttft, &ServingStatistics::latency, &ServingStatistics::wait})
        take(into.*times, other.*times, largest);
    if (into.tpot && other.tpot) take(*into.tpot, *other.tpot, largest);
    for (const auto missed : {&ServingStatistics::missed_ttft, &ServingStatistics::missed_tpot, &ServingStatistics::missed_latency,
                              &ServingStatistics::missed_any})
        take(into.*missed, other.*missed, largest);
}

}  // namespace

ServingBounds bounds_of(const ServingCase& predicted, const ServingCase& low, const ServingCase& high) {
    ServingBounds bounds{.low = predicted.statistics, .high = predicted.statistics};
    const ServingCase* cases[] = {&low, &high};
    for (const ServingCase* c : cases) {
        if (c->overload) {
            bounds.high.reset();
            continue;
        }
        take(bounds.low, c->statistics, false);
        if (bounds.high) take(*bounds.high, c->statistics, true);
    }
    return bounds;
}

}  // namespace roofcast
