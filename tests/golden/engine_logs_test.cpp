/// Memory that serving engines print at start-up, from public logs: a guard against regressions. Half of the logs of vLLM 0.19 gave the
/// constants of its table (docs/decisions/engine-memory.md); all are judged here. Ceilings leave a tenth above the medians of the day.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "golden/measured.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

struct LogCeiling {
    const char* software;  ///< that the row's begins with
    Metric metric;
    std::size_t rows;  ///< that there are at least: rows must not leave by silence
    double median_percent;
};

double median_error(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace

TEST_CASE("start-up memory of engines stays within its ceilings by engine and figure") {
    const test::Measured measured({test::source_dir() / "validation_data" / "memory"});
    for (const LogCeiling& ceiling :
         {LogCeiling{"vllm", Metric::weights_gib, 70, 0.2}, LogCeiling{"vllm", Metric::kv_cache_gib, 60, 0.7},
          LogCeiling{"vllm", Metric::kv_cache_tokens, 58, 0.6}, LogCeiling{"vllm", Metric::activation_gib, 50, 3},
          LogCeiling{"vllm", Metric::graphs_gib, 40, 12}, LogCeiling{"vllm 0.19.0", Metric::weights_gib, 35, 0.2},
          LogCeiling{"vllm 0.19.0", Metric::kv_cache_tokens, 38, 0.4}, LogCeiling{"sglang", Metric::weights_gib, 4, 2},
          LogCeiling{"sglang", Metric::kv_cache_tokens, 4, 10}, LogCeiling{"tensorrt-llm", Metric::kv_cache_gib, 1, 2}}) {
        CAPTURE(std::string(ceiling.software));
        CAPTURE(std::string(name(ceiling.metric)));
        std::vector<double> errors;
        for (const JudgedRow& judged : measured.validation().rows) {
            const ModelRow& row = measured.measurements().models[judged.index];
            if (row.metric == ceiling.metric && row.origin.software.starts_with(ceiling.software)) errors.push_back(judged.ape_percent());
        }
        REQUIRE(errors.size() >= ceiling.rows);
        CHECK(median_error(errors) < ceiling.median_percent);
    }
}
