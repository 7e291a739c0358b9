#include "roofcast/recommendation.hpp"

#include <algorithm>
#include <tuple>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "scenario/recommendation_grid.hpp"
#include "scenario/recommendation_queueing.hpp"

namespace roofcast {

namespace {

/// A limit that the model has no time for would be met by everything.
void check_limits(const Workload& workload, const ServiceObjective& objective) {
    if (objective.empty())
        throw Error({.what = "nothing says what is fast enough",
                     .key = "--slo",
                     .expected = "ttft=TIME, tpot=TIME or latency=TIME, joined by commas",
                     .suggestion = "for example --slo ttft=200ms,tpot=30ms"});
    if (language_model(workload) != nullptr || (!objective.ttft && !objective.tpot)) return;
    throw Error({.what = workload.id + " generates no text, so that it has no time to the first token nor per token",
                 .key = "--slo",
                 .found = objective.ttft ? "ttft" : "tpot",
                 .expected = "latency=TIME"});
}

RunRequest asked(const RecommendationRequest& request, const RunFormat& format, const Parallelism& parallel, std::int64_t batch) {
    RunRequest run = request.run;
    run.shape.precision = format.precision;
    run.weights = format.weights;
    run.shape.batch = batch;
    run.shape.parallel = parallel;
    return run;
}

/// Whether a larger batch may still do better: of one that does not fit or is too slow it does not.
bool goes_on(Outcome outcome) {
    return outcome == Outcome::meets || outcome == Outcome::over_budget || outcome == Outcome::no_price ||
           outcome == Outcome::too_many_copies || outcome == Outcome::queueing;
}

/// All deployments of one GPU.
class GpuSearch {
public:
    GpuSearch(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request, const SoftwareStacks& software)
        : workload_(workload), contestant_(contestant), request_(request), software_(software) {}

    std::vector<Deployment> all() {
        const GpuProfile& gpu = contestant_.gpu->profile;
        for (const RunFormat& format : deployment_formats(workload_, gpu, request_)) {
            for (const Parallelism& parallel : copy_degrees(workload_, gpu)) {
                for (const std::int64_t batch : deployment_batches(request_)) {
                    if (!add(asked(request_, format, parallel, batch))) break;
                }
            }
        }
        return std::move(found_);
    }

private:
    /// False when larger batches are out of the question.
    bool add(const RunRequest& run) {
        const auto d = tried(run);
        if (!d) return false;
        found_.push_back(*d);
        return goes_on(d->outcome);
    }

    /// nullopt: the batch asks for more tokens or pixels than any run may have.
    std::optional<Deployment> tried(const RunRequest& run) {
        RunRequest complete;
        try {
            complete = completed_sizes(run, workload_);
        } catch (const Error&) {
            return std::nullopt;
        }
        Deployment d{.parallel = run.shape.parallel,
                     .precision = run.shape.precision,
                     .weights = complete.shape.weights,
                     .batch = run.shape.batch,
                     .memory = memory_estimate(workload_, complete, software_)};
        d.memory.usable = contestant_.gpu->profile.usable_memory();
        if (d.memory.fits() == false) {
            d.outcome = Outcome::does_not_fit;
            d.excess = d.memory.total() / *d.memory.usable;
            return d;
        }
        try {
            return judged(predict(workload_, *contestant_.gpu, run, software_), contestant_, request_);
        } catch (const Error&) {  // a layer would run in a format that the GPU lacks, whatever it multiplies in
            d.outcome = Outcome::lacks_precision;
            return d;
        }
    }

