/// trtexec's --exportTimes, and statistics by mode and metric.

#include <fmt/format.h>

#include "bench/json_field.hpp"
#include "bench/readers.hpp"

namespace roofcast {

namespace {

/// "endToEndMs" becomes "end_to_end_ms".
std::string snake_case(const std::string& camel) {
    std::string out;
    for (const char c : camel) {
        const bool upper = c >= 'A' && c <= 'Z';
        if (upper) out += '_';
        out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out;
}

/// Whether the key is a duration rather than a moment: "startComputeMs" and "endComputeMs" are a pair of moments.
bool is_duration(const std::string& key, const nlohmann::ordered_json& run) {
    if (!key.ends_with("Ms") || key.starts_with("start")) return false;
    return !key.starts_with("end") || !run.contains("start" + key.substr(3));
}

SampleStatistics mode_statistics(const JsonField& metric) {
    const auto values = metric.numbers_if("values");
    if (!values.empty()) return sample_statistics(values);
    SampleStatistics s;
    s.mean = metric.number_if("mean");
    s.median = metric.number_if("median");
    s.std = metric.number_if("std");
    s.min = metric.number_if("min");
    s.max = metric.number_if("max");
    s.p95 = metric.number_if("p95");
    s.p99 = metric.number_if("p99");
    for (const char* key : {"count", "runs"}) {
        if (const auto count = metric.number_if(key)) s.count = sample_count(*count);
    }
    if (!s.mean && !s.median) metric.fail("a metric without a figure", "an object with mean, median or values");
    return s;
}

}  // namespace

void read_trtexec(const nlohmann::ordered_json& document, const BenchSource& source) {
    const JsonField runs(document, source.file);
    for (const auto& [key, unused] : document.front().items()) {
        if (!is_duration(key, document.front())) continue;
        std::vector<double> values;
        for (std::size_t i = 0; i < runs.size(); ++i) values.push_back(runs.at(i).number(key));
        source.add({{}, {}, snake_case(key), true, sample_statistics(values)});
    }
}

void read_modes(const nlohmann::ordered_json& document, const BenchSource& source) {
    const JsonField root(document, source.file);
    for (const auto& [mode, metrics] : document.items()) {
        const JsonField of_mode = root.member(mode);
        if (!metrics.is_object()) of_mode.fail("no known benchmark format", "metrics of this mode: {metric: {mean, std, ...}}");
        for (const auto& [metric, figures] : metrics.items()) {
            const JsonField field = of_mode.member(metric);
            if (!figures.is_object()) field.fail("no known benchmark format", "statistics of this metric: {mean, std, ...}");
            source.add({{}, {{"mode", mode}}, metric, !higher_is_better(metric), mode_statistics(field)});
        }
    }
}

}  // namespace roofcast
