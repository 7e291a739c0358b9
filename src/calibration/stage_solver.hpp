#pragma once
/// The loss of one stage, and its minimum.

#include <vector>

#include "calibration/staged_fit.hpp"

namespace roofcast {

// Start values weigh as much as this many rows:
inline constexpr double kernel_pull = 3;  ///< among kernels of one GPU, of which those of a library and kind of shape err alike
inline constexpr double firm_pull = 30;   ///< where whole sets of rows err alike: models by some 30 %, in all rows of a model and engine;
                                          ///< GPUs that share parameters, in all rows of one
inline constexpr double firmest_pull = 900;  ///< of what hardware facts carry from GPU to GPU: energies, which rows that power hardly
                                             ///< limits would take anywhere
inline constexpr double factor_pull = 4;     ///< of a time factor at 1: most machines are as the one that was measured

/// Every GPU has the same say, however many rows it has.
std::vector<double> row_weights(const Samples& rows);

double mean_loss(const Bench& bench, const Samples& rows, const std::vector<double>& weights, double scale);

/// Fits one stage on one bench.
class StageSolver {
public:
    /// `prior`: what the fit refines, with a weight of its own for each parameter; nullptr: none.
    StageSolver(Bench& bench, StageOutcome& outcome, const CostParameters& start, const StagedFitOptions& with, const PriorFit* prior);

    /// Solves from `from`, sets the bench to what it finds, rounded as the fit file holds it, and returns it.
    Point solve(const Point& from, bool global);

    [[nodiscard]] const Point& origin() const { return origin_; }

    double loss(const Point& u, const Samples& rows, const std::vector<double>& weights);

private:
    void set(const Point& u);

    Bench& bench_;
    StageOutcome& outcome_;
    const StagedFitOptions& with_;
    bool refines_;
    Point origin_;
    std::vector<double> pulls_;  ///< of each parameter, in rows
};

}  // namespace roofcast
