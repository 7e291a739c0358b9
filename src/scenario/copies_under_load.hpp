#pragma once
/// Whether copies with the same settings meet the objective under random arrivals.

#include <optional>

#include "scenario/simulated_engine.hpp"

namespace roofcast {

/// Why settings miss the objective with any number of copies.
struct Failure {
    Outcome outcome = Outcome::does_not_fit;
    double excess = 0;  ///< over its limit; 0 where there is no such factor
};

class CopiesUnderLoad {
public:
    CopiesUnderLoad(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                    const SoftwareStacks& software, CopySettings settings);

    [[nodiscard]] const CopySettings& settings() const { return settings_; }
    [[nodiscard]] std::int64_t gpus_each() const { return settings_.parallel.gpus(); }
    [[nodiscard]] const std::optional<Failure>& failure(Confidence c) const { return failures_[static_cast<std::size_t>(c)]; }

    /// Fewer copies finish fewer requests than arrive. At least 1.
    std::int64_t least_copies();
    /// The deployment of this many copies that meets the objective, at the largest limit on sequences that does; nullopt: none does. Budget
    /// and number of GPUs are not looked at.
    std::optional<Deployment> served(std::int64_t copies, Confidence confidence);
    /// Why `copies`, which are not served, are too few.
    Shortfall shortfall(std::int64_t copies, Confidence confidence);

    [[nodiscard]] std::int64_t simulations() const { return engine_ ? engine_->simulations() : 0; }

private:
    std::optional<Failure> failure_of_engine();
    std::optional<Failure> failure_alone(std::optional<double> time_scale);
    bool keeps_up(std::int64_t copies, std::int64_t limit, double time_scale);
    const ObservedLoad* observed(std::int64_t copies, std::int64_t limit, Confidence confidence);
    Deployment deployment(std::int64_t copies, std::int64_t limit, const ObservedLoad& seen);

    const Workload& workload_;
    const Contestant& contestant_;
    const RecommendationRequest& request_;
    const SoftwareStacks& software_;
    CopySettings settings_;
    std::optional<SimulatedEngine> engine_;
    std::array<std::optional<Failure>, confidences.size()> failures_;
};

}  // namespace roofcast
