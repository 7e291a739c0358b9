#include <cmath>

#include "roofcast/recommendation.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, outcome_count> outcomes{{
    {"meets", "meets all"},
    {"lacks_precision", "lacks the precision"},
    {"does_not_fit", "does not fit"},
    {"withheld", "no kernel model covers an operator"},
    {"unknown_error", "no bound is known to judge by"},
    {"misses_ttft", "misses TTFT"},
    {"misses_tpot", "misses TPOT"},
    {"misses_latency", "misses latency"},
    {"too_many_copies", "needs too many copies"},
    {"no_price", "no price known"},
    {"over_budget", "over budget"},
    {"queueing", "queueing"},
}};

/// Factors on the times that limits are held against.
struct TimeFactors {
    double latency = 1, ttft = 1, tpot = 1;
};

TimeFactors factors(const std::optional<PredictionIntervals>& intervals, bool by_bound) {
    if (!by_bound || !intervals) return {};
    const double latency = intervals->latency.high;
    return {.latency = latency,
            .ttft = intervals->ttft.value_or(intervals->latency).high,
            .tpot = intervals->tpot.value_or(intervals->latency).high};
}

/// Takes `outcome` when its time exceeds the limit by more than what was found so far.
void hold(Deployment& d, Outcome outcome, const std::optional<Seconds>& time, const std::optional<Seconds>& limit, double factor) {
    if (!time || !limit) return;
    const double share = *time * factor / *limit;
    if (share > d.excess) {
        d.excess = share;
        d.outcome = share > 1 ? outcome : Outcome::meets;
    }
}

/// Rent of a request with `copies` of which each does `of_one` requests per second.
UsDollars cost_of_item(UsDollarsPerSecond rent_of_copy, std::int64_t copies, Hertz of_one, const std::optional<Hertz>& rate) {
    return rate ? rent_of_copy * static_cast<double>(copies) / *rate : rent_of_copy / of_one;
}

DeploymentCost cost_of(const Deployment& d, const PriceChoice& price, Hertz of_one, const RecommendationRequest& request) {
    const UsDollarsPerSecond copy = static_cast<double>(d.parallel.tensor * d.parallel.pipeline) * rent(price);
    DeploymentCost cost{.rate = copy * static_cast<double>(d.parallel.data),
                        .per_item = cost_of_item(copy, d.parallel.data, of_one, request.rate),
                        .per_item_low = {},
                        .per_item_high = {}};
    if (!d.figures->intervals) return cost;
    const std::int64_t more = d.load ? d.parallel.data - d.load->batch_copies : 0;
    const auto at = [&](double ratio) -> std::optional<UsDollars> {
        const Hertz actual = of_one / ratio;
        const auto copies = request.rate ? copies_needed(*request.rate, actual) : std::optional<std::int64_t>(1);
        return copies ? std::optional(cost_of_item(copy, *copies + more, actual, request.rate)) : std::nullopt;
    };
    cost.per_item_low = at(d.figures->intervals->latency.low);
    cost.per_item_high = at(d.figures->intervals->latency.high);
    return cost;
}

/// Copies for the rate, the power and the rent of all. The mean power of one GPU is the same in each copy.
void scale(Deployment& d, const Prediction& one_copy, const Contestant& contestant, const RecommendationRequest& request, double factor) {
    const Hertz of_one = one_copy.items_per_second / s;
    const auto copies = request.rate ? copies_needed(*request.rate, of_one / factor) : std::optional<std::int64_t>(1);
    if (!copies) {
        d.outcome = Outcome::too_many_copies;
        d.excess = *request.rate * factor / of_one / static_cast<double>(most_copies);
        return;
    }
    d.parallel.data = *copies;
    d.figures->capacity = of_one * static_cast<double>(*copies);
    if (const auto energy = run_energy(one_copy, *contestant.gpu))
        d.figures->watts = energy->watts * static_cast<double>(d.parallel.gpus());
    if (!contestant.rental_price) {
        d.outcome = Outcome::no_price;
        d.excess = 0;
        return;
    }
    d.cost = cost_of(d, *contestant.rental_price, of_one, request);
    if (request.budget && d.cost->rate > *request.budget) {
        d.outcome = Outcome::over_budget;
        d.excess = d.cost->rate / *request.budget;
    }
}

}  // namespace

std::string_view name(Outcome outcome) {
    return outcomes[static_cast<std::size_t>(outcome)].first;
}

std::string_view in_words(Outcome outcome) {
    return outcomes[static_cast<std::size_t>(outcome)].second;
}

std::optional<std::int64_t> copies_needed(Hertz rate, Hertz of_one) {
    const double copies = std::ceil(rate / of_one);
    if (!(copies <= static_cast<double>(most_copies))) return std::nullopt;
    return copies < 1 ? 1 : static_cast<std::int64_t>(copies);
}

Deployment with_copies(const Deployment& one_batch, std::int64_t copies, const Contestant& contestant,
                       const RecommendationRequest& request) {
    Deployment d = one_batch;
    const double before = static_cast<double>(d.parallel.data), factor = static_cast<double>(copies) / before;
    const Hertz of_one = d.figures->capacity / before;
    d.parallel.data = copies;
    d.figures->capacity = d.figures->capacity * factor;
    if (d.figures->watts) d.figures->watts = *d.figures->watts * factor;
    if (!d.load) d.load = UnderLoad{.batch_copies = one_batch.parallel.data};
    d.cost = cost_of(d, *contestant.rental_price, of_one, request);
    return d;
}

Deployment judged(const Prediction& one_copy, const Contestant& contestant, const RecommendationRequest& request) {
    const RunShape& shape = one_copy.request.shape;
    Deployment d{.parallel = shape.parallel,
                 .precision = shape.precision,
                 .weights = shape.weights,
                 .batch = shape.batch,
                 .memory = one_copy.memory};
    d.parallel.data = 1;
    if (!one_copy.withheld.empty()) {
        d.outcome = Outcome::withheld;
        return d;
    }
    d.figures = {.latency = one_copy.latency,
                 .ttft = one_copy.ttft,
                 .tpot = one_copy.tpot,
                 .intervals = one_copy.intervals,
                 .capacity = one_copy.items_per_second / s,
                 .watts = {}};
    if (request.by_bound && !one_copy.intervals) {
        d.outcome = Outcome::unknown_error;
        return d;
    }
    const TimeFactors factor = factors(one_copy.intervals, request.by_bound);
    hold(d, Outcome::misses_ttft, one_copy.ttft, request.objective.ttft, factor.ttft);
    hold(d, Outcome::misses_tpot, one_copy.tpot, request.objective.tpot, factor.tpot);
    hold(d, Outcome::misses_latency, one_copy.latency, request.objective.latency, factor.latency);
    if (d.outcome == Outcome::meets) scale(d, one_copy, contestant, request, factor.latency);
    return d;
}

}  // namespace roofcast
