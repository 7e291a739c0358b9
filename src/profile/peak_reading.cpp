#include "profile/peak_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr double most_distance = 4;    ///< standard deviations within which a GPU is one of its class
constexpr double sure_enough = 0.9;    ///< of all weight, to take a reading without asking
constexpr double same_gpu = 0.02;      ///< deviation of figures of one GPU between two sources
constexpr double same_clock = 0.03;    ///< the same for clocks, which makers of GPUs change
constexpr double same_watts = 0.1;     ///< and of board power
constexpr double same_outcome = 0.1;   ///< fp32 peaks closer than this come to the same
constexpr double other_memory = 0.02;  ///< prior of GPUs that have another kind of memory than all known ones

struct WeightedReading {
    PeakReading reading;
    double prior;
};

/// Vendors head their sheets with the fp16 or the fp32 peak, less often with the others.
std::vector<WeightedReading> readings_of(const StatedFigures& stated) {
    if (const auto p = stated.precision)
        return {{{.name = fmt::format("{}, dense{}", name(*p), *p == Precision::fp16 ? ", fp32 accumulation" : ""), .precision = *p}, 1}};
    return {{{.name = "fp16, dense, fp32 accumulation"}, 1},
            {{.name = "fp32", .precision = Precision::fp32}, 1},
            {{.name = "fp16, dense, fp16 accumulation", .fp16_accumulation = true}, 0.5},
            {{.name = "fp16, sparse, fp32 accumulation", .sparse = true}, 0.5},
            {{.name = "fp16, sparse, fp16 accumulation", .fp16_accumulation = true, .sparse = true}, 0.25}};
}

/// What GPUs of a class tell about a figure, worked out once.
struct Expected {
    explicit Expected(const GpuClass& c)
        : fp32(c.fp32_tflops()),
          bandwidth(c.bandwidth_per_tflops()),
          capacity(c.capacity_per_tflops()),
          watts(c.watts_per_tflops()),
          clock(c.clock_mhz()) {
        for (const GpuProfile& b : c.gpus) memory_kinds.insert(b.memory_type.substr(0, b.memory_type.find_first_of("0123456789")));
    }
    LogNormal fp32, bandwidth, capacity, watts, clock;
    std::set<std::string> memory_kinds;
};

struct Hypothesis {
    const GpuClass* gpus;
    const PeakReading* reading;
    const GpuProfile* same;  ///< nullptr: another board of the class
    double fp32_tflops, log_weight;
    double sms;
};

/// Clock that an fp32 peak implies on the SMs that are stated.
double clock_on(const StatedFigures& stated, double fp32_tflops, double units) {
    return fp32_tflops * tflops.value / (2 * units * static_cast<double>(stated.sm_count) * mhz.value);
}

/// `watts`, wider where `value` is below the usual one: laptops and power-capped boards draw less with the same chip, so that little power
/// says less than much. Decision 801.
LogNormal widened_below(const LogNormal& watts, double value) {
    constexpr double wider = 2;  // 1, 1.5, 3, 4 and 8 tried
    return std::log(value) < watts.mean ? LogNormal{watts.mean, watts.deviation * wider} : watts;
}

/// Log density of the stated figures other than the peak for a GPU of the class; nullopt if they are too far from all of them.
std::optional<double> density_in_class(const StatedFigures& stated, const Expected& expected, double fp32, double units) {
    double sum = expected.fp32.log_density(fp32);
    double furthest = expected.fp32.distance(fp32);
    const auto weigh = [&](const LogNormal& figure, double value) {
        sum += figure.log_density(value);
        furthest = std::max(furthest, figure.distance(value));
    };
    weigh(expected.bandwidth, stated.bandwidth.in(gb_per_s) / fp32);
    if (stated.capacity) weigh(expected.capacity, stated.capacity->in(gib) / fp32);
    if (const double watts = stated.tdp.in(watt) / fp32; watts > 0) weigh(widened_below(expected.watts, watts), watts);
    if (stated.fp32) weigh(LogNormal{std::log(fp32), same_clock}, stated.fp32->in(tflops));
    if (stated.sm_count > 0) weigh(expected.clock, clock_on(stated, fp32, units));
    if (stated.boost_clock > Hertz{}) {
        const double boost = stated.boost_clock.in(mhz);
        weigh(stated.sm_count > 0 ? LogNormal{std::log(boost), same_clock} : expected.clock,
              stated.sm_count > 0 ? clock_on(stated, fp32, units) : boost);
    }
    if (furthest > most_distance) return std::nullopt;
    return sum;
}

