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

/// Groups of parameters that the kernel models of operators read: "gemm.tensor16", "convolution", …
class UsedGroups {
public:
    UsedGroups(const GpuProfile& gpu, const Caller& caller) : gpu_(gpu), caller_(caller) {}

    void operator()(const Gemm& g) {
        product(g.precision, g.weight_bits);
        if (g.dynamic_quantized) add("quantization", g.precision);
    }
    void operator()(const Moe& m) {
        product(m.precision, m.weight_bits);
        add("moe");
    }
    void operator()(const Conv2d& c) {
        add("convolution");
        add("streaming");
        if (c.groups > 1 && c.groups == c.in_channels) return;  // depthwise: no matrix product
        add("gemm", c.precision);
        if (gpu_.supports(Precision::fp32)) add("gemm", Precision::fp32);  // CUDA cores, where these are faster
    }
    void operator()(const Attention& a) {
        units_.insert(gpu_.math_unit(a.precision));
        if (a.fused) return add(fmt::format("attention.{}", name(cache_format(a, caller_))));
        add("gemm", a.gemm_precision.value_or(a.precision));
        add("streaming");
        add("row_wise");
    }
    void operator()(const RowWise&) { add("row_wise"); }
    void operator()(const Collective&) { add("collective"); }
    void operator()(const Copy&) { add("copy"); }
    void operator()(const Quantize& q) {
        add(fmt::format("quantize.{}", name(q.schedule)));
        add("streaming");
    }
    void operator()(const CausalConvolution& c) { add(c.update ? "causal_convolution.update" : "causal_convolution.prompt"); }
    void operator()(const Recurrence& r) {
        add(r.update ? "recurrence.update" : "recurrence.prompt");
        if (!r.update) add("streaming");
    }
    void operator()(const HyperConnection& h) {
        add(h.kind == HyperConnectionKind::pre ? "hyper_connection.pre" : "hyper_connection.post");
    }
    void operator()(const IndexScores&) { add("index_scores"); }
    void operator()(const TopK&) {
        add("top_k");
        add("streaming");
    }
    void operator()(const SparseAttention& a) { add(a.is_decoding() ? "sparse_attention.decode" : "sparse_attention.prompt"); }
    void operator()(const Unmodelled&) {}
    template <class Streaming>
    void operator()(const Streaming&) {
        add("streaming");
    }

    /// Kernels of engines' libraries read parameters of their own.
    void kernel(const Op& op, const KernelCost& cost) {
        if (cost.algorithm.empty() || cost.algorithm == ring_algorithm) return std::visit(*this, op);
        add("all_reduce");
        if (cost.kernels > 1) add("streaming");  // copies
    }

    /// Board power and what is read from L2 concern all kernels.
    [[nodiscard]] bool hold(const std::string& parameter) const {
        if (parameter.find("_pj_per_flop") != std::string::npos) {
            return std::any_of(units_.begin(), units_.end(),
                               [&](MathUnit unit) { return parameter.starts_with(fmt::format("power.{}_", name(unit))); });
        }
        if (parameter.starts_with("power.") || parameter == "streaming.l2_residency" || parameter == "time_factor.models") return true;
        constexpr std::string_view factor = "time_factor.";
        if (parameter.starts_with(factor)) return groups_.contains(parameter.substr(factor.size()));
        return groups_.contains(parameter.substr(0, parameter.rfind('.')));
    }

private:
    void add(std::string group) { groups_.insert(std::move(group)); }
    void add(std::string_view group, Precision precision) {
        units_.insert(gpu_.math_unit(precision));
        groups_.insert(fmt::format("{}.{}", group, name(gpu_.math_unit(precision))));
    }
    /// Weights in fewer bits than the products compute with are unpacked first.
    void product(Precision precision, double weight_bits) {
        add("gemm", precision);
        if (weight_bits > 0 && weight_bits < 8 * element_size(precision).in(byte)) add("weight_only");
    }

    const GpuProfile& gpu_;
    const Caller& caller_;
    std::set<std::string> groups_;
    std::set<MathUnit> units_{MathUnit::simt};
};

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
    UsedGroups used(gpu.profile, prediction.caller);
    for (const Phase& phase : prediction.phases) {
        for (const TimedOp& op : phase.timeline.ops) {
            if (op.time > Seconds{}) used.kernel(op.node->op, op.kernel);
        }
    }
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
        const ParameterSpec& spec = parameter_specs()[i];
        const bool no_factor = spec.of_machine && spec.get(gpu.parameters.values) == 1;
        const bool no_contention = spec.name == "collective.pcie_contention" && prediction.pcie != PcieTopology::host;
        if (!no_factor && !no_contention && used.hold(spec.name)) shown.push_back(i);
    }
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
