#include "roofcast/recommendation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "io/parallel.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "scenario/gpu_search.hpp"
#include "scenario/simulated_engine.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, outcome_count> outcomes{{
    {"meets", "meets the objective"},
    {"lacks_precision", "lacks the precision"},
    {"does_not_fit", "does not fit"},
    {"withheld", "an operator has no kernel model"},
    {"unknown_error", "no upper bound is known"},
    {"misses_ttft", "misses TTFT"},
    {"misses_tpot", "misses TPOT"},
    {"misses_latency", "misses latency"},
    {"too_many_copies", "needs more than 1024 copies"},
    {"too_many_gpus", "needs more GPUs than `most_gpus`"},
    {"no_price", "no price is known"},
    {"over_budget", "over budget"},
}};
static_assert(most_copies == 1024);

/// A limit that the model has no time for would be met by everything.
void check_limits(const Workload& workload, const ServiceObjective& objective) {
    if (objective.empty())
        throw Error({.what = "no objective is given",
                     .key = "objective",
                     .expected = "ttft=TIME, tpot=TIME or latency=TIME, joined by commas",
                     .suggestion = "for example `objective` ttft=200ms,tpot=30ms"});
    if (language_model(workload) != nullptr || (!objective.ttft && !objective.tpot)) return;
    throw Error({.what = workload.id + " generates no text, so it has no TTFT and no TPOT",
                 .key = "objective",
                 .found = objective.ttft ? "ttft" : "tpot",
                 .expected = "latency=TIME"});
}

/// Throws Error where no run of these sizes is possible.
Run smallest_run(const Workload& workload, const RecommendationRequest& request) {
    const CopySettings one{.format = {request.run.precision, request.run.weights, Quality::kept},
                           .parallel = {.tensor = request.tensor.value_or(1), .pipeline = request.pipeline.value_or(1)}};
    Run run = run_of_copy(workload, request, one, deployment_batches(request).front());
    if (request.objective.tpot && run.generate_tokens < 2)
        throw Error({.what = "TPOT needs at least two output tokens",
                     .key = "objective",
                     .found = "tpot",
                     .suggestion = "leave it out, or `generate_tokens` 2 or more"});
    return run;
}

/// Why nothing can be simulated; empty: it can.
std::string why_not_simulated(const Workload& workload, const RecommendationRequest& request) {
    const DecoderLlm* llm = language_model(workload);
    if (llm == nullptr) return fmt::format("{} is not a language model", workload.id);
    if (llm->cross_attention_tokens > 0) return fmt::format("{} keeps images in cross-attention layers", workload.id);
    if (!request.rate) return "no `rate` of requests is given";
    if (request.run.techniques.any()) return "the simulated engine does not support the requested techniques";
    return {};
}

void keep_cheapest(std::optional<Deployment>& best, const std::optional<Deployment>& other) {
    if (other && (!best || is_cheaper(*other, *best))) best = other;
}

/// One answer of each contestant, in their order.
std::vector<GpuAnswer> answers(const Workload& workload, const std::vector<Contestant>& contestants, const RecommendationRequest& request,
                               const SoftwareStacks& software, bool simulates) {
    std::vector<GpuAnswer> all(contestants.size());
    std::size_t done = 0;
    std::mutex mutex;
    in_parallel(contestants.size(), [&](std::size_t i) {
        const Contestant& contestant = contestants[i];
        if (!contestant.rental_price && (request.budget || !request.without_prices)) {
            all[i].rejected = RejectedGpu{.outcome = Outcome::no_price};
        } else {
            all[i] = simulates ? answer_under_load(workload, contestant, request, software)
                               : answer_by_batch(workload, contestant, request, software);
        }
        const std::lock_guard lock(mutex);
        if (request.progress) request.progress(++done, contestants.size());
    });
    return all;
}

void add(Recommendation& result, GpuAnswer& answer, std::size_t gpu, Confidence confidence) {
    for (RecommendedRow& row : answer.rows) {
        if (row.expected) row.expected->gpu = gpu;
        if (row.upper) row.upper->gpu = gpu;
        keep_cheapest(result.cheapest_expected, row.expected);
        keep_cheapest(result.cheapest_upper, row.upper);
        if (row.at(confidence)) result.rows.push_back(std::move(row));
    }
    result.load.simulations += answer.simulations;
    if (!answer.rejected) return;
    answer.rejected->gpu = gpu;
    result.rejected.push_back(std::move(*answer.rejected));
}

}  // namespace

std::string_view name(Outcome outcome) {
    return outcomes[static_cast<std::size_t>(outcome)].first;
}

std::string_view in_words(Outcome outcome) {
    return outcomes[static_cast<std::size_t>(outcome)].second;
}

Recommendation recommend(const Workload& workload, const std::vector<Contestant>& contestants, const RecommendationRequest& request,
                         const SoftwareStacks& software) {
    check_limits(workload, request.objective);
    const Run smallest = smallest_run(workload, request);
    Recommendation result;
    if (language_model(workload) != nullptr) result.output_tokens = smallest.generate_tokens;
    result.load.why_not = why_not_simulated(workload, request);
    const bool simulates = result.load.why_not.empty();
    if (simulates) result.load.requests = simulated_requests(request.load, 1, result.output_tokens);
    std::vector<GpuAnswer> all = answers(workload, contestants, request, software, simulates);
    for (std::size_t i = 0; i < all.size(); ++i) add(result, all[i], i, request.confidence);
    std::stable_sort(result.rows.begin(), result.rows.end(), [&request](const RecommendedRow& a, const RecommendedRow& b) {
        return is_cheaper(*a.at(request.confidence), *b.at(request.confidence));
    });
    return result;
}

}  // namespace roofcast
