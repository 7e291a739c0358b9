#include "host/plan.hpp"

#include <algorithm>
#include <cstdio>

#include "host/design.hpp"

namespace roofcast::microbench {

namespace {

/// Rates of a middling GPU, for planning only: they enter no measurement.
double planning_rate(Precision p) {
    if (p == Precision::fp64) return 0.5e12;
    return p == Precision::fp32 ? 10e12 : 60e12;
}
constexpr double planning_bandwidth = 500e9, planning_link = 10e9;  // bytes per second
constexpr double shortest_kernel_s = 3e-6;

constexpr double set_up_s = 0.06, warm_up_s = 0.03, shortest_s = 0.02, longest_s = 1.0;
constexpr double typical_runs = 30;
/// Operands are written at about this rate, several copies of them, and the result is checked.
constexpr double fill_rate = 100e9;

bool chosen(const auto& list, const auto& value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

/// A case and where in its group it stands, from 0 to 1.
struct Ranked {
    double rank = 0;
    Case work;
};

std::string text(const char* format, auto... values) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, values...);
    return buffer;
}

}  // namespace

double expected_seconds(const Case& c) {
    if (const auto* sustained = std::get_if<Sustained>(&c.work)) return sustained->seconds + 2;
    const bool over_link = suite_of(c) == Suite::copy || suite_of(c) == Suite::collective;
    const double moving = compulsory_bytes(c) / (over_link ? planning_link : planning_bandwidth);
    const double kernel = shortest_kernel_s + std::max(operations(c) / planning_rate(c.precision), moving);
    const double measuring = std::clamp(typical_runs * kernel, shortest_s, longest_s);
    return set_up_s + warm_up_s + measuring + 3 * compulsory_bytes(c) / fill_rate;
}

std::vector<PlannedCase> plan(const Selection& selection) {
    std::vector<Ranked> ranked;
    for (int s = 0; s < suite_count; ++s) {
        const auto suite = static_cast<Suite>(s);
        if (!chosen(selection.suites, suite)) continue;
        for (const Precision p : precisions_of(suite)) {
            if (has_precision(suite) && !chosen(selection.precisions, p)) continue;
            auto cases = designed_cases(suite, p, selection.seed);
            for (std::size_t i = 0; i < cases.size(); ++i)
                ranked.push_back({(static_cast<double>(i) + 0.5) / static_cast<double>(cases.size()), std::move(cases[i])});
        }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
    std::vector<PlannedCase> planned;
    double total = 0;
    for (auto& [rank, work] : ranked) {
        const double expected = expected_seconds(work);
        if (selection.budget_s && total + expected > *selection.budget_s) break;
        total += expected;
        planned.push_back({std::move(work), expected});
    }
    return planned;
}

std::string listing(const std::vector<PlannedCase>& cases) {
    std::string out;
    std::vector<double> seconds(suite_count);
    std::vector<int> counts(suite_count);
    for (const auto& c : cases) {
        out += text("%7.2f s  ", c.expected_s) + described(c.work) + '\n';
        seconds[static_cast<std::size_t>(suite_of(c.work))] += c.expected_s;
        ++counts[static_cast<std::size_t>(suite_of(c.work))];
    }
    double total = 0;
    out += '\n';
    for (std::size_t s = 0; s < suite_count; ++s) {
        if (counts[s] == 0) continue;
        total += seconds[s];
        out += text("%-12s %6d cases  %7.0f s\n", std::string(name(static_cast<Suite>(s))).c_str(), counts[s], seconds[s]);
    }
    out += text("%-12s %6d cases  %7.0f s expected on a middling GPU\n", "total", static_cast<int>(cases.size()), total);
    return out;
}

bool Budget::allows(double expected_s) const {
    return !budget_s_ || actual_s_ + pace() * expected_s <= *budget_s_;
}

void Budget::spend(double expected_s, double actual_s) {
    expected_s_ += expected_s;
    actual_s_ += actual_s;
}

double Budget::pace() const {
    return expected_s_ > 0 ? actual_s_ / expected_s_ : 1;
}

}  // namespace roofcast::microbench
