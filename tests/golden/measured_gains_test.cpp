/// What a lower precision, or a larger batch, gains: measured by others on the same model, GPU and software, against what is predicted.
///
/// Gains are ratios, in which errors common to both runs cancel. Each pair of shipped rows that differ in nothing but the setting takes
/// part.

#include <doctest/doctest.h>

#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "golden/measured.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

/// Measured and predicted items per second.
struct Rate {
    double measured = 0, predicted = 0;
};

Rate rate_of(const ModelRow& row, const JudgedRow& judged) {
    if (row.metric == Metric::throughput_per_s) return {judged.measured, judged.predicted};
    const auto items = static_cast<double>(row.batch);
    return {items / judged.measured, items / judged.predicted};
}

/// All of a row but batch, precision and value. Of rows that agree in it, batch and precision the first is taken.
using Setting = std::tuple<std::string, std::string, std::string, std::string, Metric, Execution, std::int64_t, std::int64_t>;

Setting setting_of(const ModelRow& row) {
    return {row.gpu,    row.model,     row.origin.software,           row.origin.source,
            row.metric, row.execution, row.prompt_tokens.value_or(0), row.image_size.value_or(0)};
}

/// Rates by setting, precision and batch.
using Rates = std::map<Setting, std::map<std::pair<Precision, std::int64_t>, Rate>>;

Rates rates_of(const test::Measured& measured) {
    Rates rates;
    for (const JudgedRow& judged : measured.validation().rows) {
        const ModelRow& row = measured.measurements().models[judged.index];
        if (row.metric != Metric::latency_ms && row.metric != Metric::throughput_per_s) continue;
        if (row.phase == "forward") rates[setting_of(row)].emplace(std::pair{*row.precision, row.batch}, rate_of(row, judged));
    }
    return rates;
}

/// How predicted gains compare with measured ones.
struct Agreement {
    int pairs = 0, same_direction = 0;
    double log_error = 0;  ///< sum of |ln(predicted gain / measured gain)|

    void add(const Rate& slow, const Rate& fast) {
        const double measured = fast.measured / slow.measured, predicted = fast.predicted / slow.predicted;
        ++pairs;
        if ((measured > 1) == (predicted > 1)) ++same_direction;
        log_error += std::abs(std::log(predicted / measured));
    }
    [[nodiscard]] double mean_factor() const { return std::exp(log_error / pairs); }
    [[nodiscard]] double direction() const { return static_cast<double>(same_direction) / pairs; }
};

Agreement precision_gain(const Rates& rates, Precision wide, Precision narrow) {
    Agreement result;
    for (const auto& [setting, runs] : rates) {
        for (const auto& [run, rate] : runs) {
            const auto other = runs.find({narrow, run.second});
            if (run.first == wide && other != runs.end()) result.add(rate, other->second);
        }
    }
    return result;
}

/// From the smallest to the largest batch that was measured.
Agreement batching_gain(const Rates& rates) {
    Agreement result;
    for (const auto& [setting, runs] : rates) {
        for (const auto& [run, rate] : runs) {
            const auto& [precision, batch] = run;
            const auto last = std::prev(runs.lower_bound({static_cast<Precision>(static_cast<int>(precision) + 1), 0}));
            const auto first = runs.lower_bound({precision, 0});
            if (first->first == run && last->first != run) result.add(rate, last->second);
        }
    }
    return result;
}

}  // namespace

TEST_CASE("gains of fp16 over fp32, of int8 over fp16 and of batching go the way that measurements go, and as far") {
    const test::Measured measured({test::source_dir() / "validation_data" / "models"});
    const Rates rates = rates_of(measured);
    // Mean factor between predicted and measured gain on the day this was written, and fraction of equal direction: fp16 1.29 and 94 %,
    // int8 1.12 and 93 %, batching 1.29 and 98 %.
    const Agreement half = precision_gain(rates, Precision::fp32, Precision::fp16),
                    byte = precision_gain(rates, Precision::fp16, Precision::int8), batching = batching_gain(rates);
    CHECK(half.pairs >= 100);
    CHECK(half.direction() > 0.85);
    CHECK(half.mean_factor() < 1.45);
    CHECK(byte.pairs >= 500);
    CHECK(byte.direction() > 0.85);
    CHECK(byte.mean_factor() < 1.25);
    CHECK(batching.pairs >= 350);
    CHECK(batching.direction() > 0.93);
    CHECK(batching.mean_factor() < 1.45);
}
