#include "report/explain_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/read_parameters.hpp"

namespace roofcast {

namespace {

constexpr std::size_t groups_shown = 10;

struct Group {
    std::string name;
    std::string op;
    Seconds time;
    double runs = 0;
    KernelCost costliest;  ///< of one run
    Seconds costliest_time;
};

std::vector<Group> grouped(const Timeline& t) {
    std::map<std::string, Group> groups;
    for (const TimedOp& op : t.ops) {
        if (op.time <= Seconds{}) continue;
        Group& group = groups[op.node->name];
        group.name = op.node->name;
        group.time += op.time;
        group.runs += op.runs;
        if (op.time > group.costliest_time) {
            group.costliest_time = op.time;
            group.costliest = op.kernel;
            group.op = std::string(op_class(op.node->op));
        }
    }
    std::vector<Group> sorted;
    for (auto& [name, group] : groups) sorted.push_back(std::move(group));
    std::stable_sort(sorted.begin(), sorted.end(), [](const Group& a, const Group& b) { return a.time > b.time; });
    return sorted;
}

double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

}  // namespace

Table costliest_operators(const Phase& phase, const GpuProfile& gpu) {
    auto groups = grouped(phase.timeline);
    Seconds all;
    for (const Group& group : groups) all += group.time;
    groups.resize(std::min(groups_shown, groups.size()));
    const auto term = [](Seconds KernelCost::*part) { return [part](const Group& g) { return (g.costliest.*part).in(us); }; };
    const auto if_timed = [](auto value) {
        return [value](const Group& g) { return g.costliest.total > Seconds{} ? value(g.costliest) : 0.0; };
    };
    const Fields<Group> fields{
        {{"operator", "operator", 4, Show::always}, [](const Group& g) { return g.name; }},
        {{"op", "op", 4, Show::wide}, [](const Group& g) { return g.op; }},
        {{"kernel", "kernel", 4, Show::wide},
         [](const Group& g) { return std::string(g.costliest.family.empty() ? g.costliest.algorithm : g.costliest.family); }},
        {{"runs", "runs"}, [](const Group& g) { return g.runs; }},
        {{"time_us", "all us", 4, Show::always}, [](const Group& g) { return g.time.in(us); }},
        {{"share_percent", "% of phase", 3, Show::always}, [all](const Group& g) { return percent(g.time.in(us), all.in(us)); }},
        {{"compute_us", "compute us", 4, Show::wide}, term(&KernelCost::compute)},
        {{"dram_us", "DRAM us", 4, Show::wide}, term(&KernelCost::dram)},
        {{"l2_us", "L2 us", 4, Show::wide}, term(&KernelCost::l2)},
        {{"latency_us", "latency us", 4, Show::wide}, term(&KernelCost::launch)},
        {{"power_us", "power us", 4, Show::wide}, term(&KernelCost::power)},
        {{"communication_us", "comm. us", 4, Show::wide}, term(&KernelCost::communication)},
        {{"bound", "bound", 4, Show::always}, [](const Group& g) { return std::string(name(g.costliest.bound)); }},
        {{"bandwidth_percent", "% of bandwidth", 3},
         if_timed([bandwidth = gpu.bandwidth](const KernelCost& k) { return percent((k.dram_bytes / k.total).in(bandwidth), 1); })},
        {{"gflops_achieved", "GFLOPS"}, if_timed([](const KernelCost& k) { return (k.flops / k.total).in(gflops); })}};
    return table_of<Group>(fmt::format("{}: costliest operators (terms of one run)", phase.name), groups, fields);
}

Table fused_operators(const Phase& phase) {
    Table table{.title = fmt::format("{}: fused operators", phase.name),
                .columns = {{"operator", "operator", 4, Show::always}, {"into", "into", 4, Show::always}, {"times", "times"}},
                .rows = {}};
    std::map<std::pair<std::string, std::string>, std::int64_t> counts;
    for (const FusedOp& f : phase.timeline.fused) counts[{std::string(f.node), std::string(f.into)}] += f.count;
    for (const auto& [pair, count] : counts) table.rows.push_back({pair.first, pair.second, count});
    return table;
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
    return table_of<std::size_t>("Parameters that these kernels read", shown, parameter_fields(gpu.parameters));
}

Fields<std::size_t> parameter_fields(const ParameterSet& set) {
    return {{{"parameter", "parameter", 4, Show::always}, [](std::size_t i) { return std::string(parameter_specs()[i].name); }},
            {{"value", "value", 4, Show::always}, [&set](std::size_t i) { return parameter_specs()[i].get(set.values); }},
            {{"unit", "unit", 4, Show::always}, [](std::size_t i) { return std::string(parameter_specs()[i].unit); }},
            {{"provenance", "provenance"}, [&set](std::size_t i) { return std::string(name(set.provenance.at(i))); }},
            {{"source", "source", 4, Show::wide, true}, [&set](std::size_t i) { return set.source.at(i); }}};
}

}  // namespace roofcast
