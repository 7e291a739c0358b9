#include "host/shapes_file.hpp"

#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "host/random.hpp"
#include "host/row_file.hpp"

namespace roofcast::microbench {

namespace {

using Fields = std::map<std::string, std::string>;

/// Cells by column; absent ones are empty.
std::string text(const Fields& fields, const std::string& column) {
    const auto found = fields.find(column);
    return found == fields.end() ? std::string() : found->second;
}

std::optional<std::int64_t> count(const Fields& fields, const std::string& column) {
    const std::string cell = text(fields, column);
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (status != std::errc{} || end != cell.data() + cell.size() || value < 1) return std::nullopt;
    return value;
}

std::optional<Case> gemm_case(const Fields& fields) {
    const std::string precision = text(fields, "precision"), weights = text(fields, "weight_precision"),
                      function = text(fields, "function");
    const auto p = parse_precision(precision);
    const auto m = count(fields, "m"), n = count(fields, "n"), k = count(fields, "k");
    const bool plain_weights = weights.empty() || weights == precision,
               plain_function = function.empty() || function == "linear" || function == "bmm";
    if (text(fields, "op") != "gemm" || !p || !m || !n || !k || !plain_weights || !plain_function) return std::nullopt;
    return Case{*p, CacheState::cold, Gemm{count(fields, "batch").value_or(1), *m, *n, *k, false}};
}

}  // namespace

std::vector<PlannedCase> shapes_of_file(const std::string& path, std::uint64_t seed) {
    std::ifstream in(path);
    if (!in) throw FileError{path + " cannot be read"};
    std::vector<std::string> columns;
    std::set<std::string> seen;
    std::vector<PlannedCase> cases;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line.front() == '#') continue;
        const auto cells = split_fields(line);
        if (columns.empty()) {
            columns = cells;
            continue;
        }
        Fields fields;
        for (std::size_t c = 0; c < std::min(cells.size(), columns.size()); ++c) fields[columns[c]] = cells[c];
        const auto found = gemm_case(fields);
        if (found && seen.insert(described(*found)).second) cases.push_back({*found, expected_seconds(*found)});
    }
    if (cases.empty()) throw FileError{path + " holds no GEMM that could be measured again"};
    Random(seed).shuffle(cases);
    return cases;
}

}  // namespace roofcast::microbench