    const Workload& workload_;
    const Contestant& contestant_;
    const RecommendationRequest& request_;
    const SoftwareStacks& software_;
    std::vector<Deployment> found_;
};

/// How far a deployment got: 0 where it keeps the limits, 1 where it runs, 2 where it does not.
int stage(const Deployment& d) {
    if (!d.figures) return 2;
    return goes_on(d.outcome) ? 0 : 1;
}

/// What got further is nearer; of equal ones that with the smaller factor beyond a limit.
bool is_nearer(const Deployment& a, const Deployment& b) {
    return std::tuple(stage(a), a.excess) < std::tuple(stage(b), b.excess);
}

GpuVerdict verdict_on(const std::vector<Deployment>& tried, bool has_price) {
    GpuVerdict verdict{.tried = tried.size()};
    for (const Deployment& d : tried) {
        if (d.outcome == Outcome::meets) ++verdict.meeting;
    }
    if (verdict.meeting > 0) return verdict;
    const auto nearest = std::min_element(tried.begin(), tried.end(), is_nearer);
    if (nearest != tried.end()) verdict.nearest = *nearest;
    verdict.outcome = !has_price ? Outcome::no_price : verdict.nearest ? verdict.nearest->outcome : Outcome::lacks_precision;
    return verdict;
}

/// Takes out what random arrivals are too much for.
void drop_overloaded(std::vector<Deployment>& meeting, Recommendation& result) {
    for (const Deployment& d : meeting) {
        if (d.outcome != Outcome::queueing) continue;
        --result.deployments[static_cast<std::size_t>(Outcome::meets)];
        ++result.deployments[static_cast<std::size_t>(Outcome::queueing)];
        GpuVerdict& verdict = result.gpus[d.gpu];
        if (!verdict.nearest || is_nearer(d, *verdict.nearest)) verdict.nearest = d;
        if (--verdict.meeting == 0) verdict.outcome = Outcome::queueing;
    }
    std::erase_if(meeting, [](const Deployment& d) { return d.outcome == Outcome::queueing; });
    for (GpuVerdict& verdict : result.gpus) {
        if (verdict.meeting > 0) verdict.nearest.reset();
    }
}

void mark_front(std::vector<Deployment>& meeting, Recommendation& result) {
    std::vector<CostPoint> points;
    for (const Deployment& d : meeting) points.push_back({d.cost->per_item, d.figures->latency});
    for (const std::size_t i : pareto_front(points)) {
        meeting[i].front = true;
        result.front.push_back(meeting[i]);
    }
}

/// The cheapest batch of each; `meeting` is sorted.
void rank(const std::vector<Deployment>& meeting, Recommendation& result) {
    for (const Deployment& d : meeting) {
        const bool is_known =
            std::any_of(result.ranked.begin(), result.ranked.end(), [&d](const Deployment& other) { return same_but_batch(d, other); });
        if (!is_known) result.ranked.push_back(d);
    }
}

}  // namespace

std::vector<std::size_t> pareto_front(const std::vector<CostPoint>& points) {
    std::vector<std::size_t> order(points.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&points](std::size_t a, std::size_t b) {
        return std::tuple(points[a].cost, points[a].latency) < std::tuple(points[b].cost, points[b].latency);
    });
    std::vector<std::size_t> front;
    for (const std::size_t i : order) {
        if (front.empty() || points[i].latency < points[front.back()].latency) front.push_back(i);
    }
    return front;
}

Recommendation recommend(const Workload& workload, const std::vector<Contestant>& contestants, const RecommendationRequest& request,
                         const SoftwareStacks& software) {
    check_limits(workload, request.objective);
    const RunRequest smallest = completed_sizes(
        asked(request, {request.run.shape.precision, request.run.weights, Quality::kept}, {}, deployment_batches(request).front()),
        workload);
    if (request.objective.tpot && smallest.shape.generate_tokens < 2)
        throw Error({.what = "one output token has no time per token after the first",
                     .key = "--slo",
                     .found = "tpot",
                     .suggestion = "leave it out, or --generate 2 or more"});
    Recommendation result;
    if (language_model(workload) != nullptr) result.output_tokens = smallest.shape.generate_tokens;
    std::vector<Deployment> meeting;
    for (std::size_t i = 0; i < contestants.size(); ++i) {
        std::vector<Deployment> tried = GpuSearch(workload, contestants[i], request, software).all();
        for (Deployment& d : tried) {
            d.gpu = i;
            ++result.deployments[static_cast<std::size_t>(d.outcome)];
            if (d.outcome == Outcome::meets) meeting.push_back(d);
        }
        result.gpus.push_back(verdict_on(tried, contestants[i].rental_price.has_value()));
    }
    std::stable_sort(meeting.begin(), meeting.end(), is_cheaper);
    result.queueing = judge_queueing(workload, contestants, request, software, meeting);
    drop_overloaded(meeting, result);
    std::stable_sort(meeting.begin(), meeting.end(), is_cheaper);
    mark_front(meeting, result);
    rank(meeting, result);
    return result;
}

}  // namespace roofcast
