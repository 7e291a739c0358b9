#include "report/explain_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

/// Prefixes of the parameters that an operator class uses: its own and what all share.
bool used_by(const std::string& parameter, const std::set<std::string>& classes, MathUnit unit) {
    const std::string group = parameter.substr(0, parameter.find('.'));
    if (group == "gemm") return classes.contains("gemm") && parameter.starts_with(fmt::format("gemm.{}.", name(unit)));
    const bool is_operator_class =
        std::set<std::string>{"attention", "conv2d", "elementwise", "rowwise", "embedding", "reduce", "move", "moe", "collective", "copy"}
            .contains(group);
    return !is_operator_class || classes.contains(group);
}

/// Operator classes by parameter group.
std::string parameter_group(const Op& op) {
    if (std::holds_alternative<RowWise>(op)) return "rowwise";
    if (std::holds_alternative<Collective>(op)) return "collective";
    if (std::holds_alternative<Copy>(op)) return "copy";
    return std::string(op_class(op));
}

}  // namespace

Table costliest_operators(const Phase& phase, const GpuProfile& gpu) {
    Table table{.title = fmt::format("{}: costliest operators (one run each: compute, DRAM, L2, latency in us)", phase.name)};
    table.columns = {{"operator", "operator"},
                     {"op", "op"},
                     {"runs", "runs"},
                     {"time_us", "time us"},
                     {"share_percent", "share %", 3},
                     {"compute_us", "compute"},
                     {"dram_us", "DRAM"},
                     {"l2_us", "L2"},
                     {"latency_us", "latency"},
                     {"power_us", "power"},
                     {"communication_us", "comm."},
                     {"bound", "bound"},
                     {"bandwidth_percent", "% of bandwidth", 3},
                     {"gflops_achieved", "GFLOPS"}};
    const auto groups = grouped(phase.timeline);
    Seconds all;
    for (const Group& group : groups) all += group.time;
    for (std::size_t i = 0; i < std::min(groups_shown, groups.size()); ++i) {
        const Group& g = groups[i];
        const KernelCost& k = g.costliest;
        const bool timed = k.total > Seconds{};
        table.rows.push_back({g.name, g.op, g.runs, g.time.in(us), percent(g.time.in(us), all.in(us)), k.compute.in(us), k.dram.in(us),
                              k.l2.in(us), k.launch.in(us), k.power.in(us), k.communication.in(us), std::string(name(k.bound)),
                              timed ? percent((k.dram_bytes / k.total).in(gpu.bandwidth), 1) : 0.0,
                              timed ? (k.flops / k.total).in(gflops) : 0.0});
    }
    return table;
}

Table fused_operators(const Phase& phase) {
    Table table{.title = fmt::format("{}: fused operators", phase.name),
                .columns = {{"operator", "operator"}, {"into", "into"}, {"times", "times"}}};
    std::map<std::pair<std::string, std::string>, std::int64_t> counts;
    for (const FusedOp& f : phase.timeline.fused) counts[{std::string(f.node), std::string(f.into)}] += f.count;
    for (const auto& [pair, count] : counts) table.rows.push_back({pair.first, pair.second, count});
    return table;
}

Table used_parameters(const std::vector<Phase>& phases, const Gpu& gpu, Precision precision) {
    std::set<std::string> classes;
    for (const Phase& phase : phases) {
        for (const TimedOp& op : phase.timeline.ops) classes.insert(parameter_group(op.node->op));
    }
    if (classes.contains("moe") || classes.contains("conv2d")) classes.insert("gemm");
    Table table{
        .title = "parameters",
        .columns = {{"parameter", "parameter"}, {"value", "value"}, {"unit", "unit"}, {"provenance", "provenance"}, {"source", "source"}}};
    const auto& specs = parameter_specs();
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (!used_by(specs[i].name, classes, gpu.profile.math_unit(precision))) continue;
        table.rows.push_back({specs[i].name, specs[i].get(gpu.parameters.values), specs[i].unit,
                              std::string(name(gpu.parameters.provenance.at(i))), gpu.parameters.source.at(i)});
    }
    return table;
}

}  // namespace roofcast
