#pragma once
/// Which parameters rows depend on, seen by moving each, on all cores.

#include <vector>

#include "calibration/samples.hpp"

namespace roofcast {

/// Indices of the parameters that change predictions of `rows` on `bench` in the mean, among `candidates`: what rows can be fitted to.
std::vector<std::size_t> parameters_that_matter(const Bench& bench, const Samples& rows, const std::vector<std::size_t>& candidates);

/// The same that change the prediction of even one of `kernels`.
std::vector<std::size_t> parameters_that_any_needs(const Bench& bench, const Samples& kernels, const std::vector<std::size_t>& candidates);

}  // namespace roofcast
