#include "host/row_file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

namespace roofcast::microbench {

namespace {

std::string joined(const std::vector<std::string_view>& columns) {
    std::string line;
    for (const auto& column : columns) line += (line.empty() ? "" : ",") + std::string(column);
    return line;
}

/// Shortest text of a time or rate to a tenth of a per mille, which no timer resolves.
std::string number(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.5g", value);
    return buffer;
}

/// All of a file but a last line without an end.
std::string whole_lines(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    std::string all = text.str();
    all.resize(all.rfind('\n') == std::string::npos ? 0 : all.rfind('\n') + 1);
    return all;
}

void add_optional(Cells& cells, std::string_view column, const std::optional<double>& value) {
    if (value) cells.emplace_back(column, number(*value));
}

}  // namespace

std::vector<std::string> split_fields(const std::string& line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
        if (c == ',') {
            fields.emplace_back();
        } else if (c != '\r') {
            fields.back() += c;
        }
    }
    return fields;
}

std::string plain(std::string_view text) {
    std::string out(text);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r' || c == '#'; }, ' ');
    return out;
}

std::string RowFile::key(const Cells& cells) const {
    std::string text;
    for (const auto& column : format_.identity) {
        const auto found = std::find_if(cells.begin(), cells.end(), [&](const auto& cell) { return cell.first == column; });
        text += (found == cells.end() ? std::string() : found->second) + ',';
    }
    return text;
}

RowFile::RowFile(std::string path, Format format, const std::vector<std::string>& preamble, bool resume)
    : path_(std::move(path)), format_(std::move(format)) {
    const bool exists = std::filesystem::exists(path_) && std::filesystem::file_size(path_) > 0;
    if (exists && !resume) throw FileError{path_ + " exists already: --resume continues it, --output names another"};
    if (exists) {
        take_up();
        out_.open(path_, std::ios::binary | std::ios::app);
    } else {
        out_.open(path_, std::ios::binary);
        for (const auto& line : preamble) out_ << "# " << line << '\n';
        out_ << joined(format_.columns) << '\n';
    }
    out_.flush();
    if (!out_) throw FileError{path_ + " cannot be written"};
}

void RowFile::take_up() {
    const std::string text = whole_lines(path_);
    std::filesystem::resize_file(path_, text.size());
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line) && line.starts_with('#')) continue;
    if (line != joined(format_.columns))
        throw FileError{path_ + " has other columns than this program writes: --output names another file"};
    while (std::getline(lines, line)) {
        const auto fields = split_fields(line);
        Cells cells;
        for (std::size_t c = 0; c < std::min(fields.size(), format_.columns.size()); ++c) cells.emplace_back(format_.columns[c], fields[c]);
        done_.insert(key(cells));
        ++rows_;
    }
}

void RowFile::append(const Cells& cells) {
    std::string line;
    for (std::size_t c = 0; c < format_.columns.size(); ++c) {
        const auto found = std::find_if(cells.begin(), cells.end(), [&](const auto& cell) { return cell.first == format_.columns[c]; });
        line += (c > 0 ? "," : "") + (found == cells.end() ? std::string() : found->second);
    }
    out_ << line << '\n' << std::flush;
    if (!out_) throw FileError{path_ + " cannot be written; is the disk full?"};
    done_.insert(key(cells));
    ++rows_;
}

const RowFile::Format& kernel_format() {
    static const RowFile::Format format = [] {
        RowFile::Format f;
        f.identity = {"gpu",       "op",      "precision",   "weight_precision", "function", "batch",        "m",
                      "n",         "k",       "in_channels", "height",           "width",    "out_channels", "kernel_size",
                      "stride",    "padding", "groups",      "layout",           "heads",    "kv_heads",     "head_dim",
                      "query_len", "kv_len",  "causal",      "elements",         "rows",     "cols",         "tokens",
                      "hidden",    "bytes",   "cache"};
        f.columns = f.identity;
        for (const char* measured : {"gpus", "launch", "latency_us", "latency_std_us", "latency_mean_us", "latency_min_us",
                                     "latency_max_us", "latency_p95_us", "latency_p99_us", "drift", "runs", "software", "source"})
            f.columns.emplace_back(measured);
        return f;
    }();
    return format;
}

const RowFile::Format& device_format() {
    static const RowFile::Format format{{"gpu", "quantity", "precision", "bytes", "stride_bytes", "time_s", "value", "value_std",
                                         "value_mean", "value_min", "value_max", "value_p95", "value_p99", "runs", "software", "source"},
                                        {"gpu", "quantity", "precision", "bytes", "stride_bytes", "time_s"}};
    return format;
}

Cells latency_cells(const SampleStatistics& us, bool drift) {
    Cells cells{{"latency_us", number(us.typical())}};
    add_optional(cells, "latency_std_us", us.std);
    add_optional(cells, "latency_mean_us", us.mean);
    add_optional(cells, "latency_min_us", us.min);
    add_optional(cells, "latency_max_us", us.max);
    add_optional(cells, "latency_p95_us", us.p95);
    add_optional(cells, "latency_p99_us", us.p99);
    cells.emplace_back("drift", drift ? "1" : "0");
    cells.emplace_back("runs", std::to_string(us.count));
    return cells;
}

Cells value_cells(const SampleStatistics& figure) {
    Cells cells{{"value", number(figure.typical())}};
    add_optional(cells, "value_std", figure.std);
    add_optional(cells, "value_mean", figure.mean);
    add_optional(cells, "value_min", figure.min);
    add_optional(cells, "value_max", figure.max);
    add_optional(cells, "value_p95", figure.p95);
    add_optional(cells, "value_p99", figure.p99);
    cells.emplace_back("runs", std::to_string(figure.count));
    return cells;
}

}  // namespace roofcast::microbench
