#pragma once
/// The best settings of one GPU, by going through all of a small grid.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "roofcast/comparison.hpp"

namespace roofcast {

/// Batches that a search goes through where none is given.
inline constexpr std::array<std::int64_t, 9> batch_grid{1, 2, 4, 8, 16, 32, 64, 128, 256};

/// How a model is computed and stored.
struct RunFormat {
    Precision precision = Precision::fp16;
    std::optional<WeightFormat> weights;  ///< absent: as the precision, or as the model is published
    Quality quality = Quality::kept;
};

/// "fp16", "int8 weights on fp16".
std::string described(const RunFormat& format);

bool is_same(const RunFormat& a, const RunFormat& b);

/// Adds weight-only formats of fewer bits than the model is published in, on `precision`, where that has 16 bits.
void add_weight_formats(std::vector<RunFormat>& formats, const Workload& workload, Precision precision);

/// Adds formats that compute in 8 or 4 bits. Weights alone are enough to make a model fit, so that these take part where they are
/// `allowed`; int8 convolutions, which have no weight-only formats, also to fit.
void add_narrow_precisions(std::vector<RunFormat>& formats, const Workload& workload, bool allowed);

/// One point of the grid.
struct Candidate {
    RunFormat format;
    std::int64_t batch = 1;
    Execution execution = Execution::cuda_graph;
    double offload = 0;  ///< fraction of every layer's weights that the search moved to host memory, above 0 only where they do not fit
    Bytes memory;        ///< of one GPU
    Bytes unoffloaded;   ///< the same with all weights on the GPU
    bool fits = true;    ///< larger batches of one that does not are left out
    double score = 0;    ///< what is maximised, per second, joule or dollar; 0 where it does not fit or is withheld
};

/// "int8 weights on fp16, batch 64, tensorrt", "fp16 with 37.2 % of the layers' weights offloaded, batch 4, cuda_graph".
std::string described(const Candidate& candidate);

/// "37.2 %".
std::string percent_text(double fraction);

/// Shares of offloaded weights are whole multiples of this, so that `Techniques::offload` takes them as they are shown.
inline constexpr double offload_step = 0.001;

/// Scores this near count as equal: predictions are not that good.
inline constexpr double negligible_gain = 0.01;

/// The first of the `wanted` candidates whose score is within `negligible_gain` of the best. nullptr: none fits.
const Candidate* best_of(const std::vector<Candidate>& candidates, const auto& wanted) {
    double most = 0;
    for (const Candidate& c : candidates) {
        if (wanted(c)) most = std::max(most, c.score);
    }
    for (const Candidate& c : candidates) {
        if (c.score > 0 && c.score >= (1 - negligible_gain) * most && wanted(c)) return &c;
    }
    return nullptr;
}

/// Why `best` and nothing else; `candidates` are all that were tried.
std::vector<std::string> choices_of(const Candidate& best, const std::vector<Candidate>& candidates, const ComparisonRequest& request,
                                    Bytes capacity);

/// "needs 22.1 GB of 16.0".
std::string needs_text(Bytes needed, Bytes capacity);

ContestantRun without_run(const Contestant& contestant, std::string reason);
ContestantRun with_run(const Contestant& contestant, Prediction prediction, std::vector<std::string> choices);

/// The run at the best point of the grid, or the reason why there is none.
ContestantRun best_run(const Workload& workload, const Contestant& contestant, const ComparisonRequest& request,
                       const SoftwareStacks& software);

}  // namespace roofcast
