#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "roofcast/bench.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Keys that say where figures come from: never asked to match.
constexpr std::array<std::string_view, 3> provenance{"file", "software", "source"};

template <class List>
bool contains(const List& list, std::string_view key) {
    return std::find(list.begin(), list.end(), key) != list.end();
}

std::string value_of(const BenchSeries& series, std::string_view key) {
    for (const Labels* labels : {&series.run_by, &series.work}) {
        for (const auto& [name, value] : *labels) {
            if (name == key) return value;
        }
    }
    return {};
}

std::string key_text(const Labels& labels) {
    std::string text;
    for (const auto& [key, value] : labels) text.append(key).append(1, '\x1f').append(value).append(1, '\x1e');
    return text;
}

std::string contestant_name(const BenchSeries& series, const std::vector<std::string>& keys) {
    std::string name;
    for (const auto& key : keys) {
        const std::string value = value_of(series, key);
        name += (name.empty() ? "" : " / ") + (value.empty() ? "no " + key : value);
    }
    return name;
}

void require_known(const std::vector<BenchSeries>& series, const std::vector<std::string>& keys) {
    std::set<std::string> known;
    for (const auto& s : series) {
        for (const auto& [key, value] : s.run_by) known.insert(key);
        for (const auto& [key, value] : s.work) known.insert(key);
    }
    for (const auto& key : keys) {
        if (known.contains(key)) continue;
        const std::vector<std::string> names(known.begin(), known.end());
        throw Error({.what = "no series has this key",
                     .key = "keys",
                     .found = key,
                     .expected = fmt::format("{}", fmt::join(names, ", ")),
                     .suggestion = did_you_mean(key, names)});
    }
}

/// Series by contestant, in the order of their first appearance.
struct Field {
    std::vector<std::string> names;
    std::vector<std::vector<const BenchSeries*>> members;
};

Field contestants_of(const std::vector<BenchSeries>& series, const std::vector<std::string>& keys) {
    Field field;
    for (const auto& s : series) {
        const std::string name = contestant_name(s, keys);
        auto place = static_cast<std::size_t>(std::find(field.names.begin(), field.names.end(), name) - field.names.begin());
        if (place == field.names.size()) {
            field.names.push_back(name);
            field.members.emplace_back();
        }
        field.members[place].push_back(&s);
    }
    return field;
}

/// What becomes of a key that contestants are not distinguished by.
struct KeyUse {
    bool must_match = false, differs = false;
};

KeyUse use_of(const Field& field, std::string_view key) {
    std::set<std::string> across;
    bool constant = true;
    for (const auto& members : field.members) {
        std::set<std::string> within;
        for (const auto* s : members) within.insert(value_of(*s, key));
        constant = constant && within.size() == 1;
        across.merge(within);
    }
    return {!constant, constant && across.size() > 1};
}

/// Labels that series must share to be compared.
class Matcher {
public:
    Matcher(const Field& field, const std::vector<std::string>& keys) : by_(&keys) {
        for (const auto& key : contestant_keys()) {
            if (contains(keys, key) || contains(provenance, key)) continue;
            const KeyUse use = use_of(field, key);
            if (use.must_match) matched_.push_back(key);
            if (use.differs) differs_.push_back(key);
        }
    }

    [[nodiscard]] Labels work(const BenchSeries& s) const {
        Labels labels;
        for (const auto& label : s.work) {
            if (!contains(*by_, label.first)) labels.push_back(label);
        }
        for (const auto& key : matched_) {
            const std::string value = value_of(s, key);
            if (!value.empty()) labels.emplace_back(key, value);
        }
        return labels;
    }
    [[nodiscard]] const std::vector<std::string>& differs() const { return differs_; }

private:
    const std::vector<std::string>* by_;
    std::vector<std::string> matched_, differs_;
};

/// Several series of one contestant and one work, as one.
BenchSeries pooled(const std::vector<const BenchSeries*>& members) {
    BenchSeries result = *members.front();
    if (members.size() == 1) return result;
    std::vector<double> values;
    for (const auto* s : members) values.push_back(s->statistics.typical());
    result.statistics = sample_statistics(values);
    return result;
}

std::size_t fastest_of(const std::vector<BenchSeries>& series) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < series.size(); ++i) {
        if (relative_performance(series[best], series[i]) > 1) best = i;
    }
    return best;
}

bool unsteady(const BenchSeries& s) {
    return s.statistics.variation_percent().value_or(0) > high_variance_percent;
}

