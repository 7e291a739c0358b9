#pragma once
/// What several reports say: settings, times and memory of a run as columns and in words, and rows that were skipped.

#include <string>
#include <vector>

#include "report/bounds.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/skipped_rows.hpp"

namespace roofcast {

/// Formats of weights: "bf16"; "bf16, experts mxfp4".
std::string weights_text(const Run& run);

/// ", 8 GPUs (tp 8, pp 1, dp 1)"; empty for one.
std::string parallel_text(const Parallelism& p);
/// The degrees by name, with the GPUs in all.
nlohmann::ordered_json parallel_json(const Parallelism& p);

/// ", 512 prompt and 128 output tokens" of a language model, ", 128 tokens" of an encoder; else empty.
std::string tokens_text(const Prediction& p);

/// "What would fit: int8 weights: 41.2 GB; …".
std::string remedies_line(const std::vector<std::string>& remedies);

/// "assumed: memory.l2_mib = 48 MiB (per SM, typical of ada)" a line, each after `prefix`; of many, one line with all keys.
std::vector<std::string> assumed_lines(const std::vector<Assumption>& assumed, const std::string& prefix = {});
/// Keys joined by ';', for a column of CSV.
std::string assumed_keys(const std::vector<Assumption>& assumed);
nlohmann::ordered_json as_json(const std::vector<Assumption>& assumed);
/// What the profile of `gpu` assumes, under its id in the document, and in the last lines.
void add_assumed(Report& report, const GpuProfile& gpu);

/// Rows that were skipped, by reason.
nlohmann::ordered_json skipped_json(const SkippedRows& skipped);

/// Settings of a completed run.
const Fields<Run>& run_fields();

/// Total, usable memory and whether it fits.
const Fields<MemoryEstimate>& memory_fields();

/// Percentages of peak, bandwidth and TDP.
const Fields<Utilization>& utilization_fields();

/// What does not fit is bad.
Tone tone_of_fit(const Cell& cell);

/// The interval of a latency, of whatever has intervals.
inline constexpr auto latency_interval = [](const auto& x) { return x.intervals ? std::optional(x.intervals->latency) : std::nullopt; };

/// Latency with its bounds, TTFT, TPOT and throughputs, of a prediction or a point of a sweep.
template <class Times>
Fields<Times> time_fields(Show bounds = Show::usual) {
    return with_bounds(Fields<Times>{{{"latency_ms", "latency ms", 4, Show::always}, &Times::latency, ms},
                                     {{"ttft_ms", "TTFT ms"}, &Times::ttft, ms},
                                     {{"tpot_ms", "TPOT ms"}, &Times::tpot, ms},
                                     {{"throughput_per_s", "items/s", 4, Show::wide}, &Times::items_per_second},
                                     {{"tokens_per_s", "tokens/s"}, &Times::tokens_per_second}},
                       "latency_ms", bounds, latency_interval);
}

}  // namespace roofcast
