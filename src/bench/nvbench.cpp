/// nvbench's --json and --csv.

#include <fmt/format.h>

#include <map>

#include "bench/json_field.hpp"
#include "bench/readers.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr double us_per_s = 1e6;

/// Values by tag of one state's summaries.
std::map<std::string, double> tagged_values(const JsonField& state) {
    std::map<std::string, double> values;
    const JsonField summaries = state.list("summaries");
    for (std::size_t i = 0; i < summaries.size(); ++i) {
        const JsonField summary = summaries.at(i);
        const JsonField data = summary.list("data");
        for (std::size_t d = 0; d < data.size(); ++d) {
            const JsonField item = data.at(d);
            if (item.text("name") != "value" || item.text_or("type", "") == "string") continue;
            values[summary.text("tag")] = item.number("value");
        }
    }
    return values;
}

/// A time such as nv/cold/time/gpu with its mean, deviation and extremes.
std::optional<SampleStatistics> time_statistics(const std::map<std::string, double>& values, const std::string& tag,
                                                const std::string& samples_tag) {
    const auto value = [&](const std::string& suffix) -> std::optional<double> {
        const auto found = values.find(tag + suffix);
        return found == values.end() ? std::nullopt : std::optional(found->second * us_per_s);
    };
    SampleStatistics s;
    s.mean = value("/mean");
    if (!s.mean) return std::nullopt;
    s.std = value("/stdev/absolute");
    if (!s.std && value("/stdev/relative")) s.std = *value("/stdev/relative") / us_per_s * *s.mean;
    s.min = value("/min");
    s.max = value("/max");
    s.median = value("/median");
    const auto samples = values.find(samples_tag);
    if (samples != values.end()) s.count = sample_count(samples->second);
    return s;
}

struct TimeTag {
    const char *tag, *samples, *metric, *csv_column;
};
constexpr std::array<TimeTag, 3> time_tags{{{"nv/cold/time/gpu", "nv/cold/sample_size", "gpu_time_us", "GPU Time (sec)"},
                                            {"nv/cold/time/cpu", "nv/cold/sample_size", "cpu_time_us", "CPU Time (sec)"},
                                            {"nv/batch/time/gpu", "nv/batch/sample_size", "batch_gpu_time_us", "Batch GPU (sec)"}}};

std::map<std::string, std::string> device_names(const JsonField& document) {
    std::map<std::string, std::string> names;
    const JsonField devices = document.list("devices");
    for (std::size_t i = 0; i < devices.size(); ++i) names[devices.at(i).text_or("id", "")] = devices.at(i).text("name");
    return names;
}

void add_state(const JsonField& state, Labels work, const std::string& device, const BenchSource& source) {
    if (state.member_if("axis_values")) {
        const JsonField axes = state.list("axis_values");
        for (std::size_t i = 0; i < axes.size(); ++i) work.emplace_back(axes.at(i).text("name"), axes.at(i).text_or("value", ""));
    }
    if (state.text_or("is_skipped", "false") == "true") {
        source.skip(0, fmt::format("{}: skipped by nvbench: {}", described(work), state.text_or("skip_reason", "no reason given")));
        return;
    }
    const auto values = tagged_values(state);
    for (const TimeTag& time : time_tags) {
        const auto statistics = time_statistics(values, time.tag, time.samples);
        if (statistics) source.add({work, {{"gpu", device}}, time.metric, true, *statistics});
    }
}

/// The noise that nvbench prints behind a time: its standard deviation as a fraction of it.
std::optional<double> noise_after(const BenchRecord& header, const BenchRecord& row, std::size_t time_column) {
    const std::size_t next = time_column + 1;
    if (next >= header.fields.size() || !header.fields[next].starts_with("Noise")) return std::nullopt;
    return parsed_number(row.fields[next]);
}

/// Benchmark and axes; the pretty twin of a power-of-two axis says the same again.
Labels axes_of(const BenchRecord& header, const BenchRecord& row, std::size_t first, std::size_t last) {
    Labels work{{"name", row.fields[*column(header, "Benchmark")]}};
    for (std::size_t c = first; c < last; ++c) {
        if (!header.fields[c].ends_with(" (pow2)") && !row.fields[c].empty()) work.emplace_back(header.fields[c], row.fields[c]);
    }
    return work;
}

}  // namespace

void read_nvbench(const nlohmann::ordered_json& document, const BenchSource& source) {
    const JsonField root(document, source.file);
    const auto devices = device_names(root);
    const JsonField benchmarks = root.list("benchmarks");
    for (std::size_t b = 0; b < benchmarks.size(); ++b) {
        const JsonField benchmark = benchmarks.at(b);
        const JsonField states = benchmark.list("states");
        for (std::size_t i = 0; i < states.size(); ++i) {
            const JsonField state = states.at(i);
            const auto device = devices.find(state.text_or("device", ""));
            add_state(state, {{"name", benchmark.text("name")}}, device == devices.end() ? "" : device->second, source);
        }
    }
}

void read_nvbench_table(const BenchTable& table, const BenchSource& source) {
    const BenchRecord& header = table.front();
    const auto skipped = column(header, "Skipped");
    if (!skipped)
        throw Error({.what = "nvbench's column 'Skipped' is missing",
                     .file = source.file,
                     .line = header.line,
                     .expected = "CSV output of nvbench"});
    const std::size_t device = *column(header, "Device Name");
    for (std::size_t r = 1; r < table.size(); ++r) {
        const BenchRecord& row = table[r];
        if (row.fields.size() != header.fields.size()) {
            source.skip(row.line, "the number of fields differs from the header");
            continue;
        }
        const Labels work = axes_of(header, row, device + 1, *skipped);
        if (row.fields[*skipped] == "Yes") {
            source.skip(row.line, described(work) + ": skipped by nvbench");
            continue;
        }
        const auto samples = column(header, "Samples");
        for (const TimeTag& time : time_tags) {
            const auto at = column(header, time.csv_column);
            const auto mean = at ? parsed_number(row.fields[*at]) : std::nullopt;
            if (!mean) continue;
            SampleStatistics figures;
            figures.mean = *mean * us_per_s;
            if (const auto noise = noise_after(header, row, *at)) figures.std = *noise * *figures.mean;
            if (samples) figures.count = sample_count(parsed_number(row.fields[*samples]).value_or(0));
            source.add({work, {{"gpu", row.fields[device]}}, time.metric, true, figures});
        }
    }
}

}  // namespace roofcast
