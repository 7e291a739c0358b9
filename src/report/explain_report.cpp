#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/read_parameters.hpp"
#include "report/run_reports.hpp"

namespace roofcast {

namespace {

constexpr std::size_t groups_shown = 10;

/// The operators of one name.
struct Group {
    Seconds time;
    double runs = 0;
    const TimedOp* costliest = nullptr;
};

/// Those that take longest first.
std::vector<Group> grouped(const Timeline& t) {
    std::map<std::string, Group> groups;
    for (const TimedOp& op : t.ops) {
        if (op.time <= Seconds{}) continue;
        Group& group = groups[op.node->name];
        group.time += op.time;
        group.runs += op.runs;
        if (group.costliest == nullptr || op.time > group.costliest->time) group.costliest = &op;
    }
    std::vector<Group> sorted;
    for (const auto& [name, group] : groups) sorted.push_back(group);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Group& a, const Group& b) { return a.time > b.time; });
    return sorted;
}

/// One run of a kernel: its terms, what bounds it, and the rates that it reaches; these are zero of one without a time.
Fields<KernelCost> kernel_fields(const GpuProfile& gpu) {
    using Kernel = KernelCost;
    const auto rate = [](auto work) { return [work](const Kernel& k) { return k.total > Seconds{} ? work(k) : 0.0; }; };
    return term_fields<Kernel>("latency", 4) +
           Fields<Kernel>{{{"bound", "bound", Show::always}, &Kernel::bound},
                          {{"bandwidth_percent", "% of bandwidth", 3},
                           rate([&gpu](const Kernel& k) { return 100 * (k.dram_bytes / k.total).in(gpu.bandwidth); })},
                          {{"gflops_achieved", "GFLOPS"}, rate([](const Kernel& k) { return (k.flops / k.total).in(gflops); })}};
}

}  // namespace

Table costliest_operators(const Phase& phase, const GpuProfile& gpu) {
    auto groups = grouped(phase.timeline);
    Seconds all;
    for (const Group& group : groups) all += group.time;
    groups.resize(std::min(groups_shown, groups.size()));
    const auto kernel = [](const Group& g) { return &g.costliest->kernel; };
    const Fields<Group> fields{{{"operator", "operator", Show::always}, [](const Group& g) { return g.costliest->node->name; }},
                               {{"op", "op", Show::wide}, [](const Group& g) { return op_class(g.costliest->node->op); }},
                               {{"kernel", "kernel", Show::wide},
                                [kernel](const Group& g) { return kernel(g)->family.empty() ? kernel(g)->algorithm : kernel(g)->family; }},
                               {{"runs", "runs"}, &Group::runs},
                               {{"time_us", "all us", Show::always}, &Group::time, us},
                               {{"share_percent", "% of phase", 3, Show::always},
                                [all](const Group& g) { return all > Seconds{} ? 100 * g.time.in(us) / all.in(us) : 0; }}};
    return table_of(fmt::format("{}: costliest operators (terms of one run)", phase.name), groups,
                    fields + part_fields<Group>(kernel, kernel_fields(gpu)));
}

Table fused_operators(const Phase& phase) {
    std::map<std::pair<std::string, std::string>, std::int64_t> counts;
    for (const FusedOp& f : phase.timeline.fused) counts[{std::string(f.node), std::string(f.into)}] += f.count;
    using Count = std::pair<const std::pair<std::string, std::string>, std::int64_t>;
    const Fields<Count> fields{{{"operator", "operator", Show::always}, [](const Count& c) { return c.first.first; }},
                               {{"into", "into", Show::always}, [](const Count& c) { return c.first.second; }},
                               {{"times", "times"}, &Count::second}};
    return table_of(fmt::format("{}: fused operators", phase.name), counts, fields);
}

Table used_parameters(const Prediction& prediction, const Gpu& gpu) {
    std::vector<std::pair<const Op*, const KernelCost*>> kernels;
    for (const Phase& phase : prediction.phases) {
        for (const TimedOp& op : phase.timeline.ops) {
            if (op.time > Seconds{}) kernels.emplace_back(&op.node->op, &op.kernel);
        }
    }
    std::vector<std::size_t> shown = read_parameters(kernels, gpu.profile, prediction.caller);
    std::erase_if(shown, [&](std::size_t i) {
        const ParameterSpec& spec = parameter_specs()[i];
        return (spec.of_machine && spec.get(gpu.parameters.values) == 1) ||
               (spec.name == "collective.pcie_contention" && prediction.pcie != PcieTopology::host);
    });
    return table_of("Parameters that these kernels read", shown, parameter_fields(gpu.parameters));
}

Fields<std::size_t> parameter_fields(const ParameterSet& set) {
    return {{{"parameter", "parameter", Show::always}, [](std::size_t i) { return parameter_specs()[i].name; }},
            {{"value", "value", Show::always}, [&set](std::size_t i) { return parameter_specs()[i].get(set.values); }},
            {{"unit", "unit", Show::always}, [](std::size_t i) { return parameter_specs()[i].unit; }},
            {{"provenance", "provenance"}, [&set](std::size_t i) { return set.provenance.at(i); }},
            {{"source", "source", Show::wide, true}, [&set](std::size_t i) { return set.source.at(i); }}};
}

}  // namespace roofcast
