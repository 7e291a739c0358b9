#pragma once
/// Grids of predictions: a cartesian product of settings, cut into shards, and how speed scales over it.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// The cartesian product of lists, given by their lengths (each at least 1): the last list varies fastest.
class Grid {
public:
    /// Throws Error when the product exceeds `largest_grid`.
    explicit Grid(std::vector<std::int64_t> lengths);
    [[nodiscard]] std::int64_t size() const { return size_; }
    /// Which value of each list makes up point `index`, 0 to size() − 1.
    [[nodiscard]] std::vector<std::size_t> point(std::int64_t index) const;

private:
    std::vector<std::int64_t> lengths_;
    std::int64_t size_ = 1;
};
inline constexpr std::int64_t largest_grid = 1'000'000'000;

/// One of `count` parts of a grid, for a job array: parts are disjoint, and all together are the grid.
struct Shard {
    std::int64_t index = 1, count = 1;  ///< 1-based
    /// The first point of this part, and the first after it, of a grid of `size` points. Lengths differ by one at most.
    [[nodiscard]] std::int64_t first(std::int64_t size) const { return cut(index - 1, size); }
    [[nodiscard]] std::int64_t end(std::int64_t size) const { return cut(index, size); }

private:
    [[nodiscard]] std::int64_t cut(std::int64_t part, std::int64_t size) const {
        return size / count * part + std::min(part, size % count);
    }
};

/// Parses "2/8". Throws Error unless 1 ≤ index ≤ count ≤ 1e6.
Shard parse_shard(std::string_view text);

/// What one point of a grid gives: the figures of a prediction, without its graphs.
struct SweepPoint {
    std::string reason;                  ///< why it cannot run; empty: it can, and the figures are valid
    std::optional<ErrorDetail> refusal;  ///< where the settings are bad input, whose message is `reason` then
    std::optional<Run> request;          ///< completed where it could be
    Seconds latency;
    std::optional<Seconds> ttft, tpot;
    double items_per_second = 0;
    std::optional<double> tokens_per_second;
    std::optional<MemoryEstimate> memory;
    std::string bound;  ///< of the longest phase, as is `utilization`
    Utilization utilization;
    std::optional<PredictionIntervals> intervals;
    // Against the point of equal other settings with the fewest GPUs, or streams, that can run; absent where none can.
    std::optional<double> speedup;              ///< items per second over its
    std::optional<double> parallel_efficiency;  ///< speedup · its GPUs / this one's GPUs
    std::optional<double> streams_speedup;

    [[nodiscard]] bool runs() const { return reason.empty(); }
};

/// Predicts one point. Bad input, a model that does not fit and operators without a kernel model become its `reason`;
/// bad input its `refusal`, too.
SweepPoint sweep_point(const Workload& workload, const Gpu& gpu, const Run& request, const SoftwareStacks& software);

/// Fills in the speed-ups within `points`, which differ in degrees of parallelism and streams alone.
void relate(std::vector<SweepPoint>& points);

}  // namespace roofcast
