#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "io/csv_reader.hpp"
#include "io/text_file.hpp"
#include "io/within_memory.hpp"
#include "measurement/rows.hpp"
#include "roofcast/error.hpp"
#include "roofcast/measurement.hpp"

namespace roofcast {

namespace {

/// Median of a non-empty vector; the mean of the middle two when their number is even.
double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

double measured(const KernelRow& row) {
    return row.latency.in(us);
}
void set_measured(KernelRow& row, double value) {
    row.latency = value * us;
}
double measured(const ModelRow& row) {
    return row.value;
}
void set_measured(ModelRow& row, double value) {
    row.value = value;
}

/// Rows in order of first appearance; later ones with the same identity add their value to it.
template <class MeasuredRow>
class Merger {
public:
    void add(std::string identity, MeasuredRow row) {
        const auto [place, is_new] = first_.try_emplace(std::move(identity), rows_.size());
        if (is_new) {
            rows_.push_back(std::move(row));
            return;
        }
        auto& values = duplicates_[place->second];
        if (values.empty()) values.push_back(measured(rows_[place->second]));
        values.push_back(measured(row));
    }

    /// Values too far apart to be of one thing have no median: such rows join `skipped`.
    std::vector<MeasuredRow> merged(SkippedRows& skipped) && {
        constexpr double farthest = 100;  // that equal rows are apart: what published ones differ by is below, a slip of units above
        std::vector<MeasuredRow> kept;
        kept.reserve(rows_.size());
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (const auto found = duplicates_.find(i); found != duplicates_.end()) {
                const std::vector<double>& values = found->second;
                const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
                if (*largest > farthest * *smallest) {
                    skipped.add(rows_[i].origin.file, rows_[i].origin.line,
                                fmt::format("{} equal rows measure from {:.4g} to {:.4g}: are some in other units?", values.size(),
                                            *smallest, *largest));
                    continue;
                }
                const double middle = median(values);
                set_measured(rows_[i], middle);
                rows_[i].repeats = {static_cast<int>(values.size()), (*largest - *smallest) / middle};
            }
            kept.push_back(std::move(rows_[i]));
        }
        return kept;
    }

private:
    std::vector<MeasuredRow> rows_;
    std::unordered_map<std::string, std::size_t> first_;
    std::unordered_map<std::size_t, std::vector<double>> duplicates_;
};

/// Gathers the rows of several files.
class Collector {
public:
    void read(std::string_view text, const std::string& file) {
        std::vector<MeasuredColumn> columns;
        Row row;
        std::int64_t refused = 0;
        bool any_kept = false;
        read_csv(text, file, [&](const CsvRecord& record) {
            if (columns.empty()) {
                columns = parse_header(record.fields, file, record.line);
                return;
            }
            if (record.fields.size() != columns.size()) {
                skipped_.add(file, record.line, fmt::format("the row has {} fields, the header {}", record.fields.size(), columns.size()));
                return;
            }
            try {
                add(row, columns, record, file);
                any_kept = true;
            } catch (const Unusable& problem) {
                skipped_.add(file, record.line, problem.reason);
                require_some_use(++refused, any_kept, file, record.line, problem.reason);
            }
        });
        if (columns.empty()) throw Error({.what = "the file has no header line", .file = file, .expected = "a CSV header"});
    }

    Measurements result() && {
        std::vector<KernelRow> kernels = std::move(kernels_).merged(skipped_);
        std::vector<ModelRow> models = std::move(models_).merged(skipped_);
        return {std::move(kernels), std::move(models), std::move(skipped_)};
    }

private:
    void add(Row& row, const std::vector<MeasuredColumn>& columns, const CsvRecord& record, const std::string& file) {
        row.clear();
        for (std::size_t c = 0; c < columns.size(); ++c) row.set(columns[c], record.fields[c]);
        const bool is_kernel = !row.text(MeasuredColumn::op).empty();
        if (is_kernel == !row.text(MeasuredColumn::model).empty())
            throw Unusable{is_kernel ? "both op and model are given" : "neither op nor model is given"};
        if (is_block(row.text(MeasuredColumn::op))) {
            keep(models_, parse_block_row(row), row, record, file);
        } else if (is_kernel) {
            keep(kernels_, parse_kernel_row(row), row, record, file);
        } else if (!row.text(MeasuredColumn::metric).empty() || !add_wide(row, record, file)) {
            keep(models_, parse_model_row(row), row, record, file);
        }
    }

    /// A measurement for each column that is named after a metric; false: none has a value.
    bool add_wide(Row& row, const CsvRecord& record, const std::string& file) {
        bool any = false;
        for (const MeasuredColumn column : wide_metrics) {
            if (row.text(column).empty()) continue;
            any = true;
            row.set(MeasuredColumn::metric, name(column));
            row.set(MeasuredColumn::value, row.text(column));
            keep(models_, parse_model_row(row), row, record, file);
        }
        return any;
    }

    template <class MeasuredRow>
    static void keep(Merger<MeasuredRow>& merger, MeasuredRow measurement, const Row& row, const CsvRecord& record,
                     const std::string& file) {
        measurement.origin.file = file;
        measurement.origin.line = record.line;
        merger.add(row.identity(), std::move(measurement));
    }

    Merger<KernelRow> kernels_;
    Merger<ModelRow> models_;
    SkippedRows skipped_;
};

/// The CSV files that `path` stands for, in alphabetical order.
std::vector<std::filesystem::path> csv_files(const std::filesystem::path& path) {
    std::error_code ec;
    if (!std::filesystem::is_directory(path, ec)) return {path};
    std::vector<std::filesystem::path> files;
    for (std::filesystem::recursive_directory_iterator entry(path, ec), end; !ec && entry != end; entry.increment(ec)) {
        std::error_code not_told;
        if (entry->is_regular_file(not_told) && entry->path().extension() == ".csv") files.push_back(entry->path());
    }
    if (ec) throw Error({.what = "the folder cannot be read: " + ec.message(), .file = path.string()});
    if (files.empty()) throw Error({.what = "the folder has no .csv file", .file = path.string()});
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

std::vector<std::filesystem::path> measurement_files(const std::vector<std::filesystem::path>& files_or_folders) {
    std::vector<std::filesystem::path> files;
    for (const auto& path : files_or_folders) {
        for (auto& file : csv_files(path)) files.push_back(std::move(file));
    }
    return files;
}

Measurements read_measurements(const std::vector<std::filesystem::path>& files_or_folders) {
    Collector collector;
    for (const auto& file : measurement_files(files_or_folders))
        within_memory(file, [&] { collector.read(read_text_file(file), file.string()); });
    return std::move(collector).result();
}

Measurements read_measurements_text(std::string_view text, const std::string& file) {
    Collector collector;
    collector.read(text, file);
    return std::move(collector).result();
}

}  // namespace roofcast
