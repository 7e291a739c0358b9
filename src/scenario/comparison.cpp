#include "roofcast/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/interval.hpp"
#include "prediction/phases.hpp"
#include "roofcast/error.hpp"
#include "scenario/comparison_search.hpp"

namespace roofcast {

namespace {

/// Precisions of a run that names none, in the order in which they are tried.
std::vector<Precision> preferred(const Workload& workload) {
    std::vector<Precision> order{workload.default_precision};
    for (const Precision p : {Precision::bf16, Precision::fp16, Precision::fp32}) {
        if (std::find(order.begin(), order.end(), p) == order.end()) order.push_back(p);
    }
    return order;
}

std::vector<std::string> lacking(const std::vector<Contestant>& contestants, Precision p) {
    std::vector<std::string> ids;
    for (const Contestant& c : contestants) {
        if (!c.gpu->profile.supports(p)) ids.push_back(c.gpu->profile.id);
    }
    return ids;
}

struct Shared {
    Precision precision;
    std::string why;
};

/// The first precision that fewest of the GPUs lack: none of them, as a rule.
Shared shared_precision(const Workload& workload, const std::vector<Contestant>& contestants, const ComparisonRequest& request) {
    if (request.precision_fixed) return {request.run.precision, fmt::format("{} as asked for", name(request.run.precision))};
    const auto order = preferred(workload);
    const Precision best = *std::min_element(order.begin(), order.end(), [&](Precision a, Precision b) {
        return lacking(contestants, a).size() < lacking(contestants, b).size();
    });
    const bool all = lacking(contestants, best).empty();
    std::string why = best == workload.default_precision
                          ? fmt::format("{}, the precision of {} itself, which {} have", name(best), workload.id, all ? "all" : "most")
                          : fmt::format("{}, the first that {} have", name(best), all ? "all" : "most");
    for (const Precision p : order) {
        if (p == best) break;
        why += fmt::format("; {} lack{} {}", fmt::join(lacking(contestants, p), ", "), lacking(contestants, p).size() == 1 ? "s" : "",
                           name(p));
    }
    return {best, why};
}

void add_speed_ups(Comparison& comparison) {
    for (std::size_t i = 0; i < comparison.runs.size() && !comparison.reference; ++i) {
        if (comparison.runs[i].prediction) comparison.reference = i;
    }
    if (!comparison.reference) return;
    const ContestantRun& reference = comparison.runs[*comparison.reference];
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
        ContestantRun& run = comparison.runs[i];
        if (!run.prediction) continue;
        run.speedup = i == *comparison.reference ? SpeedUp{.ratio = 1, .interval = {}}
                                                 : speed_up(*reference.prediction, *run.prediction, share_errors(reference, run));
    }
}

/// Runs `request` on the contestant, if it can.
ContestantRun run_as_asked(const Workload& workload, const Contestant& contestant, const Run& request, const SoftwareStacks& software) {
    const GpuProfile& gpu = contestant.gpu->profile;
    if (!gpu.supports(request.precision)) return without_run(contestant, fmt::format("has no {} arithmetic", name(request.precision)));
    const MemoryEstimate memory = memory_estimate(workload, completed_sizes(request, workload), software);
    const auto usable = gpu.usable_memory();
    if (usable && memory.total() > *usable) return without_run(contestant, needs_text(memory.total(), *usable));
    try {
        return with_run(contestant, predict(workload, *contestant.gpu, request, software), {});
    } catch (const Error& e) {  // a layer runs in another format than the GEMMs, which the GPU lacks
        return without_run(contestant, e.detail().what);
    }
}

}  // namespace

std::string_view name(Objective objective) {
    constexpr std::string_view names[] = {"throughput", "latency", "cost", "energy"};
    return names[static_cast<std::size_t>(objective)];
}

std::optional<Objective> parse_objective(std::string_view text) {
    for (const Objective o : {Objective::throughput, Objective::latency, Objective::cost, Objective::energy}) {
        if (text == name(o)) return o;
    }
    return std::nullopt;
}

Seconds time_per_item(const Prediction& prediction) {
    return prediction.latency / prediction.request.items();
}

Seconds job_time(const Prediction& prediction, std::int64_t items) {
    const double batches = std::ceil(static_cast<double>(items) / prediction.request.items());
    return batches * prediction.latency + prediction.cold_extra;
}

Utilization run_utilization(const Prediction& prediction, const GpuProfile& gpu) {
    Flops flops;
    Bytes bytes;
    for (const Phase& phase : prediction.phases) {
        flops += phase.passes * phase.timeline.flops;
        bytes += phase.passes * phase.timeline.dram_bytes;
    }
    const Run& run = prediction.request;
    const Seconds time = prediction.latency * static_cast<double>(run.parallel.pipeline);
    return utilization(flops, bytes, time, gpu, run.precision);
}

bool share_errors(const ContestantRun& a, const ContestantRun& b) {
    if (a.contestant.gpu->profile.origin() != b.contestant.gpu->profile.origin()) return false;
    if (!a.prediction || !b.prediction || !a.prediction->intervals || !b.prediction->intervals) return false;
    const Run &first = a.prediction->request, &second = b.prediction->request;
    return a.prediction->intervals->basis == b.prediction->intervals->basis && first.precision == second.precision &&
           first.weight_format() == second.weight_format() && first.execution == second.execution;
}

SpeedUp speed_up(const Prediction& reference, const Prediction& other, bool one_error) {
    SpeedUp result{.ratio = time_per_item(reference) / time_per_item(other), .interval = {}};
    if (!reference.intervals || !other.intervals) return result;
    const LogInterval first = logarithmic(reference.intervals->latency), second = logarithmic(other.intervals->latency);
    const double half = one_error ? std::hypot(first.half - second.half, std::max(first.half, second.half) * std::log(result.ratio))
                                  : std::hypot(first.half, second.half);
    const IntervalRatio factor = ratio(LogInterval{first.middle - second.middle, half});
    result.interval = {.low = result.ratio * factor.low, .high = result.ratio * factor.high};
    return result;
}

std::optional<SpeedUp> per_dollar_ratio(const ContestantRun& reference, const ContestantRun& other) {
    if (!reference.rental || !other.rental || !other.speedup) return std::nullopt;
    const double rents = reference.rental->rate / other.rental->rate;
    SpeedUp result = *other.speedup;
    result.ratio *= rents;
    if (result.interval) result.interval = {.low = rents * result.interval->low, .high = rents * result.interval->high};
    return result;
}

namespace {

void require_machines(const std::vector<Contestant>& contestants, const ComparisonRequest& request) {
    for (const Contestant& contestant : contestants) require_one_machine(request.run.parallel, contestant.gpu->profile);
}

}  // namespace

Comparison baseline_comparison(const Workload& workload, const std::vector<Contestant>& contestants, const ComparisonRequest& request,
                               const SoftwareStacks& software) {
    require_machines(contestants, request);
    const Shared shared = shared_precision(workload, contestants, request);
    Run run = request.run;
    run.precision = shared.precision;
    Comparison comparison;
    comparison.why = shared.why;
    for (const Contestant& contestant : contestants) comparison.runs.push_back(run_as_asked(workload, contestant, run, software));
    add_speed_ups(comparison);
    return comparison;
}

Comparison optimized_comparison(const Workload& workload, const std::vector<Contestant>& contestants, const ComparisonRequest& request,
                                const SoftwareStacks& software) {
    require_machines(contestants, request);
    Comparison comparison;
    for (const Contestant& contestant : contestants) comparison.runs.push_back(best_run(workload, contestant, request, software));
    add_speed_ups(comparison);
    return comparison;
}

}  // namespace roofcast