std::vector<MetricSummary> summaries_of(const std::vector<ComparedWork>& works, std::size_t contestants) {
    std::vector<MetricSummary> summaries;
    for (const auto& work : works) {
        auto place = std::find_if(summaries.begin(), summaries.end(), [&](const auto& s) { return s.metric == work.metric; });
        if (place == summaries.end()) {
            summaries.push_back({work.metric, 0, std::vector<ContestantSummary>(contestants)});
            place = summaries.end() - 1;
        }
        ++place->works;
        ++place->by_contestant[work.fastest].fastest;
        for (std::size_t c = 0; c < contestants; ++c) {
            place->by_contestant[c].relative *= relative_performance(work.by_contestant.front(), work.by_contestant[c]);
            if (unsteady(work.by_contestant[c])) ++place->by_contestant[c].unsteady;
        }
    }
    for (auto& summary : summaries) {
        for (auto& c : summary.by_contestant) c.relative = std::pow(c.relative, 1 / static_cast<double>(summary.works));
    }
    return summaries;
}

/// Series that did the same work, by contestant.
struct Match {
    std::vector<std::vector<const BenchSeries*>> members;
    [[nodiscard]] bool complete() const {
        return std::none_of(members.begin(), members.end(), [](const auto& m) { return m.empty(); });
    }
};

/// In the order of first appearance.
std::vector<Match> matches_of(const Field& field, const Matcher& matcher) {
    std::map<std::string, std::size_t> places;
    std::vector<Match> matches;
    for (std::size_t c = 0; c < field.names.size(); ++c) {
        for (const auto* member : field.members[c]) {
            const auto [place, is_new] = places.emplace(key_text(matcher.work(*member)) + member->metric, matches.size());
            if (is_new) matches.push_back({std::vector<std::vector<const BenchSeries*>>(field.names.size())});
            matches[place->second].members[c].push_back(member);
        }
    }
    return matches;
}

}  // namespace

const std::vector<std::string>& contestant_keys() {
    static const std::vector<std::string> keys{"file", "gpu",       "gpus",   "precision", "weight_precision", "kv_precision",
                                               "mode", "execution", "layout", "software",  "kernel",           "source"};
    return keys;
}

double relative_performance(const BenchSeries& baseline, const BenchSeries& other) {
    const double b = baseline.statistics.typical(), x = other.statistics.typical();
    return other.lower_is_better ? b / x : x / b;
}

std::string described(const Labels& work) {
    std::string text;
    for (const auto& [key, value] : work) {
        const bool names_itself = key == "name" || key == "op" || key == "model" || key == "function" || key == "test" || key == "metric";
        text += (text.empty() ? "" : " ") + (names_itself ? value : fmt::format("{}={}", key, value));
    }
    return text;
}

std::vector<Standing> standings(const std::vector<BenchSeries>& series) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < series.size(); ++i) groups[key_text(series[i].work) + series[i].metric].push_back(i);
    std::vector<Standing> result(series.size());
    for (const auto& [key, members] : groups) {
        std::vector<BenchSeries> rivals;
        for (const std::size_t i : members) rivals.push_back(series[i]);
        for (const std::size_t i : members) result[i].relative = relative_performance(rivals.front(), series[i]);
        if (members.size() > 1) result[members[fastest_of(rivals)]].fastest = true;
    }
    return result;
}

BenchComparison compare(const std::vector<BenchSeries>& series, const std::vector<std::string>& keys) {
    require_known(series, keys);
    const Field field = contestants_of(series, keys);
    if (field.names.size() < 2)
        throw Error({.what = "nothing to compare: there is only one contestant",
                     .found = field.names.empty() ? "" : field.names.front(),
                     .expected = fmt::format("two or more values of {}", fmt::join(keys, ", "))});
    const Matcher matcher(field, keys);
    BenchComparison result{.contestants = field.names, .also_differs = matcher.differs()};
    for (const Match& match : matches_of(field, matcher)) {
        if (!match.complete()) {
            for (const auto& m : match.members) result.unmatched += static_cast<std::int64_t>(m.size());
            continue;
        }
        const BenchSeries& first = *match.members.front().front();
        ComparedWork work{matcher.work(first), first.metric, {}, 0};
        for (const auto& m : match.members) work.by_contestant.push_back(pooled(m));
        work.fastest = fastest_of(work.by_contestant);
        result.works.push_back(std::move(work));
    }
    if (result.works.empty())
        throw Error(
            {.what = "the contestants have no work in common",
             .found = fmt::format("{} and {}", described(field.members[0].front()->work), described(field.members[1].front()->work)),
             .suggestion = "set `keys` to the labels that distinguish them"});
    result.summaries = summaries_of(result.works, result.contestants.size());
    return result;
}

}  // namespace roofcast
