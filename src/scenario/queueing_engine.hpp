#pragma once
/// One way of running a copy of a model, and what its requests see at a rate, by the number of copies.

#include <map>
#include <string>
#include <tuple>

#include "roofcast/recommendation.hpp"

namespace roofcast {

class QueueingEngine {
public:
    /// Of `deployment`, whose batch and copies do not matter.
    QueueingEngine(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                   const SoftwareStacks& software, const Deployment& deployment);

    /// Why it serves nothing; empty: it serves.
    [[nodiscard]] const std::string& error() const { return error_; }

    /// Percentiles with `copies` and every step `time_scale` times as long, and the limit missed by most; simulated once.
    const UnderLoad& under_load(std::int64_t copies, double time_scale);
    /// Of a request that is alone.
    const UnderLoad& alone(double time_scale);

    [[nodiscard]] std::int64_t simulations() const { return static_cast<std::int64_t>(known_.size()); }

private:
    const UnderLoad& simulated_once(std::int64_t copies, std::int64_t requests, double time_scale);

    const RecommendationRequest& request_;
    ServingRequest each_;  ///< all are alike; images are tokens of the prompt
    ServingEngine engine_;
    std::string error_;
    std::map<std::tuple<std::int64_t, std::int64_t, double>, UnderLoad> known_;  ///< by copies, requests and scale
};

/// Requests of one simulation: those of the test, fewer where outputs are long, more where copies are many.
std::int64_t simulated_requests(const QueueingTest& test, std::int64_t copies, std::int64_t output_tokens);

}  // namespace roofcast
