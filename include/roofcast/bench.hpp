#pragma once
/// Timings of any harness, summarized and compared: `roofcast bench`.
///
/// A series is what one run of one piece of work measured of one metric. Its labels say what the work was ("m = 64") and who ran it
/// ("gpu = a100-sxm4-80gb"): contestants are compared where the work is the same.
/// Relative performance of x over a baseline b: b / x where lower is better (times), x / b where higher is better (rates).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofcast/measurement.hpp"
#include "roofcast/sample_statistics.hpp"

namespace roofcast {

/// Key and value, in the order of the file.
using Labels = std::vector<std::pair<std::string, std::string>>;

struct BenchSeries {
    Labels work;    ///< the work: "op = gemm", "m = 8"; a harness's benchmark name
    Labels run_by;  ///< the contestant, from `contestant_keys`
    std::string metric;
    bool lower_is_better = true;
    SampleStatistics statistics;
};

struct BenchData {
    std::vector<BenchSeries> series;
    SkippedRows skipped;  ///< rows that hold no usable figure
};

/// Keys that distinguish contestants instead of pieces of work, in display order.
const std::vector<std::string>& contestant_keys();

/// Standard deviation over the typical value from which on a series is called unsteady: two of them that differ by less say little.
inline constexpr double high_variance_percent = 10;

/// Reads, by their content: our measurement CSV; google-benchmark JSON; nvbench JSON and CSV; llama-bench JSON and CSV; trtexec times JSON;
/// and JSON of the form {mode: {metric: {mean, std, min, max, median, values}}}. Throws Error for anything else.
BenchData read_bench(const std::vector<std::filesystem::path>& files);

/// The same for one file's text.
BenchData read_bench_text(std::string_view text, const std::string& file);

/// How often as good as `baseline` another series of the same metric is: 1.27 is 27 % faster.
double relative_performance(const BenchSeries& baseline, const BenchSeries& other);

/// Standing of a series among those that did the same work; alone if no other did.
struct Standing {
    double relative = 1;   ///< to the first of them
    bool fastest = false;  ///< and there is another
};

/// Standing of each series among those with the same work and metric.
std::vector<Standing> standings(const std::vector<BenchSeries>& series);

/// One piece of work as every contestant did it.
struct ComparedWork {
    Labels work;
    std::string metric;
    std::vector<BenchSeries> by_contestant;  ///< in the order of BenchComparison::contestants
    std::size_t fastest = 0;                 ///< index of a contestant
};

struct ContestantSummary {
    double relative = 1;        ///< geometric mean over works of one metric, to the first contestant
    std::int64_t fastest = 0;   ///< works that it did fastest
    std::int64_t unsteady = 0;  ///< works with high variance
};

/// Summaries of one metric.
struct MetricSummary {
    std::string metric;
    std::int64_t works = 0;
    std::vector<ContestantSummary> by_contestant;
};

struct BenchComparison {
    std::vector<std::string> contestants;  ///< named by the values of the keys, baseline first
    std::vector<ComparedWork> works;
    std::vector<MetricSummary> summaries;
    std::vector<std::string> also_differs;  ///< keys that differ between contestants without being compared by: "gpu", "precision"
    std::int64_t unmatched = 0;             ///< series without a counterpart
};

/// Contestants are distinguished by the values of `keys` (of any label). Labels of `contestant_keys` that are the same within each
/// contestant are not asked to match between them: files of two GPUs can be compared as files. Series of equal work and metric are matched;
/// those that occur several times for one contestant are pooled to their median. Throws Error when there are fewer than two contestants, an
/// unknown key, or no work that all of them did.
BenchComparison compare(const std::vector<BenchSeries>& series, const std::vector<std::string>& keys);

/// "m=8 n=4096 k=4096": values alone for names.
std::string described(const Labels& work);

}  // namespace roofcast