/// The same for `GPU` itself, which is one of `of` equally probable ones.
std::optional<double> density_around(const GpuProfile& known, const StatedFigures& stated, double peak_tflops, std::size_t of) {
    double sum = -std::log(static_cast<double>(of)), furthest = 0;
    const auto weigh = [&](double value, double expected, double deviation) {
        const LogNormal figure{std::log(expected), deviation};
        sum += figure.log_density(value);
        furthest = std::max(furthest, figure.distance(value));
    };
    weigh(stated.peak.in(tflops), peak_tflops, same_gpu);
    weigh(stated.bandwidth.in(gb_per_s), known.bandwidth.in(gb_per_s), same_gpu);
    if (stated.capacity) weigh(stated.capacity->in(gib), known.capacity->in(gib), same_gpu);
    if (stated.fp32) weigh(stated.fp32->in(tflops), known.vector_peak[index(Precision::fp32)]->in(tflops), same_gpu);
    if (stated.tdp > Watts{}) weigh(stated.tdp.in(watt), known.tdp.in(watt), same_watts);
    if (stated.sm_count > 0) weigh(static_cast<double>(stated.sm_count), static_cast<double>(known.sm_count), same_gpu);
    if (stated.boost_clock > Hertz{}) weigh(stated.boost_clock.in(mhz), known.boost_clock.in(mhz), same_clock);
    if (furthest > most_distance) return std::nullopt;
    return sum;
}

/// Median over the GPUs of a class of a reading's peak to the fp32 peak; nullopt when none has it.
std::optional<double> ratio_to_fp32(const GpuClass& c, const PeakReading& reading) {
    std::vector<double> ratios;
    for (const GpuProfile& b : c.gpus) {
        if (const auto peak = peak_of(b, reading)) ratios.push_back(*peak / *b.vector_peak[index(Precision::fp32)]);
    }
    if (ratios.empty()) return std::nullopt;
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    return *middle;
}

void add_hypotheses(std::vector<Hypothesis>& all, const StatedFigures& stated, const GpuClass& c, const WeightedReading& r) {
    const auto ratio = ratio_to_fp32(c, r.reading);
    if (!ratio) return;
    const Expected expected(c);
    const std::string kind = stated.memory_type.substr(0, stated.memory_type.find_first_of("0123456789"));
    const double prior = std::log(r.prior * (kind.empty() || expected.memory_kinds.count(kind) > 0 ? 1 : other_memory));
    const double units = c.gpus.front().fp32_units_per_sm;
    const double fp32 = stated.peak.in(tflops) / *ratio;
    const double sms = fp32 * tflops.value / (2 * units * expected.clock.typical() * mhz.value);
    if (const auto density = density_in_class(stated, expected, fp32, units))
        all.push_back({&c, &r.reading, nullptr, fp32, prior + *density, stated.sm_count > 0 ? static_cast<double>(stated.sm_count) : sms});
    for (const GpuProfile& known : c.gpus) {
        const auto peak = peak_of(known, r.reading);
        if (!peak) continue;
        const double own = known.vector_peak[index(Precision::fp32)]->in(tflops) * (stated.peak / *peak);
        if (const auto density = density_around(known, stated, peak->in(tflops), c.gpus.size()))
            all.push_back({&c, &r.reading, &known, own, prior + *density, static_cast<double>(known.sm_count)});
    }
}

