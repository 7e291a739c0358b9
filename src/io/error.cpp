#include "roofcast/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "io/printable.hpp"

namespace roofcast {

namespace {

/// The places of `key` from outside to inside.
std::vector<std::string> places_of(std::string_view key) {
    std::vector<std::string> places;
    for (std::size_t at; (at = key.find(": ")) != std::string_view::npos; key.remove_prefix(at + 2))
        places.push_back(printable(key.substr(0, at)));
    places.push_back(printable(key));
    return places;
}

/// What stands in files and on command lines is shown, line ends included: it is not to look like a message of its own.
std::string message(const ErrorDetail& d) {
    std::string text;
    const std::string file = printable(d.file);
    if (!file.empty()) text += d.line > 0 ? fmt::format("{}:{}: ", file, d.line) : file + ": ";
    std::vector<std::string> around = places_of(d.key);
    if (!d.key.empty()) text += around.back() + ": ";
    around.pop_back();
    constexpr std::size_t most_places = 3;
    if (around.size() > most_places) {
        around[1] = fmt::format("… ({} more)", around.size() - most_places);
        around.erase(around.begin() + 2, around.end() - 2);
    }
    text += d.what;
    if (!d.found.empty()) text += fmt::format("; found {}", printable(d.found));
    if (!d.expected.empty()) text += fmt::format("; expected {}", d.expected);
    if (!d.suggestion.empty()) text += fmt::format("; {}", d.suggestion);
    if (!around.empty()) text += fmt::format("; in {}", fmt::join(around, " > "));
    return text;
}

std::string folded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return out;
}

/// Optimal string alignment distance: insertions, deletions, substitutions, swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

}  // namespace

Error::Error(ErrorDetail detail) : std::runtime_error(message(detail)), detail_(std::move(detail)) {}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, std::size_t limit) {
    struct Scored {
        double score;
        std::string name;
    };
    constexpr std::size_t shortest_contained = 2;  // one letter is contained in nearly every name
    std::vector<Scored> scored;
    const std::string wanted = folded(name);
    if (wanted.empty()) return {};
    for (const auto& candidate : known) {
        const std::string other = folded(candidate);
        if (other.empty()) continue;
        const double longest = static_cast<double>(std::max(wanted.size(), other.size()));
        double score = static_cast<double>(edit_distance(wanted, other)) / longest;
        const bool contained = other.find(wanted) != std::string::npos || wanted.find(other) != std::string::npos;
        if (contained && std::min(wanted.size(), other.size()) >= shortest_contained) score *= 0.5;
        constexpr double unrelated = 0.5;
        if (score < unrelated) scored.push_back({score, candidate});
    }
    std::stable_sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) { return a.score < b.score; });
    std::vector<std::string> names;
    for (const Scored& s : scored) {
        if (names.size() == limit) break;
        if (std::find(names.begin(), names.end(), s.name) == names.end()) names.push_back(s.name);
    }
    return names;
}

bool is_misspelling(std::string_view written, std::string_view meant) {
    constexpr std::size_t letters_a_slip = 5;
    const std::string a = folded(written), b = folded(meant);
    if (a.empty() || b.empty()) return false;
    return edit_distance(a, b) <= std::max<std::size_t>(1, b.size() / letters_a_slip);
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
    const auto names = nearest_names(name, known);
    if (names.empty()) return {};
    std::string list = names.front();
    for (std::size_t i = 1; i < names.size(); ++i) list += (i + 1 == names.size() ? " or " : ", ") + names[i];
    return fmt::format("did you mean {}?", list);
}

}  // namespace roofcast
