/// Which harness wrote a file is told by its content, never by its name.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "bench/readers.hpp"
#include "io/csv_reader.hpp"
#include "io/json_text.hpp"
#include "io/text_file.hpp"
#include "io/within_memory.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* known_formats =
    "roofcast measurement CSV, google-benchmark JSON, nvbench JSON or CSV, llama-bench JSON or CSV, trtexec times JSON, or JSON of the "
    "form "
    "{mode: {metric: {mean, std, ...}}}";

[[noreturn]] void unknown_format(const std::string& file, const std::string& found) {
    throw Error({.what = "no known benchmark format", .file = file, .found = found, .expected = known_formats});
}

/// Whether the document is a list whose first element has one of the keys.
bool lists(const json& document, std::initializer_list<const char*> keys) {
    if (!document.is_array() || document.empty() || !document.front().is_object()) return false;
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return document.front().contains(key); });
}

void read_json(std::string_view text, const BenchSource& source) {
    const json document = parse_json<json>(text, source.file);
    if (document.is_object() && document.contains("benchmarks")) {
        if (document.contains("devices")) return read_nvbench(document, source);
        return read_google_benchmark(document, source);
    }
    if (lists(document, {"avg_ts", "samples_ts"})) return read_llama_bench(document, source);
    if (lists(document, {"latencyMs", "computeMs"})) return read_trtexec(document, source);
    if (document.is_object() && !document.empty()) return read_modes(document, source);
    unknown_format(source.file, document.is_array() ? "a JSON list" : "JSON of another form");
}

enum class TableFormat { nvbench, llama_bench, device, measurements, unknown };

TableFormat format_of(const BenchRecord& header) {
    if (column(header, "Benchmark") && column(header, "Device Name")) return TableFormat::nvbench;
    if (column(header, "avg_ts")) return TableFormat::llama_bench;
    if (column(header, "quantity") && column(header, "value")) return TableFormat::device;
    return column(header, "op") || column(header, "model") ? TableFormat::measurements : TableFormat::unknown;
}

void read_table(std::string_view text, const BenchSource& source) {
    BenchTable table;
    std::optional<MeasurementSeries> series;
    read_csv(text, source.file, [&](const CsvRecord& record) {
        if (series) return series->add(record);
        table.push_back({record.line, {record.fields.begin(), record.fields.end()}});
        if (table.size() > 1) return;
        const TableFormat format = format_of(table.front());
        if (format == TableFormat::measurements) series.emplace(record, source);
        if (format == TableFormat::unknown)
            unknown_format(source.file,
                           fmt::format("a CSV with {} columns, the first of them '{}'", record.fields.size(), record.fields.front()));
    });
    if (series) return series->finish();
    if (table.empty()) unknown_format(source.file, "a file without a header line");
    switch (format_of(table.front())) {
        case TableFormat::nvbench:
            return read_nvbench_table(table, source);
        case TableFormat::llama_bench:
            return read_llama_bench_table(table, source);
        default:
            return read_device_table(table, source);
    }
}

/// A file of nothing but unusable rows is an error, with the first of them.
void require_series(const BenchData& data, const std::string& file) {
    if (!data.series.empty()) return;
    ErrorDetail detail{.what = "no usable measurement", .file = file};
    if (!data.skipped.empty()) {
        detail.line = data.skipped.reasons().front().line;
        detail.found = data.skipped.reasons().front().reason;
    }
    throw Error(std::move(detail));
}

}  // namespace

void BenchSource::add(BenchSeries series) const {
    // Times, rates and sizes: contestants are compared by their ratio.
    const double typical = series.statistics.typical(), least = std::min(series.statistics.min.value_or(typical), typical);
    if (least < 0 || typical == 0)
        return skip(0, fmt::format("{}{}{} {}", described(series.work), series.work.empty() ? "" : ": ", series.metric,
                                   least < 0 ? fmt::format("below 0, {:.6g}", least) : "is 0"));
    series.run_by.insert(series.run_by.begin(), {"file", file});
    data.series.push_back(std::move(series));
}

bool higher_is_better(std::string_view metric) {
    constexpr std::array rates{"per_s", "per-s", "/s",  "throughput", "bandwidth", "flops",
                               "gb_s",  "fps",   "qps", "tops",       "clock",     "speedup"};
    return std::any_of(rates.begin(), rates.end(), [&](std::string_view rate) { return metric.find(rate) != std::string_view::npos; });
}

std::optional<std::size_t> column(const BenchRecord& header, std::string_view name) {
    const auto found = std::find(header.fields.begin(), header.fields.end(), name);
    if (found == header.fields.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.fields.begin());
}

std::int64_t sample_count(double number) {
    constexpr double most = 1e15;
    return number >= 0 && number <= most ? static_cast<std::int64_t>(number) : 0;
}

BenchData read_bench_text(std::string_view text, const std::string& file) {
    BenchData data;
    const BenchSource source{data, file};
    const auto begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    if (begin == std::string_view::npos) unknown_format(file, "an empty file");
    if (text[begin] == '{' || text[begin] == '[') {
        read_json(text, source);
    } else {
        read_table(text, source);
    }
    require_series(data, file);
    return data;
}

BenchData read_bench(const std::vector<std::filesystem::path>& files) {
    BenchData all;
    for (const auto& file : files) {
        BenchData data = within_memory(file, [&] { return read_bench_text(read_text_file(file), file.string()); });
        std::move(data.series.begin(), data.series.end(), std::back_inserter(all.series));
        all.skipped.add(data.skipped);
    }
    return all;
}

}  // namespace roofcast
