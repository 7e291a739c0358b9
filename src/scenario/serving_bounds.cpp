// Bounds of the figures of a simulation.
#include "scenario/serving_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "prediction/interval.hpp"

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
    for (const auto rate : {&ServingStatistics::requests_per_second, &ServingStatistics::tokens_per_second})
        take(into.*rate, other.*rate, largest);
}

/// `bound` of `predicted`, moved out by `beside`, a logarithm: errors of steps and other errors are independent.
void move_out(Spread& bound, const Spread& predicted, double beside) {
    for (const auto figure : {&Spread::mean, &Spread::p50, &Spread::p90, &Spread::p95, &Spread::p99}) {
        if (bound.*figure <= Seconds{}) continue;
        const double of_steps = std::log(bound.*figure / (predicted.*figure));
        bound.*figure = std::exp(std::copysign(std::hypot(of_steps, beside), beside)) * (predicted.*figure);
    }
}

void move_out(ServingStatistics& bound, const ServingStatistics& predicted, double first_token, double later_tokens) {
    move_out(bound.ttft, predicted.ttft, first_token);
    move_out(bound.wait, predicted.wait, first_token);
    move_out(bound.latency, predicted.latency, later_tokens);
    if (bound.tpot && predicted.tpot) move_out(*bound.tpot, *predicted.tpot, later_tokens);
}

}  // namespace

ServingBounds with_load(ServingBounds bounds, const ServingStatistics& predicted, const ParameterSet& parameters) {
    const ResidualInterval *ttft = find_interval(parameters, "served_ttft"), *tpot = find_interval(parameters, "served_tpot");
    if (ttft == nullptr || tpot == nullptr) return bounds;
    move_out(bounds.low, predicted, ttft->lower, tpot->lower);
    if (bounds.high) move_out(*bounds.high, predicted, ttft->upper, tpot->upper);
    return bounds;
}

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
