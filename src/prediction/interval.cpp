#include "prediction/interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "roofcast/physical_floor.hpp"

namespace roofcast {

namespace {

constexpr std::string_view model_prefix = "model_", assumption_prefix = "assumed_";
constexpr double enough_of_the_time = 0.5;  // of all kernels, that operators known to a fit must take before it may speak for the run

/// Values by hand have intervals without a citation of their own.
constexpr Provenance by_trust[] = {Provenance::user_fit, Provenance::gpu_fit, Provenance::architecture_fit, Provenance::pooled_fit,
                                   Provenance::assumed};

const ResidualInterval* find_at(const ParameterSet& parameters, std::string_view op, Provenance provenance) {
    const auto last = std::find_if(parameters.intervals.rbegin(), parameters.intervals.rend(), [&](const ResidualInterval& interval) {
        return interval.provenance == provenance && interval.op == op;
    });
    return last == parameters.intervals.rend() ? nullptr : &*last;
}

/// Classes with their shares of the time of `phases`; what the GPU does not spend in kernels belongs to "assembly".
std::vector<TimeShare> shares_of(const std::vector<const Phase*>& phases) {
    std::map<std::string, double> spent;
    double total = 0, kernels = 0;
    for (const Phase* phase : phases) {
        for (const TimedOp& op : phase->timeline.ops) {
            const double time = (phase->passes * op.time).in(s);
            spent[std::string(op_class(op.node->op))] += time;
            kernels += time;
        }
        total += phase->latency.in(s);
    }
    std::vector<TimeShare> shares;
    if (!(total > 0) || !(kernels > 0)) return shares;
    // Operators that overlap, or pipeline stages, take less than their sum.
    const double scale = 1 / std::max(total, kernels);
    for (const auto& [op, time] : spent) shares.push_back({op, time * scale});
    return shares;
}

/// One figure: a phase, or the whole run.
struct Figure {
    std::string whole;                 ///< class of whole models that measures just this; empty: none
    std::vector<const Phase*> phases;  ///< that it is made of
    std::vector<TimeShare> by_phase;   ///< the same as classes of whole models
};

struct Found {
    ResidualInterval interval;
    std::string basis;
    Provenance trust = Provenance::assumed;  ///< of the fit that speaks for the figure
};

bool all_known_at(const ParameterSet& parameters, const std::vector<TimeShare>& shares, Provenance provenance) {
    return std::all_of(shares.begin(), shares.end(), [&](const TimeShare& s) { return find_at(parameters, s.op, provenance) != nullptr; });
}

/// Whether a fit as trusted as `provenance`, or more, knows the operator.
bool known_from(const ParameterSet& parameters, std::string_view op, Provenance provenance) {
    const ResidualInterval* found = find_interval(parameters, op);
    return found != nullptr && found->op == op && found->provenance >= provenance;
}

double share_known_from(const ParameterSet& parameters, const std::vector<TimeShare>& shares, Provenance provenance) {
    double known = 0, all = 0;
    for (const TimeShare& share : shares) {
        if (known_from(parameters, share.op, provenance)) known += share.share;
        all += share.share;
    }
    return all > 0 ? known / all : 0;
}

std::optional<Found> found_at(const ParameterSet& parameters, const Figure& figure, Provenance provenance) {
    if (!figure.whole.empty()) {
        if (const auto* whole = find_at(parameters, figure.whole, provenance))
            return Found{.interval = *whole, .basis = "whole models of this kind, " + whole->basis};
    }
    if (!figure.by_phase.empty() && all_known_at(parameters, figure.by_phase, provenance)) {
        const std::string basis = find_at(parameters, figure.by_phase.front().op, provenance)->basis;
        return Found{.interval = combined(parameters, figure.by_phase), .basis = "whole models of this kind, " + basis};
    }
    if (provenance < Provenance::pooled_fit) return std::nullopt;
    std::vector<TimeShare> shares = shares_of(figure.phases);
    if (share_known_from(parameters, shares, provenance) < enough_of_the_time) return std::nullopt;
    const auto largest = std::max_element(shares.begin(), shares.end(), [&](const TimeShare& a, const TimeShare& b) {
        const auto weight = [&](const TimeShare& s) { return known_from(parameters, s.op, provenance) ? s.share : 0.0; };
        return weight(a) < weight(b);
    });
    const std::string basis = find_interval(parameters, largest->op)->basis;
    shares.push_back({"assembly", 1});
    return Found{.interval = combined(parameters, shares), .basis = "operators, " + basis};
}

std::optional<Found> find(const ParameterSet& parameters, const Figure& figure) {
    for (const Provenance p : by_trust) {
        if (auto found = found_at(parameters, figure, p)) {
            found->trust = p;
            return found;
        }
    }
    if (parameters.intervals.empty()) return std::nullopt;
    std::vector<TimeShare> shares = shares_of(figure.phases);
    shares.push_back({"assembly", 1});
    return Found{.interval = combined(parameters, shares), .basis = "operators, defaults"};
}

/// Passes after the first token: a verification reads all weights for a few tokens, as a decode step does.
bool is_decode(const Phase& phase) {
    return phase.name == "decode" || phase.name == "draft_decode" || phase.name == "verify";
}

std::string_view phase_family(const Phase& phase, const Workload& workload) {
    return phase.name == "vision" ? std::string_view("vit") : std::string_view(workload.family);
}

/// Of the phases given: all of a run, or those before the first token, or decode alone.
Figure figure_of(const std::vector<const Phase*>& phases, const Workload& workload) {
    Figure figure{.whole = {}, .phases = phases, .by_phase = {}};
    double total = 0;
    for (const Phase* phase : phases) total += phase->latency.in(s);
    if (!(total > 0)) return figure;
    for (const Phase* phase : phases)
        figure.by_phase.push_back(
            {model_class(phase_family(*phase, workload), is_decode(*phase) ? "decode" : phase->name), phase->latency.in(s) / total});
    if (std::all_of(phases.begin(), phases.end(), [](const Phase* phase) { return is_decode(*phase); }) || phases.size() == 1) {
        figure.whole = figure.by_phase.front().op;
    } else if (std::any_of(phases.begin(), phases.end(), [](const Phase* phase) { return is_decode(*phase); })) {
        figure.whole = model_class(workload.family, "generate");
    }
    return figure;
}

/// Of two parts with independent errors, the first with the share `share` of the time.
IntervalRatio of_parts(const IntervalRatio& a, double share, const IntervalRatio& b) {
    const LogInterval first = logarithmic(a), second = logarithmic(b);
    return ratio(LogInterval{.middle = share * first.middle + (1 - share) * second.middle,
                             .half = std::hypot(share * first.half, (1 - share) * second.half)});
}

/// Name of what `key` of a profile leaves to assumption, among the intervals: "assumed_l2_mib"; all rates of arithmetic are one kind.
std::string assumption_class(const std::string& key) {
    const std::string name = key.substr(key.rfind('.') + 1);
    return std::string(assumption_prefix) + (name.ends_with("_tflops") || name.ends_with("_tops") ? "tflops" : name);
}

/// What the values that `gpu` does not state leave open, each kind of value once. Kinds without an entry change no time.
LogInterval left_to_assumption(const Gpu& gpu) {
    std::set<std::string> kinds;
    for (const Assumption& a : gpu.profile.assumed) kinds.insert(assumption_class(a.key));
    LogInterval sum;
    for (const std::string& kind : kinds) {
        const ResidualInterval* known = find_at(gpu.parameters, kind, Provenance::assumed);
        if (known == nullptr) continue;
        sum.middle += (known->upper + known->lower) / 2;
        sum.half = std::hypot(sum.half, (known->upper - known->lower) / 2);
    }
    return sum;
}

/// `factor` with the independent error `other` beside it.
IntervalRatio widened(const IntervalRatio& factor, const LogInterval& other) {
    if (other.half == 0) return factor;
    const LogInterval own = logarithmic(factor);
    return ratio(LogInterval{.middle = own.middle + other.middle, .half = std::hypot(own.half, other.half)});
}

/// The least time of `phases` at data-sheet rates over the predicted one, at most 1: the figure stays within its interval. Stages of a
/// pipeline share a prompt, and take turns in decode.
double least_ratio(const std::vector<const Phase*>& phases, const Gpu& gpu, const Parallelism& parallel) {
    Seconds floor, predicted;
    for (const Phase* phase : phases) {
        const Seconds all = phase->passes * physical_floor(phase->graph, gpu.profile);
        floor += is_decode(*phase) ? all : all / static_cast<double>(parallel.pipeline);
        predicted += phase->latency;
    }
    return predicted > Seconds{} ? std::min(1.0, floor / predicted) : 0;
}

/// GPUs that a fit left out may all lie to one side of what it predicts of them. The figure that a reader sees stays within its interval.
IntervalRatio about_one(const IntervalRatio& factor) {
    return {std::min(factor.low, 1.0), std::max(factor.high, 1.0)};
}

}  // namespace

std::string model_class(std::string_view family, std::string_view phase) {
    const std::string prefix(model_prefix);
    if (family == "llm" || family == "vlm") {
        if (phase == "decode" || phase == "generate") return prefix + "llm_" + std::string(phase);
        return prefix + "llm_prefill";
    }
    if (family == "vit" || family == "swin" || family == "hybrid") return prefix + "vit";
    if (family == "encoder" || family == "cnn" || family == "detector") return prefix + std::string(family);
    return prefix + "other";
}

const ResidualInterval* find_interval(const ParameterSet& parameters, std::string_view op) {
    for (const Provenance p : by_trust) {
        if (const auto* found = find_at(parameters, op, p)) return found;
    }
    return op.starts_with(model_prefix) || op == "assembly" ? nullptr : find_at(parameters, "all", Provenance::assumed);
}

IntervalRatio ratio(const ResidualInterval& interval) {
    return {std::exp(interval.lower), std::exp(interval.upper)};
}

LogInterval logarithmic(const IntervalRatio& factor) {
    const double low = std::log(factor.low), high = std::log(factor.high);
    return {(low + high) / 2, (high - low) / 2};
}

IntervalRatio ratio(const LogInterval& interval) {
    return {std::exp(interval.middle - interval.half), std::exp(interval.middle + interval.half)};
}

ResidualInterval combined(const ParameterSet& parameters, const std::vector<TimeShare>& shares) {
    double middle = 0, square = 0;
    for (const TimeShare& share : shares) {
        const ResidualInterval* known = find_interval(parameters, share.op);
        if (known == nullptr) continue;
        const double half = share.share * (known->upper - known->lower) / 2;
        middle += share.share * (known->upper + known->lower) / 2;
        square += half * half;
    }
    return {.op = {}, .lower = middle - std::sqrt(square), .upper = middle + std::sqrt(square)};
}

std::optional<PredictionIntervals> prediction_intervals(const Prediction& p, const Workload& workload, const Gpu& gpu) {
    if (gpu.parameters.intervals.empty() || p.phases.empty() || !p.withheld.empty()) return std::nullopt;
    std::vector<const Phase*> all, before_first_token, decode;
    for (const Phase& phase : p.phases) {
        all.push_back(&phase);
        (is_decode(phase) ? decode : before_first_token).push_back(&phase);
    }
    const auto whole = find(gpu.parameters, figure_of(all, workload));
    if (!whole) return std::nullopt;
    const LogInterval assumed = left_to_assumption(gpu);
    // Rows of the GPU itself were measured on what it is, whatever its profile leaves out.
    const auto shown = [&](const Found& found) {
        return about_one(widened(ratio(found.interval), found.trust == Provenance::gpu_fit ? LogInterval{} : assumed));
    };
    PredictionIntervals result{.latency = shown(*whole), .ttft = {}, .tpot = {}, .basis = whole->basis};
    if (p.ttft) {
        if (const auto first = find(gpu.parameters, figure_of(before_first_token, workload))) result.ttft = shown(*first);
        const auto step = decode.empty() ? std::nullopt : find(gpu.parameters, figure_of(decode, workload));
        if (step) result.tpot = shown(*step);
    }
    if (result.ttft && result.tpot) {
        // Whole requests were measured of other engines and batches than the one asked about: they widen what the parts say, no more.
        const IntervalRatio parts = of_parts(*result.ttft, *p.ttft / p.latency, *result.tpot);
        result.latency = {std::min(result.latency.low, parts.low), std::max(result.latency.high, parts.high)};
    }
    const auto above_floor = [&](IntervalRatio& factor, const std::vector<const Phase*>& phases) {
        factor.low = std::max(factor.low, least_ratio(phases, gpu, p.request.parallel));
    };
    above_floor(result.latency, all);
    if (result.ttft) above_floor(*result.ttft, before_first_token);
    if (result.tpot) above_floor(*result.tpot, decode);
    return result;
}

}  // namespace roofcast
