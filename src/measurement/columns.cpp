#include "measurement/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "measurement/column_names.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Larger counts are a wrong unit or a slip: no tensor has a dimension, nor a message a size, of 10^13.
constexpr double largest_count = 1e13;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Text fit for a message: short and printable.
std::string shown(std::string_view text) {
    constexpr std::size_t longest = 40;
    std::string out;
    for (const char c : text.substr(0, longest)) {
        const auto byte_value = static_cast<unsigned char>(c);
        out += byte_value < 0x20 || byte_value >= 0x7F ? '?' : c;
    }
    return text.size() > longest ? out + "..." : out;
}

std::vector<std::string> names_of(const std::vector<std::string_view>& views) {
    return {views.begin(), views.end()};
}

/// "; did you mean …?" or nothing.
std::string hint(std::string_view text, const std::vector<std::string>& known) {
    const std::string suggestion = did_you_mean(text, known);
    return suggestion.empty() ? "" : "; " + suggestion;
}

/// Spreadsheets of some countries write semicolons, and others tabs.
void require_commas(std::string_view header, const std::string& file, int line) {
    const auto separator = header.find_first_of(";\t|");
    if (separator == std::string_view::npos) return;
    const std::string found = header[separator] == '\t' ? "tabs" : fmt::format("'{}'", header[separator]);
    throw Error({.what = "columns are not separated by commas",
                 .file = file,
                 .line = line,
                 .found = found,
                 .suggestion = "save as CSV with commas"});
}

}  // namespace

std::string_view name(MeasuredColumn c) {
    return column_names[static_cast<std::size_t>(c)];
}

void Row::set(MeasuredColumn c, std::string_view text) {
    cells_[static_cast<std::size_t>(c)] = trimmed(text);
}

std::string Row::missing(MeasuredColumn c) const {
    return fmt::format("{} is missing", name(c));
}

std::string Row::required_text(MeasuredColumn c) const {
    if (text(c).empty()) throw Unusable{missing(c)};
    return std::string(text(c));
}

std::string_view Row::choice(MeasuredColumn c, const std::vector<std::string_view>& known, std::string_view fallback) const {
    const std::string_view found = text(c);
    if (found.empty()) return fallback;
    const auto match = std::find(known.begin(), known.end(), found);
    if (match == known.end()) throw Unusable{fmt::format("unknown {} '{}'{}", name(c), shown(found), hint(found, names_of(known)))};
    return *match;
}

std::string_view Row::required_choice(MeasuredColumn c, const std::vector<std::string_view>& known) const {
    if (text(c).empty()) throw Unusable{missing(c)};
    return choice(c, known, {});
}

std::optional<double> Row::number_if(MeasuredColumn c) const {
    const std::string_view found = text(c);
    if (found.empty()) return std::nullopt;
    double value = 0;
    const auto [end, status] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (status != std::errc{} || end != found.data() + found.size())
        throw Unusable{fmt::format("{} '{}' is not a number", name(c), shown(found))};
    if (!std::isfinite(value)) throw Unusable{fmt::format("{} '{}' is not finite", name(c), shown(found))};
    return value;
}

double Row::number(MeasuredColumn c) const {
    const auto value = number_if(c);
    if (!value) throw Unusable{missing(c)};
    return *value;
}

std::optional<std::int64_t> Row::count_if(MeasuredColumn c, std::int64_t lower) const {
    const auto value = number_if(c);
    if (!value) return std::nullopt;
    if (*value != std::floor(*value)) throw Unusable{fmt::format("{} {} is not a whole number", name(c), *value)};
    if (*value < static_cast<double>(lower)) throw Unusable{fmt::format("{} {} is below {}", name(c), *value, lower)};
    if (*value > largest_count) throw Unusable{fmt::format("{} {} is larger than any kernel's", name(c), *value)};
    return static_cast<std::int64_t>(*value);
}

