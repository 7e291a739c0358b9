#pragma once
/// The answer of one GPU.

#include <functional>

#include "roofcast/recommendation.hpp"

namespace roofcast {

/// Rows lack the index of the GPU. `rejected`: why there is no row at the confidence asked for.
struct GpuAnswer {
    std::vector<RecommendedRow> rows;
    std::optional<RejectedGpu> rejected;
    std::int64_t simulations = 0;
};

/// By simulated load; `request` has a rate and `workload` is a language model.
GpuAnswer answer_under_load(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                            const SoftwareStacks& software);

/// By the latency of one batch.
GpuAnswer answer_by_batch(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                          const SoftwareStacks& software);

/// The fewest copies from `least` to `most` that hold; nullopt: none was found. One copy less was tried and does not, or is below `least`.
std::optional<std::int64_t> fewest_copies(std::int64_t least, std::int64_t most, const std::function<bool(std::int64_t)>& holds);

/// The most copies from `least` on that are allowed, given that what is forbidden to some is to more; nullopt: not even `least`.
std::optional<std::int64_t> most_allowed(std::int64_t least, const std::function<bool(std::int64_t)>& allowed);

/// Which of two failures got further: too little money or too few GPUs, then a limit missed (by the smaller factor), then what does not
/// run.
bool is_nearer(Outcome a, double excess_a, Outcome b, double excess_b);

/// What the rest of one GPU's answers is put together with: cheapest first, without `all_settings` only the cheapest at each confidence.
std::vector<RecommendedRow> rows_of(std::vector<RecommendedRow> rows, bool all_settings);

}  // namespace roofcast
