/// The device figures of roofcast-microbench: launch costs, clocks, power. The quantity is the metric, its unit at the end of its name.

#include "bench/readers.hpp"

namespace roofcast {

namespace {

std::optional<double> figure(const BenchRecord& header, const BenchRecord& row, std::string_view key) {
    const auto at = column(header, key);
    return at ? parsed_number(row.fields[*at]) : std::nullopt;
}

SampleStatistics row_statistics(const BenchRecord& header, const BenchRecord& row, double value) {
    SampleStatistics s;
    s.count = sample_count(figure(header, row, "runs").value_or(0));
    s.median = value;
    s.mean = figure(header, row, "value_mean");
    s.std = figure(header, row, "value_std");
    s.min = figure(header, row, "value_min");
    s.max = figure(header, row, "value_max");
    s.p95 = figure(header, row, "value_p95");
    s.p99 = figure(header, row, "value_p99");
    return s;
}

}  // namespace

void read_device_table(const BenchTable& table, const BenchSource& source) {
    const BenchRecord& header = table.front();
    for (std::size_t r = 1; r < table.size(); ++r) {
        const BenchRecord& row = table[r];
        const auto value = row.fields.size() == header.fields.size() ? figure(header, row, "value") : std::nullopt;
        if (!value) {
            source.skip(row.line, "no value, or the number of fields differs from the header");
            continue;
        }
        BenchSeries series;
        series.metric = row.fields[*column(header, "quantity")];
        series.lower_is_better = !higher_is_better(series.metric);
        series.statistics = row_statistics(header, row, *value);
        for (const char* key : {"bytes", "stride_bytes", "time_s"}) {
            const auto at = column(header, key);
            if (at && !row.fields[*at].empty()) series.work.emplace_back(key, row.fields[*at]);
        }
        for (const char* key : {"gpu", "precision", "software", "source"}) {
            const auto at = column(header, key);
            if (at && !row.fields[*at].empty()) series.run_by.emplace_back(key, row.fields[*at]);
        }
        source.add(std::move(series));
    }
}

}  // namespace roofcast