std::int64_t Row::count(MeasuredColumn c, std::int64_t lower) const {
    const auto value = count_if(c, lower);
    if (!value) throw Unusable{missing(c)};
    return *value;
}

bool Row::flag(MeasuredColumn c) const {
    const std::string_view found = text(c);
    if (found.empty() || found == "0" || found == "false" || found == "False" || found == "no") return false;
    if (found == "1" || found == "true" || found == "True" || found == "yes") return true;
    throw Unusable{fmt::format("{} '{}' is neither 0 nor 1", name(c), shown(found))};
}

std::optional<Precision> Row::precision_if(MeasuredColumn c) const {
    const std::string_view found = text(c);
    if (found.empty()) return std::nullopt;
    const auto p = parse_precision(found);
    if (p) return p;
    std::vector<std::string> known;
    for (const Precision candidate : all_precisions) known.emplace_back(roofcast::name(candidate));
    throw Unusable{fmt::format("unknown {} '{}'{}", name(c), shown(found), hint(found, known))};
}

std::optional<WeightFormat> Row::weights_if(MeasuredColumn c) const {
    const std::string_view found = text(c);
    if (found.empty()) return std::nullopt;
    if (auto format = parse_weight_format(found)) {
        format->mixed = false;  // engines were fitted to rows whose mixes count with their mean bits
        return format;
    }
    throw Unusable{fmt::format("unknown {} '{}'", name(c), shown(found))};
}

std::optional<PcieTopology> Row::pcie_if() const {
    const std::string_view found = text(MeasuredColumn::pcie);
    if (found.empty()) return std::nullopt;
    if (const auto topology = parse_pcie_topology(found)) return topology;
    throw Unusable{fmt::format("pcie '{}' is neither host nor switch", shown(found))};
}

bool is_measured(MeasuredColumn c) {
    return c == MeasuredColumn::value || c >= MeasuredColumn::latency_us;
}

std::string Row::identity() const {
    std::string key;
    for (std::size_t c = 0; c < column_count; ++c) {
        const auto column = static_cast<MeasuredColumn>(c);
        if (cells_[c].empty() || is_measured(column)) continue;
        key += static_cast<char>('!' + c);
        key += cells_[c];
        key += '\x1f';  // a separator that no cell holds
    }
    return key;
}

namespace {

/// The nearest known names, or the new name of a column that was renamed.
std::string likely_column(std::string_view found) {
    if (found == "board_gib") return "this column is now called gpu_memory_gib";
    return did_you_mean(found, {column_names.begin(), column_names.end()});
}

}  // namespace

std::vector<MeasuredColumn> parse_header(const std::vector<std::string_view>& fields, const std::string& file, int line) {
    if (fields.size() == 1) require_commas(fields[0], file, line);
    std::vector<MeasuredColumn> columns;
    for (const std::string_view field : fields) {
        const std::string_view found = trimmed(field);
        const auto match = std::find(column_names.begin(), column_names.end(), found);
        if (match == column_names.end()) {
            throw Error({.what = "unknown column",
                         .file = file,
                         .line = line,
                         .found = found.empty() ? "a column without a name" : shown(found),
                         .suggestion = likely_column(found)});
        }
        const auto column = static_cast<MeasuredColumn>(match - column_names.begin());
        if (std::find(columns.begin(), columns.end(), column) != columns.end())
            throw Error({.what = "the column appears twice", .file = file, .line = line, .key = std::string(found)});
        columns.push_back(column);
    }
    const auto has = [&](MeasuredColumn c) { return std::find(columns.begin(), columns.end(), c) != columns.end(); };
    if (!has(MeasuredColumn::op) && !has(MeasuredColumn::model)) {
        throw Error({.what = "the file has neither an 'op' nor a 'model' column, so it holds no measurements",
                     .file = file,
                     .line = line,
                     .expected = "columns such as gpu, op, precision, latency_us or gpu, model, precision, metric, value"});
    }
    return columns;
}

}  // namespace roofcast
