// Deployments judged by the latency of one batch: models that generate no text, and all models without a rate.
#include <algorithm>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "scenario/gpu_search.hpp"
#include "scenario/recommendation_grid.hpp"
#include "scenario/recommendation_rent.hpp"

namespace roofcast {

namespace {

/// A deployment, or why it is none.
struct Judged {
    std::optional<Deployment> meets;
    Outcome outcome = Outcome::meets;
    double excess = 0;
};

/// Whether a larger batch may still do better: of one that does not fit or is too slow it does not.
bool goes_on(Outcome outcome) {
    return outcome == Outcome::meets || outcome == Outcome::over_budget || outcome == Outcome::too_many_gpus ||
           outcome == Outcome::too_many_copies;
}

/// Factors from predicted times to those of `confidence`; nullopt: not known.
struct TimeFactors {
    double latency = 1, ttft = 1, tpot = 1;
};

std::optional<TimeFactors> time_factors(const std::optional<PredictionIntervals>& intervals, Confidence confidence) {
    if (confidence == Confidence::expected) return TimeFactors{};
    if (!intervals) return std::nullopt;
    const auto high = [](const IntervalRatio& ratio) { return std::max(1.0, ratio.high); };
    return TimeFactors{.latency = high(intervals->latency),
                       .ttft = high(intervals->ttft.value_or(intervals->latency)),
                       .tpot = high(intervals->tpot.value_or(intervals->latency))};
}

/// The limit exceeded by the largest factor.
void hold(Judged& judged, Outcome outcome, const std::optional<Seconds>& time, const std::optional<Seconds>& limit) {
    if (!time || !limit || *time <= *limit || *time / *limit <= judged.excess) return;
    judged.outcome = outcome;
    judged.excess = *time / *limit;
}

/// As many as the rate takes; without one a single copy, or as many as fill an instance.
std::vector<std::int64_t> copies_to_try(const Contestant& contestant, const RecommendationRequest& request, std::int64_t gpus_each,
                                        Hertz of_one) {
    if (request.rate) return {copies_needed(*request.rate, of_one).value_or(most_copies + 1)};
    std::vector<std::int64_t> copies{1};
    for (const Instance& instance : contestant.instances) {
        if (instance.gpus > gpus_each) copies.push_back(instance.gpus / gpus_each);
    }
    return copies;
}

Judged judged(const Prediction& one_copy, const Contestant& contestant, const RecommendationRequest& request, Confidence confidence) {
    const auto factors = time_factors(one_copy.intervals, confidence);
    if (!factors) return {.meets = {}, .outcome = Outcome::unknown_error};
    const Run& run = one_copy.request;
    Deployment d{.parallel = run.parallel, .precision = run.precision, .weights = run.weight_format(), .batch = run.batch};
    if (one_copy.ttft) d.ttft = factors->ttft * *one_copy.ttft;
    if (one_copy.tpot) d.tpot = factors->tpot * *one_copy.tpot;
    d.latency = factors->latency * one_copy.latency;
    Judged result;
    hold(result, Outcome::misses_ttft, d.ttft, request.objective.ttft);
    hold(result, Outcome::misses_tpot, d.tpot, request.objective.tpot);
    hold(result, Outcome::misses_latency, d.latency, request.objective.latency);
    if (result.outcome != Outcome::meets) return result;
    const Hertz of_one = one_copy.items_per_second / factors->latency / s;
    for (const std::int64_t copies : copies_to_try(contestant, request, run.parallel.gpus(), of_one)) {
        d.parallel.data = copies;
        if (const auto reason = forbidden(contestant, request, run.parallel.gpus(), copies)) {
            if (!result.meets) result.outcome = *reason;
            continue;
        }
        Deployment priced = d;
        price(priced, contestant, request, of_one);
        if (!result.meets || is_cheaper(priced, *result.meets)) result.meets = std::move(priced);
        result.outcome = Outcome::meets;
    }
    return result;
}

/// All batches of one configuration.
class BatchSearch {
public:
    BatchSearch(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                const SoftwareStacks& software)
        : workload_(workload), contestant_(contestant), request_(request), software_(software) {}

    RecommendedRow best_of(const CopySettings& settings) {
        RecommendedRow row;
        bool expected = true, upper = true;
        for (const std::int64_t batch : deployment_batches(request_)) {
            const auto run = completed_if_possible(settings, batch);
            if (!run) break;
            expected = expected && take(row.expected, settings, *run, Confidence::expected);
            upper = upper && take(row.upper, settings, *run, Confidence::upper);
            if (!expected && !upper) break;
        }
        return row;
    }
    [[nodiscard]] const RejectedGpu& nearest() const { return nearest_; }

private:
    /// nullopt: the batch asks for more tokens or pixels than any run may have.
    [[nodiscard]] std::optional<Run> completed_if_possible(const CopySettings& settings, std::int64_t batch) const {
        try {
            return run_of_copy(workload_, request_, settings, batch);
        } catch (const Error&) {
            return std::nullopt;
        }
    }

    /// False when larger batches are out of the question.
    bool take(std::optional<Deployment>& best, const CopySettings& settings, const Run& run, Confidence confidence) {
        const Judged j = tried(run, confidence);
        if (j.meets && (!best || is_cheaper(*j.meets, *best))) best = j.meets;
        if (!j.meets && confidence == request_.confidence &&
            (first_ || is_nearer(j.outcome, j.excess, nearest_.outcome, nearest_.excess))) {
            nearest_ = {.outcome = j.outcome, .excess = j.excess, .nearest = described(settings)};
            first_ = false;
        }
        return goes_on(j.outcome);
    }

    [[nodiscard]] Judged tried(const Run& run, Confidence confidence) const {
        const auto usable = contestant_.gpu->profile.usable_memory();
        const Bytes needed = memory_estimate(workload_, run, software_).total();
        if (usable && needed > *usable) return {.meets = {}, .outcome = Outcome::does_not_fit, .excess = needed / *usable};
        try {
            const Prediction p = predict(workload_, *contestant_.gpu, run, software_);
            if (!p.withheld.empty()) return {.meets = {}, .outcome = Outcome::withheld};
            return judged(p, contestant_, request_, confidence);
        } catch (const Error&) {  // a layer would run in a format that the GPU lacks, whatever it multiplies in
            return {.meets = {}, .outcome = Outcome::lacks_precision};
        }
    }

    const Workload& workload_;
    const Contestant& contestant_;
    const RecommendationRequest& request_;
    const SoftwareStacks& software_;
    RejectedGpu nearest_{.outcome = Outcome::lacks_precision};
    bool first_ = true;
};

}  // namespace

GpuAnswer answer_by_batch(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                          const SoftwareStacks& software) {
    BatchSearch search(workload, contestant, request, software);
    std::vector<RecommendedRow> rows;
    bool answered = false;
    for (const CopySettings& settings : copy_settings(workload, contestant.gpu->profile, request)) {
        RecommendedRow row = search.best_of(settings);
        answered = answered || row.at(request.confidence);
        if (row.expected || row.upper) rows.push_back(std::move(row));
    }
    GpuAnswer result{.rows = rows_of(std::move(rows), request.all_settings)};
    if (!answered) result.rejected = search.nearest();
    return result;
}

}  // namespace roofcast
