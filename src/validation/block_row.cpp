#include "validation/block_row.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/terms.hpp"
#include "prediction/pass.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/execution.hpp"
#include "validation/unusable.hpp"

namespace roofcast {

namespace {

Run request_of(const ModelRow& row) {
    Run run;
    run.precision = *row.precision;
    run.batch = row.batch;
    run.weights = row.weights;
    run.kv_precision = row.kv_precision;
    run.execution = row.execution;
    run.software = row.origin.software;
    return run;
}

/// What a kernel takes beyond its start. Starts follow each other or hide behind kernels before them: the host's time holds what is left of
/// them. The block runs again and again: `kept` of its weights are still in L2.
Seconds work_time(const TimedOp& op, const Gpu& gpu, double kept) {
    const Seconds work = max(Seconds{}, op.time - op.runs * op.passes * op.kernel.launch);
    if (kept <= 0 || op.node->weights <= 0 || !std::holds_alternative<Gemm>(op.node->op)) return work;
    const KernelCost cold = cost(op.node->op, gpu, Cache::produced), warm = cost(op.node->op, gpu, Cache::warm);
    const Seconds cold_work = cold.total - cold.launch, warm_work = max(Seconds{}, warm.total - warm.launch);
    if (cold_work <= Seconds{}) return work;
    return work * (1 - kept + kept * std::min(1.0, warm_work / cold_work));
}

}  // namespace

ModelEstimate block_estimate(const ModelRow& row, const Workload& workload, const Gpu& device, const SoftwareStacks& software,
                             const HostDescriptions& hosts) {
    const DecoderLlm* model = language_model(workload);
    if (model == nullptr) throw unusable(fmt::format("model '{}' is not a language model with attention layers", row.model));
    const Run run = request_of(row);
    require_precision(device.profile, run.precision);
    const HostStack* host = host_of(hosts.stacks, row);
    if (host == nullptr && row.block->launch_included)
        throw unusable("the time includes launch overhead of a machine that software/hosts.toml does not describe");
    SoftwareStack stack = stack_of(software, run, workload, device.profile.vendor);
    const auto by_framework = [&](const std::string& name) { return host != nullptr && contains(host->framework_kernels, name); };
    if (by_framework(row.block->op_name) || by_framework(row.block->function)) stack.lowering.kernels = KernelSet::framework;
    const Gpu gpu = gpu_of(device, run, stack);
    const OpGraph graph = attention_block_graph(*model, run, stack.lowering, row.block->block);
    const Timeline pass = timeline(graph, gpu, stack);
    if (!pass.complete()) throw unusable(fmt::format("operators without a cost model: {}", pass.unmodelled.front()));
    const double kept = kept_in_l2(weight_size(graph), gpu.profile.l2);
    PredictedTerms terms{.host = pass.host};
    Seconds work, roofline, longest;
    for (const TimedOp& op : pass.ops) {
        const Seconds own = work_time(op, gpu, kept);
        work += own;
        terms.add(op.kernel, op.runs * op.passes);
        roofline += op.runs * datasheet_roofline(op.node->op, gpu.profile, Cache::cold);
        if (op.time <= longest) continue;
        longest = op.time;
        terms.bound = name(op.kernel.bound);
    }
    const HostLaunch launch = host != nullptr ? block_launch(*host, *row.block) : HostLaunch{.floor = {}, .around = {}};
    return {.predicted = with_launch(work, launch).in(ms),
            .roofline = roofline.in(ms),
            .limit = physical_floor(graph, gpu.profile).in(ms),
            .terms = terms};
}

}  // namespace roofcast