bool alike(const Hypothesis& a, const Hypothesis& b) {
    return a.gpus == b.gpus && std::abs(std::log(a.fp32_tflops / b.fp32_tflops)) < same_outcome;
}

std::string described(const Hypothesis& h) {
    const GpuProfile& known = h.gpus->gpus.front();
    std::string of = known.compute_capability
                         ? fmt::format("compute capability {}.{}", known.compute_capability->major, known.compute_capability->minor)
                         : known.architecture;
    if (h.gpus->half_rate) of += ", GeForce";
    return fmt::format("{} ({:.0f} SMs, {})", h.reading->name, h.sms, of);
}

/// The keys that tell `a` from `b`.
std::string settling_keys(const Hypothesis& a, const Hypothesis& b) {
    std::vector<std::string> keys;
    const auto capability = [](const Hypothesis& h) { return h.gpus->gpus.front().compute_capability; };
    const auto plain = [](const PeakReading& r) { return !r.sparse && !r.fp16_accumulation; };
    if (capability(a) != capability(b)) keys.emplace_back("compute_capability");
    if (a.gpus->half_rate != b.gpus->half_rate) keys.emplace_back("consumer (true for GeForce)");
    if (a.reading->precision != b.reading->precision && plain(*a.reading) && plain(*b.reading))
        keys.push_back(fmt::format("compute_precision (\"{}\" or \"{}\")", name(a.reading->precision), name(b.reading->precision)));
    else if (a.reading != b.reading)
        keys.emplace_back("the dense figure with compute_precision = \"fp16\"");
    keys.emplace_back("compute.sm_count or compute.fp32_tflops");
    return fmt::format("{}", fmt::join(keys, ", or "));
}

}  // namespace

std::optional<FlopsPerSecond> peak_of(const GpuProfile& gpu, const PeakReading& reading) {
    const std::size_t p = index(reading.precision);
    const bool on_tensor = gpu.facts.tensor_ratio[p] > 0 && gpu.tensor_peak[p];
    const auto& dense = reading.fp16_accumulation ? gpu.fp16_accumulate_peak : on_tensor ? gpu.tensor_peak[p] : gpu.vector_peak[p];
    if (!dense) return std::nullopt;
    if (!reading.sparse) return dense;
    if (gpu.facts.sparse_ratio <= 1 || !on_tensor) return std::nullopt;
    return gpu.facts.sparse_ratio * *dense;
}

std::optional<ReadPeak> read_peak(const StatedFigures& stated, const std::vector<GpuClass>& classes) {
    const std::vector<WeightedReading> readings = readings_of(stated);
    std::vector<Hypothesis> all;
    for (const GpuClass& c : classes) {
        if (stated.consumer && *stated.consumer != c.half_rate) continue;
        for (const WeightedReading& r : readings) add_hypotheses(all, stated, c, r);
    }
    if (all.empty()) return std::nullopt;
    const auto lighter = [](const Hypothesis& a, const Hypothesis& b) { return a.log_weight < b.log_weight; };
    const Hypothesis best = *std::max_element(all.begin(), all.end(), lighter);
    double same_weight = 0, total = 0;
    const Hypothesis* rival = nullptr;
    for (const Hypothesis& h : all) {
        const double weight = std::exp(h.log_weight - best.log_weight);
        total += weight;
        if (alike(h, best))
            same_weight += weight;
        else if (rival == nullptr || rival->log_weight < h.log_weight)
            rival = &h;
    }
    if (rival != nullptr && same_weight < sure_enough * total)
        throw Error({.what = fmt::format("{:g} has two readings that fit known GPUs about equally well", stated.peak.in(tflops)),
                     .key = "compute_tflops",
                     .found = fmt::format("{}, or {}", described(best), described(*rival)),
                     .suggestion = "choose one: give " + settling_keys(best, *rival)});
    ReadPeak read{*best.reading, *best.gpus, std::nullopt};
    if (best.same != nullptr) read.same = *best.same;
    return read;
}

}  // namespace roofcast
