#include "prediction/interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "prediction/interval_table.hpp"
#include "prediction/phase_fractions.hpp"

namespace roofcast {

namespace {

constexpr double enough_of_the_time = 0.5;  // of all kernels, that operators known to a fit must take before it may speak for the run

/// Values by hand have intervals without a citation of their own.
constexpr Provenance by_trust[] = {Provenance::user_fit, Provenance::gpu_fit, Provenance::architecture_fit, Provenance::pooled_fit,
                                   Provenance::assumed};

/// One figure: a phase, or the whole run.
struct Figure {
    std::string_view whole;                 ///< class of whole models that measures just this; empty: none
    std::vector<const KnownPhase*> phases;  ///< that it is made of
    std::vector<TimeFraction> by_phase;     ///< the same as classes of whole models
};

struct Found {
    ResidualInterval interval;
    std::string basis;
    Provenance trust = Provenance::assumed;  ///< of the fit that speaks for the figure
};

bool all_known_at(const IntervalTable& intervals, const std::vector<TimeFraction>& fractions, Provenance provenance) {
    return std::all_of(fractions.begin(), fractions.end(),
                       [&](const TimeFraction& s) { return intervals.at(s.op, provenance) != nullptr; });
}

/// A class's fraction of the time, and the interval that speaks for it; nullptr: none.
struct KnownFraction {
    TimeFraction time;
    const ResidualInterval* interval;
    /// Whether a fit as trusted as `provenance`, or more, knows the operator.
    [[nodiscard]] bool known_from(Provenance provenance) const {
        return interval != nullptr && interval->op == time.op && interval->provenance >= provenance;
    }
};

std::vector<KnownFraction> known_fractions(const IntervalTable& intervals, const std::vector<TimeFraction>& fractions) {
    std::vector<KnownFraction> known;
    known.reserve(fractions.size() + 1);
    for (const TimeFraction& fraction : fractions) known.push_back({fraction, intervals.most_trusted(fraction.op)});
    return known;
}

double fraction_known_from(const std::vector<KnownFraction>& fractions, Provenance provenance) {
    double known = 0, all = 0;
    for (const KnownFraction& fraction : fractions) {
        if (fraction.known_from(provenance)) known += fraction.time.fraction;
        all += fraction.time.fraction;
    }
    return all > 0 ? known / all : 0;
}

ResidualInterval combined(const std::vector<KnownFraction>& fractions) {
    double middle = 0, square = 0;
    for (const auto& [time, interval] : fractions) {
        if (interval == nullptr) continue;
        const double half = time.fraction * (interval->upper - interval->lower) / 2;
        middle += time.fraction * (interval->upper + interval->lower) / 2;
        square += half * half;
    }
    return {.op = {}, .lower = middle - std::sqrt(square), .upper = middle + std::sqrt(square)};
}

/// Interval of operators, including the time between them.
ResidualInterval with_assembly(const IntervalTable& intervals, std::vector<KnownFraction> fractions) {
    fractions.push_back({{"assembly", 1}, intervals.most_trusted("assembly")});
    return combined(fractions);
}

/// `shares`: of the figure's phases.
std::optional<Found> found_at(const IntervalTable& intervals, const Figure& figure, const std::vector<KnownFraction>& fractions,
                              Provenance provenance) {
    if (!figure.whole.empty()) {
        if (const auto* whole = intervals.at(figure.whole, provenance))
            return Found{.interval = *whole, .basis = "whole models of this kind, " + whole->basis};
    }
    if (!figure.by_phase.empty() && all_known_at(intervals, figure.by_phase, provenance)) {
        const std::string basis = intervals.at(figure.by_phase.front().op, provenance)->basis;
        return Found{.interval = combined(known_fractions(intervals, figure.by_phase)), .basis = "whole models of this kind, " + basis};
    }
    if (provenance < Provenance::pooled_fit) return std::nullopt;
    if (fraction_known_from(fractions, provenance) < enough_of_the_time) return std::nullopt;
    const auto weight = [&](const KnownFraction& s) { return s.known_from(provenance) ? s.time.fraction : 0.0; };
    const auto largest = std::max_element(fractions.begin(), fractions.end(),
                                          [&](const KnownFraction& a, const KnownFraction& b) { return weight(a) < weight(b); });
    return Found{.interval = with_assembly(intervals, fractions), .basis = "operators, " + largest->interval->basis};
}

std::optional<Found> find(const IntervalTable& intervals, const Figure& figure) {
    const std::vector<KnownFraction> fractions = known_fractions(intervals, fractions_of(figure.phases));
    for (const Provenance p : by_trust) {
        if (auto found = found_at(intervals, figure, fractions, p)) {
            found->trust = p;
            return found;
        }
    }
    if (intervals.empty()) return std::nullopt;
    return Found{.interval = with_assembly(intervals, fractions), .basis = "operators, defaults"};
}

std::string_view phase_family(const Phase& phase, const Workload& workload) {
    return phase.name == "vision" ? std::string_view("vit") : std::string_view(workload.family);
}

/// Figure over the given phases: all of a run, those before the first token, or decode alone.
Figure figure_of(std::vector<const KnownPhase*> phases, const Workload& workload) {
    Figure figure{.whole = {}, .phases = std::move(phases), .by_phase = {}};
    double total = 0;
    std::size_t decodes = 0;
    for (const KnownPhase* known : figure.phases) total += known->phase->latency.in(s);
    if (!(total > 0)) return figure;
    figure.by_phase.reserve(figure.phases.size());
    for (const KnownPhase* known : figure.phases) {
        const Phase& phase = *known->phase;
        const bool decode = is_decode(phase);
        decodes += decode ? 1 : 0;
        figure.by_phase.push_back(
            {model_class(phase_family(phase, workload), decode ? "decode" : std::string_view(phase.name)), phase.latency.in(s) / total});
    }
    if (decodes == figure.phases.size() || figure.phases.size() == 1) {
        figure.whole = figure.by_phase.front().op;
    } else if (decodes > 0) {
        figure.whole = model_class(workload.family, "generate");
    }
    return figure;
}

/// Ratio of two parts with independent errors; the first takes `fraction` of the time.
IntervalRatio of_parts(const IntervalRatio& a, double fraction, const IntervalRatio& b) {
    const LogInterval first = logarithmic(a), second = logarithmic(b);
    return ratio(LogInterval{.middle = fraction * first.middle + (1 - fraction) * second.middle,
                             .half = std::hypot(fraction * first.half, (1 - fraction) * second.half)});
}

/// Name of what `key` of a profile leaves to assumption, among the intervals: "assumed_l2_mib"; all rates of arithmetic are one kind.
std::string assumption_class(const std::string& key) {
    const std::string name = key.substr(key.rfind('.') + 1);
    return std::string("assumed_") + (name.ends_with("_tflops") || name.ends_with("_tops") ? "tflops" : name);
}

/// What the values that `gpu` does not state leave open, each kind of value once. Kinds without an entry change no time.
LogInterval left_to_assumption(const Gpu& gpu) {
    std::set<std::string> kinds;
    for (const Assumption& a : gpu.profile.assumed) kinds.insert(assumption_class(a.key));
    if (kinds.empty()) return {};
    const IntervalTable intervals(gpu.parameters);
    LogInterval sum;
    for (const std::string& kind : kinds) {
        const ResidualInterval* known = intervals.at(kind, Provenance::assumed);
        if (known == nullptr) continue;
        sum.middle += (known->upper + known->lower) / 2;
        sum.half = std::hypot(sum.half, (known->upper - known->lower) / 2);
    }
    return sum;
}

/// `factor` combined with the independent error `other`.
IntervalRatio widened(const IntervalRatio& factor, const LogInterval& other) {
    if (other.half == 0) return factor;
    const LogInterval own = logarithmic(factor);
    return ratio(LogInterval{.middle = own.middle + other.middle, .half = std::hypot(own.half, other.half)});
}

/// The least time of `phases` over the predicted one, at most 1: the figure stays within its interval.
double least_ratio(const std::vector<const KnownPhase*>& phases) {
    Seconds least, predicted;
    for (const KnownPhase* known : phases) {
        least += known->floor;
        predicted += known->phase->latency;
    }
    return predicted > Seconds{} ? std::min(1.0, least / predicted) : 0;
}

/// GPUs that a fit left out may all lie to one side of what it predicts of them. The figure that a reader sees stays within its interval.
IntervalRatio about_one(const IntervalRatio& factor) {
    return {std::min(factor.low, 1.0), std::max(factor.high, 1.0)};
}

}  // namespace

std::string_view model_class(std::string_view family, std::string_view phase) {
    if (family == "llm" || family == "vlm") {
        return phase == "decode" ? "model_llm_decode" : phase == "generate" ? "model_llm_generate" : "model_llm_prefill";
    }
    if (family == "vit" || family == "swin" || family == "hybrid") return "model_vit";
    return family == "encoder" ? "model_encoder" : family == "cnn" ? "model_cnn" : family == "detector" ? "model_detector" : "model_other";
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

ResidualInterval combined(const ParameterSet& parameters, const std::vector<TimeFraction>& fractions) {
    const IntervalTable intervals(parameters);
    return combined(known_fractions(intervals, fractions));
}

std::optional<PredictionIntervals> prediction_intervals(const Prediction& p, const Workload& workload, const Gpu& device,
                                                        const GpuProfile& used) {
    const IntervalTable intervals(device.parameters);
    if (intervals.empty() || p.phases.empty() || !p.withheld.empty()) return std::nullopt;
    std::vector<KnownPhase> known;
    known.reserve(p.phases.size());
    std::vector<const KnownPhase*> all, before_first_token, decode;
    all.reserve(p.phases.size());
    for (const Phase& phase : p.phases) {
        all.push_back(&known.emplace_back(known_phase(phase, used, p.request.parallel)));
        (is_decode(phase) ? decode : before_first_token).push_back(all.back());
    }
    const auto whole = find(intervals, figure_of(all, workload));
    if (!whole) return std::nullopt;
    const LogInterval assumed = left_to_assumption(device);
    // Rows of the GPU itself were measured on what it is, whatever its profile leaves out.
    const auto shown = [&](const Found& found) {
        return about_one(widened(ratio(found.interval), found.trust == Provenance::gpu_fit ? LogInterval{} : assumed));
    };
    PredictionIntervals result{.latency = shown(*whole), .ttft = {}, .tpot = {}, .basis = whole->basis};
    if (p.ttft) {
        if (const auto first = find(intervals, figure_of(before_first_token, workload))) result.ttft = shown(*first);
        const auto step = decode.empty() ? std::nullopt : find(intervals, figure_of(decode, workload));
        if (step) result.tpot = shown(*step);
    }
    if (result.ttft && result.tpot) {
        // Whole requests were measured of other engines and batches than the one asked about: they widen what the parts say, no more.
        const IntervalRatio parts = of_parts(*result.ttft, *p.ttft / p.latency, *result.tpot);
        result.latency = {std::min(result.latency.low, parts.low), std::max(result.latency.high, parts.high)};
    }
    const auto above_floor = [](IntervalRatio& factor, const std::vector<const KnownPhase*>& phases) {
        factor.low = std::max(factor.low, least_ratio(phases));
    };
    above_floor(result.latency, all);
    if (result.ttft) above_floor(*result.ttft, before_first_token);
    if (result.tpot) above_floor(*result.tpot, decode);
    return result;
}

}  // namespace roofcast
