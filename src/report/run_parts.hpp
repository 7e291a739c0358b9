#pragma once
/// What several reports show: settings, times, memory and costs of runs as columns and in words.

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "document/field.hpp"
#include "roofcast/cost.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/skipped_rows.hpp"
#include "scenario/named_prediction.hpp"

namespace roofcast {

inline constexpr double thousand = 1e3, million = 1e6;

// ---- words ----------------------------------------------------------------------------------------------------------------------

/// Formats of weights: "bf16"; "bf16, experts mxfp4".
std::string weights_text(const Run& run);

/// ", 8 GPUs (tp 8, pp 1, dp 1)"; empty for one.
std::string parallel_text(const Parallelism& p);
/// The degrees by name, with the GPUs in all.
Json parallel_json(const Parallelism& p);

/// ", 512 prompt and 128 output tokens" of a language model, ", 128 tokens" of an encoder; else empty.
std::string tokens_text(const Prediction& p);

/// Why there are no times, and what would make it fit; empty where it runs.
std::vector<std::string> obstacle_lines(const NamedPrediction& named);
/// "What would fit: int8 weights: 41.2 GB; …".
std::string remedies_line(const std::vector<std::string>& remedies);

/// "assumed: memory.l2_mib = 48 MiB (per SM, typical of ada)" a line, each after `prefix`; of many, one line with all keys.
std::vector<std::string> assumed_lines(const std::vector<Assumption>& assumed, const std::string& prefix = {});
std::string assumed_keys(const std::vector<Assumption>& assumed, std::string_view separator = ";");
Json as_json(const std::vector<Assumption>& assumed);
/// What the profile of `gpu` assumes, under its id in the document, and in the last lines.
void add_assumed(Report& report, const GpuProfile& gpu);

/// Rows that were skipped, by reason.
Json skipped_json(const SkippedRows& skipped);

// ---- intervals ------------------------------------------------------------------------------------------------------------------

/// "80% low": the heading of a bound.
std::string bound_title(std::string_view bound);

/// "`key`_low" and "`key`_high": `figure` of a row times the bounds that `interval` gives as optional factors.
template <class Row>
Fields<Row> bound_fields(const std::string& key, int digits, Show show, auto figure, auto interval) {
    const auto bound = [&](double IntervalRatio::*side) {
        return [figure, interval, side](const Row& row) {
            const Cell cell = figure(row);
            const auto* value = std::get_if<double>(&cell);
            const std::optional<IntervalRatio> factors = std::invoke(interval, row);
            return value != nullptr && factors ? Cell(*value * (*factors).*side) : Cell();
        };
    };
    return {{{key + "_low", bound_title("low"), digits, show}, bound(&IntervalRatio::low)},
            {{key + "_high", bound_title("high"), digits, show}, bound(&IntervalRatio::high)}};
}

/// `fields`, behind that of `key` its bounds.
template <class Row>
Fields<Row> with_bounds(Fields<Row> fields, std::string_view key, Show show, auto interval) {
    const auto at = std::find_if(fields.begin(), fields.end(), [key](const Field<Row>& field) { return field.column.key == key; });
    if (at == fields.end()) throw std::logic_error(fmt::format("no column {}", key));
    const auto bounds = bound_fields<Row>(at->column.key, at->column.digits, show, at->cell, interval);
    fields.insert(at + 1, bounds.begin(), bounds.end());
    return fields;
}

/// The interval of a latency, of whatever has intervals.
inline constexpr auto latency_interval = [](const auto& x) { return x.intervals ? std::optional(x.intervals->latency) : std::nullopt; };

// ---- columns --------------------------------------------------------------------------------------------------------------------

/// `fields` of what runs; empty of what does not.
template <class Run>
Fields<Run> if_it_runs(const Fields<Run>& fields) {
    return part_fields<Run>([](const Run& run) { return run.runs() ? &run : nullptr; }, fields);
}

/// Latency with its bounds, TTFT, TPOT and throughputs, of a prediction or a point of a sweep.
template <class Times>
Fields<Times> time_fields(Show bounds = Show::usual) {
    return with_bounds(Fields<Times>{{{"latency_ms", "latency ms", Show::always}, &Times::latency, ms},
                                     {{"ttft_ms", "TTFT ms"}, &Times::ttft, ms},
                                     {{"tpot_ms", "TPOT ms"}, &Times::tpot, ms},
                                     {{"throughput_per_s", "items/s", Show::wide}, &Times::items_per_second},
                                     {{"tokens_per_s", "tokens/s"}, &Times::tokens_per_second}},
                       "latency_ms", bounds, latency_interval);
}

/// Terms of the time of a kernel; `launch` heads its latency on the GPU.
template <class Terms>
Fields<Terms> term_fields(const std::string& launch, int digits) {
    return {{{"compute_us", "compute us", digits, Show::wide}, &Terms::compute, us},
            {{"dram_us", "DRAM us", digits, Show::wide}, &Terms::dram, us},
            {{"l2_us", "L2 us", digits, Show::wide}, &Terms::l2, us},
            {{launch + "_us", launch + " us", digits, Show::wide}, &Terms::launch, us},
            {{"power_us", "power us", digits, Show::wide}, &Terms::power, us},
            {{"communication_us", "comm. us", digits, Show::wide}, &Terms::communication, us}};
}

/// Settings of a completed run.
Fields<Run> run_fields();
/// Draft model, its tokens and their acceptance.
Fields<Speculation> speculation_fields();
/// Total, usable memory and whether it fits.
Fields<MemoryEstimate> memory_fields();
/// Where it goes, in titles that end with `unit`.
Fields<MemoryEstimate> memory_part_fields(const std::string& unit);
/// Percentages of peak, bandwidth and TDP.
Fields<Utilization> utilization_fields();

Fields<RentalCost> rental_fields();
Fields<RunEnergy> energy_fields();
Fields<OwningCost> owning_fields();
Fields<BuyOrRent> buy_or_rent_fields();
/// For JSON and CSV.
Fields<PriceChoice> price_fields();
Fields<CostSettings> cost_settings_fields();

// ---- why a prediction takes its time --------------------------------------------------------------------------------------------

/// Operators of a phase that the compiler folded away, and the costliest of the others: time, terms, bound and utilization of one run.
Table fused_operators(const Phase& phase);
Table costliest_operators(const Phase& phase, const GpuProfile& gpu);

/// Parameters that the kernels of the prediction's phases read, with unit and provenance.
Table used_parameters(const Prediction& prediction, const Gpu& gpu);

/// Value, unit and origin of a parameter, by its index in `parameter_specs`. `set` outlives them.
Fields<std::size_t> parameter_fields(const ParameterSet& set);

}  // namespace roofcast
