#include "scenario/copies_under_load.hpp"

#include <algorithm>

#include "roofcast/error.hpp"
#include "scenario/recommendation_rent.hpp"

namespace roofcast {

namespace {

/// What a copy sustains is seen in a simulation of finite length, and a queue that grows this slowly is not told from one that does not.
constexpr double sustained_tolerance = 1.02;

}  // namespace

CopiesUnderLoad::CopiesUnderLoad(const Workload& workload, const Contestant& contestant, const RecommendationRequest& request,
                                 const SoftwareStacks& software, CopySettings settings)
    : workload_(workload), contestant_(contestant), request_(request), software_(software), settings_(std::move(settings)) {
    std::optional<Failure> general = failure_of_engine();
    if (!general) general = failure_alone(1);
    failures_.fill(general);
    if (!general) failures_[static_cast<std::size_t>(Confidence::upper)] = failure_alone(engine_->upper_scale(1));
    if (general) engine_.reset();
}

std::optional<Failure> CopiesUnderLoad::failure_of_engine() {
    const Gpu& gpu = *contestant_.gpu;
    const Run run = run_of_copy(workload_, request_, settings_, 1);
    const auto usable = gpu.profile.usable_memory();
    const Bytes needed = memory_estimate(workload_, run, software_).total();
    if (usable && needed > *usable) return Failure{Outcome::does_not_fit, needed / *usable};
    try {
        if (!predict(workload_, gpu, run, software_).withheld.empty()) return Failure{Outcome::withheld, 0};
    } catch (const Error&) {  // a layer would run in a format that the GPU lacks, whatever it multiplies in
        return Failure{Outcome::lacks_precision, 0};
    }
    try {
        engine_.emplace(workload_, gpu, request_, software_, settings_);
    } catch (const Error&) {  // no room for a cache with the weights and the largest step
        return Failure{Outcome::does_not_fit, 0};
    }
    return std::nullopt;
}

/// More copies do not help a request that nothing delays.
std::optional<Failure> CopiesUnderLoad::failure_alone(std::optional<double> time_scale) {
    if (!time_scale) return Failure{Outcome::unknown_error, 0};
    const ObservedLoad& alone = engine_->alone(*time_scale);
    if (alone.misses) return Failure{*alone.misses, alone.excess};
    return std::nullopt;
}

bool CopiesUnderLoad::keeps_up(std::int64_t copies, std::int64_t limit, double time_scale) {
    return *request_.rate * time_scale <= sustained_tolerance * static_cast<double>(copies) * engine_->sustained(limit);
}

std::int64_t CopiesUnderLoad::least_copies() {
    const auto copies = copies_needed(*request_.rate, sustained_tolerance * engine_->sustained(engine_->limits().front()));
    return copies.value_or(most_copies + 1);
}

/// nullptr: fewer requests are finished than arrive, or the interval is not known.
const ObservedLoad* CopiesUnderLoad::observed(std::int64_t copies, std::int64_t limit, Confidence confidence) {
    if (!keeps_up(copies, limit, 1)) return nullptr;
    const ObservedLoad& expected = engine_->under_load(copies, limit, 1);
    if (confidence == Confidence::expected || expected.misses) return &expected;
    const auto scale = engine_->upper_scale(expected.mean_batch);
    return scale && keeps_up(copies, limit, *scale) ? &engine_->under_load(copies, limit, *scale) : nullptr;
}

std::optional<Deployment> CopiesUnderLoad::served(std::int64_t copies, Confidence confidence) {
    std::int64_t most_running = engine_->limits().front() + 1;
    for (const std::int64_t limit : engine_->limits()) {
        if (limit >= most_running) continue;  // a limit that was never reached is as good as none
        const ObservedLoad* seen = observed(copies, limit, confidence);
        if (seen == nullptr) continue;
        if (!seen->misses) return deployment(copies, limit, *seen);
        most_running = std::min(most_running, seen->most_running);
    }
    return std::nullopt;
}

Shortfall CopiesUnderLoad::shortfall(std::int64_t copies, Confidence confidence) {
    const ObservedLoad* seen = observed(copies, engine_->limits().front(), confidence);
    return {.copies = copies, .misses = seen == nullptr ? std::nullopt : seen->misses};
}

Deployment CopiesUnderLoad::deployment(std::int64_t copies, std::int64_t limit, const ObservedLoad& seen) {
    Deployment d{.parallel = settings_.parallel, .precision = settings_.format.precision};
    d.parallel.data = copies;
    d.weights = run_of_copy(workload_, request_, settings_, 1).weight_format();
    d.batch = limit;
    d.ttft = seen.ttft;
    d.tpot = seen.tpot;
    d.latency = seen.latency;
    d.requests = seen.requests;
    price(d, contestant_, request_, engine_->sustained(limit));
    return d;
}

}  // namespace roofcast
