#pragma once
/// One reader a harness format. Each appends what it finds; `file` is the name that errors and labels carry.

#include <memory>
#include <nlohmann/json.hpp>

#include "io/csv_reader.hpp"
#include "io/number_text.hpp"
#include "roofcast/bench.hpp"

namespace roofcast {

/// Where a reader stands: the data it fills, and the file for its messages.
struct BenchSource {
    BenchData& data;
    const std::string& file;

    /// Adds a series with the label `file`.
    void add(BenchSeries series) const;
    void skip(int line, std::string_view reason) const { data.skipped.add(file, line, reason); }
};

/// A CSV record with its line, fields owned.
struct BenchRecord {
    int line = 0;
    std::vector<std::string> fields;
};

/// All records of a CSV, header first.
using BenchTable = std::vector<BenchRecord>;

/// Our measurement CSV, row by row: memory grows with its series, not with its rows.
class MeasurementSeries {
public:
    /// Throws Error for an unknown column. `source` must outlive it.
    MeasurementSeries(const CsvRecord& header, const BenchSource& source);
    MeasurementSeries(const MeasurementSeries&) = delete;
    MeasurementSeries& operator=(const MeasurementSeries&) = delete;
    ~MeasurementSeries();
    void add(const CsvRecord& record);
    /// Gives the series to the source, in the order of their first rows.
    void finish();

private:
    struct Groups;
    const BenchSource& source_;
    std::unique_ptr<Groups> groups_;
};

void read_device_table(const BenchTable& table, const BenchSource& source);
void read_nvbench_table(const BenchTable& table, const BenchSource& source);
void read_llama_bench_table(const BenchTable& table, const BenchSource& source);

void read_google_benchmark(const nlohmann::ordered_json& document, const BenchSource& source);
void read_nvbench(const nlohmann::ordered_json& document, const BenchSource& source);
void read_llama_bench(const nlohmann::ordered_json& document, const BenchSource& source);
void read_trtexec(const nlohmann::ordered_json& document, const BenchSource& source);
void read_modes(const nlohmann::ordered_json& document, const BenchSource& source);

/// Whether larger values of a metric of this name are better: rates are, times and sizes are not.
bool higher_is_better(std::string_view metric);

/// Position of a column, or nullopt.
std::optional<std::size_t> column(const BenchRecord& header, std::string_view name);

/// How many samples a harness says it took; 0, not said, when nobody can have taken that many.
std::int64_t sample_count(double number);

}  // namespace roofcast
