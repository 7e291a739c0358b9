#pragma once
/// Requests that are beyond limits.

#include <algorithm>

#include "roofcast/serving.hpp"

namespace roofcast {

inline Seconds ttft(const RequestTimes& t) {
    return t.first_token - t.arrived;
}

/// nullopt for a request of one output token.
inline std::optional<Seconds> tpot(const ServingRequest& request, const RequestTimes& t) {
    if (request.output_tokens < 2) return std::nullopt;
    return (t.finished - t.first_token) / static_cast<double>(request.output_tokens - 1);
}

/// Counts by limit.
struct Misses {
    std::int64_t ttft = 0, tpot = 0, latency = 0, any = 0;

    void add(const ServingRequest& request, const RequestTimes& t, const ServiceObjective& objective) {
        const auto beyond = [](const std::optional<Seconds>& value, const std::optional<Seconds>& limit) {
            return value && limit && *value > *limit;
        };
        const bool first = beyond(roofcast::ttft(t), objective.ttft), later = beyond(roofcast::tpot(request, t), objective.tpot),
                   whole = beyond(t.finished - t.arrived, objective.latency);
        ttft += first ? 1 : 0;
        tpot += later ? 1 : 0;
        latency += whole ? 1 : 0;
        any += first || later || whole ? 1 : 0;
    }
    /// Misses of the most missed limit.
    [[nodiscard]] std::int64_t most() const { return std::max({ttft, tpot, latency}); }
};

}  // namespace roofcast
