/// Our measurement CSV: every column but the measured ones is a label.

#include <algorithm>
#include <map>

#include "bench/readers.hpp"
#include "measurement/columns.hpp"
#include "measurement/rows.hpp"

namespace roofcast {

namespace {

/// Whether the cell only says again that nothing is stored in another precision than the arithmetic's.
bool repeats_precision(const Row& row, MeasuredColumn c) {
    return (c == MeasuredColumn::weight_precision || c == MeasuredColumn::kv_precision) &&
           row.text(c) == row.text(MeasuredColumn::precision);
}

void add_labels(const Row& row, BenchSeries& series) {
    for (std::size_t c = 0; c < column_count; ++c) {
        const auto column = static_cast<MeasuredColumn>(c);
        const std::string_view text = row.text(column);
        if (text.empty() || is_measured(column) || column == MeasuredColumn::metric || repeats_precision(row, column)) continue;
        const std::string key(name(column));
        const auto& keys = contestant_keys();
        const bool is_contestant = std::find(keys.begin(), keys.end(), key) != keys.end();
        (is_contestant ? series.run_by : series.work).emplace_back(key, text);
    }
}

/// The row's own figures. Where a mean stands beside it, the measured value is a median.
SampleStatistics row_statistics(const Row& row, double measured) {
    const bool model = row.text(MeasuredColumn::op).empty();
    const auto figure = [&](MeasuredColumn kernel, MeasuredColumn of_model) { return row.number_if(model ? of_model : kernel); };
    SampleStatistics s;
    s.count = row.count_if(MeasuredColumn::runs).value_or(0);
    const auto mean = figure(MeasuredColumn::latency_mean_us, MeasuredColumn::value_mean);
    s.mean = mean.value_or(measured);
    if (mean) s.median = measured;
    s.std = figure(MeasuredColumn::latency_std_us, MeasuredColumn::value_std);
    s.min = figure(MeasuredColumn::latency_min_us, MeasuredColumn::value_min);
    s.max = figure(MeasuredColumn::latency_max_us, MeasuredColumn::value_max);
    s.p95 = figure(MeasuredColumn::latency_p95_us, MeasuredColumn::value_p95);
    s.p99 = figure(MeasuredColumn::latency_p99_us, MeasuredColumn::value_p99);
    return s;
}

/// Rows that agree in all but the measurement, as samples of one series.
struct Group {
    BenchSeries series;
    std::vector<double> values;
};

double add_identity(const Row& row, BenchSeries& series) {
    add_labels(row, series);
    if (!row.text(MeasuredColumn::op).empty()) {
        const KernelRow kernel = parse_kernel_row(row);
        series.metric = "latency_us";
        return kernel.latency.in(us);
    }
    const ModelRow model = parse_model_row(row);
    series.metric = name(model.metric);
    return model.value;
}

}  // namespace

void read_measurement_table(const BenchTable& table, const BenchSource& source) {
    const std::vector<std::string_view> header(table.front().fields.begin(), table.front().fields.end());
    const std::vector<MeasuredColumn> columns = parse_header(header, source.file, table.front().line);
    std::map<std::string, std::size_t> places;
    std::vector<Group> groups;
    for (std::size_t r = 1; r < table.size(); ++r) {
        const BenchRecord& record = table[r];
        try {
            if (record.fields.size() != columns.size()) throw Unusable{"the row has not as many fields as the header"};
            Row row;
            for (std::size_t c = 0; c < columns.size(); ++c) row.set(columns[c], record.fields[c]);
            Group group;
            group.values = {add_identity(row, group.series)};
            group.series.statistics = row_statistics(row, group.values.front());
            group.series.lower_is_better = !higher_is_better(group.series.metric);
            const auto [place, is_new] = places.emplace(row.identity(), groups.size());
            if (is_new) {
                groups.push_back(std::move(group));
            } else {
                groups[place->second].values.push_back(group.values.front());
            }
        } catch (const Unusable& problem) {
            source.skip(record.line, problem.reason);
        }
    }
    for (Group& group : groups) {
        if (group.values.size() > 1) group.series.statistics = sample_statistics(group.values);
        source.add(std::move(group.series));
    }
}

}  // namespace roofcast
