#include "prediction/phase_fractions.hpp"

#include <algorithm>

#include "roofcast/physical_floor.hpp"

namespace roofcast {

namespace {

constexpr std::size_t usual_classes = 12;  // of operators in a phase

/// Adds `time` to the class `op` of `spent`.
void add_to(std::vector<TimeFraction>& spent, std::string_view op, double time) {
    const auto known = std::find_if(spent.begin(), spent.end(), [&](const TimeFraction& fraction) { return fraction.op == op; });
    if (known != spent.end()) {
        known->fraction += time;
    } else {
        spent.push_back({op, time});
    }
}

}  // namespace

bool is_decode(const Phase& phase) {
    return phase.name == "decode" || phase.name == "draft_decode" || phase.name == "verify";
}

KnownPhase known_phase(const Phase& phase, const GpuProfile& gpu, const Parallelism& parallel) {
    KnownPhase known{.phase = &phase, .spent = {}, .floor = phase.passes * physical_floor(phase.graph, gpu)};
    known.spent.reserve(usual_classes);
    for (const TimedOp& op : phase.timeline.ops) add_to(known.spent, op_class(op.node->op), (phase.passes * op.time).in(s));
    if (!is_decode(phase)) known.floor = known.floor / static_cast<double>(parallel.pipeline);
    return known;
}

std::vector<TimeFraction> fractions_of(const std::vector<const KnownPhase*>& phases) {
    std::vector<TimeFraction> spent;
    spent.reserve(usual_classes);
    double total = 0, kernels = 0;
    for (const KnownPhase* known : phases) {
        for (const TimeFraction& time : known->spent) {
            add_to(spent, time.op, time.fraction);
            kernels += time.fraction;
        }
        total += known->phase->latency.in(s);
    }
    if (!(total > 0) || !(kernels > 0)) return {};
    // Operators that overlap, or pipeline stages, take less than their sum.
    const double scale = 1 / std::max(total, kernels);
    for (TimeFraction& fraction : spent) fraction.fraction *= scale;
    std::sort(spent.begin(), spent.end(), [](const TimeFraction& a, const TimeFraction& b) { return a.op < b.op; });
    return spent;
}

}  // namespace roofcast
