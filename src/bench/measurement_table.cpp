/// Our measurement CSV: every column but the measured ones is a label.

#include <algorithm>
#include <unordered_map>
#include <utility>

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

/// The row's own figures. If the row also has a mean, the measured value is a median.
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

/// The measured value of a row that can be used, and its metric.
std::pair<double, std::string_view> measured_value(const Row& row) {
    if (!row.text(MeasuredColumn::op).empty()) return {parse_kernel_row(row).latency.in(us), "latency_us"};
    const ModelRow model = parse_model_row(row);
    return {model.value, name(model.metric)};
}

BenchSeries series_of(const Row& row, double value, std::string_view metric) {
    BenchSeries series;
    add_labels(row, series);
    series.metric = metric;
    series.statistics = row_statistics(row, value);
    series.lower_is_better = !higher_is_better(metric);
    return series;
}

}  // namespace

/// Rows that agree in all but the measurement are samples of one series.
struct MeasurementSeries::Groups {
    struct Group {
        BenchSeries series;
        double first = 0;
        std::vector<double> more;
    };
    std::vector<MeasuredColumn> columns;
    std::unordered_map<std::string, std::size_t> places;  ///< in all, by the identity of rows
    std::vector<Group> all;
    std::int64_t refused = 0;  ///< rows
};

MeasurementSeries::MeasurementSeries(const CsvRecord& header, const BenchSource& source)
    : source_(source), groups_(std::make_unique<Groups>()) {
    groups_->columns = parse_header(header.fields, source.file, header.line);
}

MeasurementSeries::~MeasurementSeries() = default;

void MeasurementSeries::add(const CsvRecord& record) {
    const std::vector<MeasuredColumn>& columns = groups_->columns;
    if (record.fields.size() != columns.size()) return source_.skip(record.line, "the number of fields differs from the header");
    try {
        Row row;
        for (std::size_t c = 0; c < columns.size(); ++c) row.set(columns[c], record.fields[c]);
        const auto [value, metric] = measured_value(row);
        const auto [place, is_new] = groups_->places.emplace(row.identity(), groups_->all.size());
        if (is_new) {
            groups_->all.push_back({series_of(row, value, metric), value, {}});
        } else {
            groups_->all[place->second].more.push_back(value);
        }
    } catch (const Unusable& problem) {
        source_.skip(record.line, problem.reason);
        require_some_use(++groups_->refused, !groups_->all.empty(), source_.file, record.line, problem.reason);
    }
}

void MeasurementSeries::finish() {
    groups_->places.clear();
    for (Groups::Group& group : groups_->all) {
        if (!group.more.empty()) {
            group.more.insert(group.more.begin(), group.first);
            group.series.statistics = sample_statistics(group.more);
        }
        source_.add(std::move(group.series));
    }
}

}  // namespace roofcast
