/// google-benchmark's --benchmark_format=json.

#include <fmt/format.h>

#include <map>

#include "bench/json_field.hpp"
#include "bench/readers.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Microseconds in one of the harness's time units.
double microseconds(const JsonField& entry) {
    const std::string unit = entry.text_or("time_unit", "ns");
    if (unit == "ns") return 1e-3;
    if (unit == "us") return 1;
    if (unit == "ms") return 1e3;
    if (unit == "s") return 1e6;
    entry.member("time_unit").fail("unknown time unit", "ns, us, ms or s");
}

struct MetricKey {
    const char *key, *metric;
    bool is_time;
};
constexpr std::array<MetricKey, 4> metric_keys{{{"real_time", "real_time_us", true},
                                                {"cpu_time", "cpu_time_us", true},
                                                {"items_per_second", "items_per_s", false},
                                                {"bytes_per_second", "bytes_per_s", false}}};

/// What the entries of one benchmark say about one metric: repetitions, or their aggregates where the run reported only those.
struct Gathered {
    std::vector<double> repetitions;
    SampleStatistics aggregates;
};

void gather(const JsonField& entry, double value, Gathered& gathered) {
    if (entry.text_or("run_type", "iteration") == "iteration") {
        gathered.repetitions.push_back(value);
        return;
    }
    const std::string aggregate = entry.text("aggregate_name");
    gathered.aggregates.count = sample_count(entry.number_if("repetitions").value_or(0));
    if (aggregate == "mean") gathered.aggregates.mean = value;
    if (aggregate == "median") gathered.aggregates.median = value;
    if (aggregate == "stddev") gathered.aggregates.std = value;
}

/// Whether the entry is of `->Complexity()`: coefficients of a fit over sizes, no time.
bool is_fitted_complexity(const JsonField& entry) {
    const std::string aggregate = entry.text_or("aggregate_name", "");
    return aggregate == "BigO" || aggregate == "RMS";
}

}  // namespace

void read_google_benchmark(const nlohmann::ordered_json& document, const BenchSource& source) {
    const JsonField entries = JsonField(document, source.file).list("benchmarks");
    std::vector<std::string> names;
    std::map<std::string, std::map<std::string, Gathered>> by_name;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const JsonField entry = entries.at(i);
        const std::string name = entry.text_or("run_name", entry.text("name"));
        if (entry.text_or("error_occurred", "false") == "true") {
            source.skip(0, fmt::format("{}: {}", name, entry.text_or("error_message", "the benchmark failed")));
            continue;
        }
        if (entry.text_or("skipped", "false") == "true") {
            source.skip(0, fmt::format("{}: {}", name, entry.text_or("skip_message", "the benchmark was skipped")));
            continue;
        }
        if (is_fitted_complexity(entry)) continue;
        if (!by_name.contains(name)) names.push_back(name);
        for (const auto& [key, metric, is_time] : metric_keys) {
            const auto value = is_time ? std::optional(entry.number(key)) : entry.number_if(key);
            if (value) gather(entry, *value * (is_time ? microseconds(entry) : 1), by_name[name][metric]);
        }
    }
    for (const std::string& name : names) {
        for (const auto& key : metric_keys) {
            const auto found = by_name[name].find(key.metric);
            if (found == by_name[name].end()) continue;
            const Gathered& gathered = found->second;
            BenchSeries series{{{"name", name}}, {}, key.metric, key.is_time, gathered.aggregates};
            if (!gathered.repetitions.empty()) series.statistics = sample_statistics(gathered.repetitions);
            if (series.statistics.mean || series.statistics.median) source.add(std::move(series));
        }
    }
}

}  // namespace roofcast
