#include "scenario/gpu_search.hpp"

#include <algorithm>
#include <tuple>

#include "scenario/copies_under_load.hpp"
#include "scenario/recommendation_rent.hpp"

namespace roofcast {

namespace {

int stage(Outcome outcome) {
    switch (outcome) {
        case Outcome::too_many_copies:
        case Outcome::too_many_gpus:
        case Outcome::no_price:
        case Outcome::over_budget:
            return 0;
        case Outcome::misses_ttft:
        case Outcome::misses_tpot:
        case Outcome::misses_latency:
            return 1;
        default:
            return 2;
    }
}

/// Settings of a copy, and what is known about them.
struct Candidate {
    CopiesUnderLoad loaded;
    RecommendedRow found;
    std::array<std::optional<Failure>, confidences.size()> failures;
};

/// Settings that may cost least go first; those that cannot beat the best so far are not simulated.
class LoadSearch {
public:
    LoadSearch(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request, const SoftwareStacks& software)
        : contestant_(contestant), request_(request) {
        for (const CopySettings& settings : copy_settings(workload, contestant.gpu->profile, request))
            candidates_.push_back(
                {.loaded = CopiesUnderLoad(workload, contestant, request, software, settings), .found = {}, .failures = {}});
    }

    GpuAnswer answer() {
        for (const Confidence c : confidences) search(c);
        GpuAnswer result;
        std::vector<RecommendedRow> rows;
        for (Candidate& candidate : candidates_) {
            result.simulations += candidate.loaded.simulations();
            if (candidate.found.expected || candidate.found.upper) rows.push_back(std::move(candidate.found));
        }
        const bool answered =
            std::any_of(rows.begin(), rows.end(), [this](const RecommendedRow& row) { return row.at(request_.confidence).has_value(); });
        result.rows = rows_of(std::move(rows), request_.all_settings);
        if (!answered) result.rejected = rejected();
        return result;
    }

private:
    void search(Confidence c) {
        std::vector<std::pair<Deployment, Candidate*>> order;  // at the least that they can cost
        for (Candidate& candidate : candidates_) {
            auto& failure = candidate.failures[static_cast<std::size_t>(c)];
            failure = candidate.loaded.failure(c);
            if (failure) continue;
            if (const auto least = least_copies(candidate); !forbids(candidate, least)) {
                order.emplace_back(priced(candidate, least), &candidate);
            } else {
                failure = Failure{*forbids(candidate, least), 0};
            }
        }
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return is_cheaper(a.first, b.first); });
        std::optional<Deployment> best;
        for (const auto& [least, candidate] : order) {
            const auto found = cheapest(*candidate, c, least.parallel.data, request_.all_settings ? std::nullopt : best);
            if (found && (!best || is_cheaper(*found, *best))) best = found;
        }
    }

    /// What is served at the upper bound is served as expected.
    static std::int64_t least_copies(Candidate& candidate) {
        return candidate.found.expected ? candidate.found.expected->parallel.data : candidate.loaded.least_copies();
    }

    [[nodiscard]] std::optional<Outcome> forbids(const Candidate& candidate, std::int64_t copies) const {
        return forbidden(contestant_, request_, candidate.loaded.gpus_each(), copies);
    }

    [[nodiscard]] Deployment priced(const Candidate& candidate, std::int64_t copies) const {
        Deployment d{.parallel = candidate.loaded.settings().parallel};
        d.parallel.data = copies;
        price(d, contestant_, request_, *request_.rate);
        return d;
    }

    /// The cheapest deployment that is served and cheaper than `best`.
    std::optional<Deployment> cheapest(Candidate& candidate, Confidence c, std::int64_t least,
                                       const std::optional<Deployment>& best) const {
        CopiesUnderLoad& loaded = candidate.loaded;
        const auto most = most_allowed(least, [&](std::int64_t copies) {
            return !forbids(candidate, copies) && (!best || is_cheaper(priced(candidate, copies), *best));
        });
        if (!most) return std::nullopt;
        const auto fewest = fewest_copies(least, *most, [&](std::int64_t copies) { return loaded.served(copies, c).has_value(); });
        if (!fewest) {
            const auto reason = forbids(candidate, *most + 1);
            if (reason) candidate.failures[static_cast<std::size_t>(c)] = Failure{*reason, 0};
            return std::nullopt;
        }
        std::optional<Deployment> found = loaded.served(*fewest, c);
        if (*fewest > 1) found->shortfall = loaded.shortfall(*fewest - 1, c);
        (c == Confidence::expected ? candidate.found.expected : candidate.found.upper) = found;
        return found;
    }

    [[nodiscard]] RejectedGpu rejected() const {
        RejectedGpu nearest{.outcome = Outcome::lacks_precision};
        bool first = true;
        for (const Candidate& candidate : candidates_) {
            const auto& failure = candidate.failures[static_cast<std::size_t>(request_.confidence)];
            if (!failure || (!first && !is_nearer(failure->outcome, failure->excess, nearest.outcome, nearest.excess))) continue;
            nearest = {.outcome = failure->outcome, .excess = failure->excess, .nearest = described(candidate.loaded.settings())};
            first = false;
        }
        return nearest;
    }

    const Contestant& contestant_;
    const RecommendationRequest& request_;
    std::vector<Candidate> candidates_;
};

}  // namespace

bool is_nearer(Outcome a, double excess_a, Outcome b, double excess_b) {
    return std::tuple(stage(a), excess_a) < std::tuple(stage(b), excess_b);
}

std::optional<std::int64_t> fewest_copies(std::int64_t least, std::int64_t most, const std::function<bool(std::int64_t)>& holds) {
    constexpr std::int64_t stride = 8;  // steps by one until there are so many, by an eighth of them then
    std::int64_t low = least - 1, high = least;
    while (!holds(high)) {
        if (high >= most) return std::nullopt;
        low = high;
        high = std::min(most, high + 1 + high / stride);
    }
    while (low + 1 < high) {
        const std::int64_t middle = low + (high - low) / 2;
        (holds(middle) ? high : low) = middle;
    }
    return high;
}

std::optional<std::int64_t> most_allowed(std::int64_t least, const std::function<bool(std::int64_t)>& allowed) {
    if (!allowed(least)) return std::nullopt;
    std::int64_t low = least, step = 1;
    while (allowed(low + step)) {
        low += step;
        step *= 2;
    }
    for (; step > 0; step /= 2) {
        if (allowed(low + step)) low += step;
    }
    return low;
}

std::vector<RecommendedRow> rows_of(std::vector<RecommendedRow> rows, bool all_settings) {
    if (all_settings || rows.size() < 2) return rows;
    RecommendedRow best;
    for (const RecommendedRow& row : rows) {
        if (row.expected && (!best.expected || is_cheaper(*row.expected, *best.expected))) best.expected = row.expected;
        if (row.upper && (!best.upper || is_cheaper(*row.upper, *best.upper))) best.upper = row.upper;
    }
    return {best};
}

GpuAnswer answer_under_load(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                            const SoftwareStacks& software) {
    return LoadSearch(workload, contestant, request, software).answer();
}

}  // namespace roofcast
