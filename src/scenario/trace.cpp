#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "io/csv_reader.hpp"
#include "io/text_file.hpp"
#include "roofcast/error.hpp"
#include "roofcast/serving.hpp"

namespace roofcast {

namespace {

const std::vector<std::string> columns{"arrival_s", "prompt_tokens", "output_tokens"};
constexpr double latest = 1e9;                     // seconds: beyond it the unit is wrong
constexpr std::size_t most_requests = 10'000'000;  // that fit in memory with their times

struct Cell {
    const std::string& file;
    int line;
    const std::string& column;
    std::string_view text;

    [[nodiscard]] Error error(const std::string& what, const std::string& expected) const {
        constexpr std::size_t longest_shown = 40;
        return Error({.what = what,
                      .file = file,
                      .line = line,
                      .key = column,
                      .found = std::string(text.substr(0, longest_shown)),
                      .expected = expected});
    }
};

template <class Number>
Number number(Cell cell, Number lower, Number upper, const std::string& expected) {
    while (!cell.text.empty() && (cell.text.front() == ' ' || cell.text.front() == '\t')) cell.text.remove_prefix(1);
    while (!cell.text.empty() && (cell.text.back() == ' ' || cell.text.back() == '\t')) cell.text.remove_suffix(1);
    if (cell.text.empty()) throw cell.error("a value is missing", expected);
    Number value{};
    const auto [end, problem] = std::from_chars(cell.text.data(), cell.text.data() + cell.text.size(), value);
    if (problem == std::errc::invalid_argument || end != cell.text.data() + cell.text.size()) throw cell.error("not a number", expected);
    if (problem != std::errc{} || !(value >= lower && value <= upper)) throw cell.error("out of range", expected);
    return value;
}

/// Where each of `columns` stands in the header.
std::array<std::size_t, 3> parse_header(const CsvRecord& header, const std::string& file) {
    std::array<std::size_t, 3> places{};
    std::array<bool, 3> found{};
    for (std::size_t i = 0; i < header.fields.size(); ++i) {
        const auto match = std::find(columns.begin(), columns.end(), header.fields[i]);
        const std::string name(header.fields[i]);
        if (match == columns.end())
            throw Error({.what = "unknown column",
                         .file = file,
                         .line = header.line,
                         .found = name,
                         .expected = fmt::format("{}", fmt::join(columns, ", ")),
                         .suggestion = did_you_mean(name, columns)});
        const auto c = static_cast<std::size_t>(match - columns.begin());
        if (found[c]) throw Error({.what = "a column appears twice", .file = file, .line = header.line, .found = name});
        found[c] = true;
        places[c] = i;
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (!found[c]) throw Error({.what = "a column is missing", .file = file, .line = header.line, .expected = columns[c]});
    }
    return places;
}

ServingRequest parse_row(const CsvRecord& row, const std::array<std::size_t, 3>& places, const std::string& file) {
    if (row.fields.size() != columns.size())
        throw Error({.what = "the row and the header differ in their number of fields",
                     .file = file,
                     .line = row.line,
                     .found = fmt::format("{} fields", row.fields.size()),
                     .expected = fmt::format("{}", columns.size())});
    const auto cell = [&](std::size_t c) { return Cell{file, row.line, columns[c], row.fields[places[c]]}; };
    const std::string tokens = fmt::format("a whole number from 1 to {}", largest_run_count);
    return {number<double>(cell(0), 0, latest, fmt::format("seconds from 0 to {:.0f}", latest)) * s,
            number<std::int64_t>(cell(1), 1, largest_run_count, tokens), number<std::int64_t>(cell(2), 1, largest_run_count, tokens)};
}

}  // namespace

std::vector<ServingRequest> read_trace_text(std::string_view text, const std::string& file) {
    std::vector<ServingRequest> requests;
    std::optional<std::array<std::size_t, 3>> places;
    read_csv(text, file, [&](const CsvRecord& record) {
        if (!places) {
            places = parse_header(record, file);
            return;
        }
        if (requests.size() == most_requests)
            throw Error(
                {.what = "too many requests", .file = file, .line = record.line, .expected = fmt::format("at most {}", most_requests)});
        requests.push_back(parse_row(record, *places, file));
    });
    if (requests.empty())
        throw Error({.what = "the file has no requests", .file = file, .expected = "a header line and a row for each request"});
    std::stable_sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
    const Seconds first = requests.front().arrival;
    for (ServingRequest& request : requests) request.arrival -= first;
    return requests;
}

std::vector<ServingRequest> read_trace(const std::filesystem::path& file) {
    return read_trace_text(read_text_file(file), file.string());
}

}  // namespace roofcast
