#include "fuzz/oracle.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "fuzz/input.hpp"
#include "roofcast/execution.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast::fuzz {

namespace {

struct Machine {
    SoftwareStacks software = load_software(source_dir() / "software");
    Gpu gpu = load_gpu(source_dir() / "gpus", "h100-sxm");
};

/// Read once and never changed.
const Machine& machine() {
    static const Machine one;
    return one;
}

std::optional<Prediction> predicted(const Workload& workload, Execution execution, std::int64_t batch) {
    Run request;
    request.batch = batch;
    request.precision = default_precision(workload, machine().gpu.profile);
    request.execution = execution;
    try {
        return predict(workload, machine().gpu, request, machine().software);
    } catch (const Error&) {
        return std::nullopt;
    }
}

void require_figure(const char* figure, double value) {
    require(std::isfinite(value) && value >= 0, fmt::format("{} is {}", figure, value));
}

void require_figures(const Prediction& p) {
    require_figure("latency", p.latency.in(us));
    require_figure("throughput", p.items_per_second);
    require_figure("memory", p.memory.total().in(byte));
    require_figure("TTFT", p.ttft.value_or(Seconds{}).in(us));
    require_figure("TPOT", p.tpot.value_or(Seconds{}).in(us));
    for (const Phase& phase : p.phases) {
        require_figure("time of a phase", phase.latency.in(us));
        for (const TimedOp& op : phase.timeline.ops) {
            require_figure("time of an operator", op.time.in(us));
            require_figure("traffic of an operator", op.kernel.dram_bytes.in(byte));
            require_figure("FLOPs of an operator", op.kernel.flops.in(flop));
        }
    }
}

}  // namespace

void require_sound_runs(const Workload& workload) {
    // Twice the work may run in other kernels and tiles, which are sometimes better ones: by at most this much.
    constexpr double better_kernels = 0.7;
    for (const Execution execution : {Execution::cuda_graph, Execution::eager}) {
        const auto one = predicted(workload, execution, 1), two = predicted(workload, execution, 2);
        if (one) require_figures(*one);
        if (two) require_figures(*two);
        if (!one || !two || !one->withheld.empty()) continue;
        require(two->latency >= better_kernels * one->latency,
                fmt::format("latency falls from {} us at batch 1 to {} us at batch 2", one->latency.in(us), two->latency.in(us)));
        require(two->memory.total() >= one->memory.total() * (1 - 1e-9), "memory falls from batch 1 to batch 2");
    }
}

}  // namespace roofcast::fuzz
