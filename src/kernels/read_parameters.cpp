#include "kernels/read_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace roofcast {

namespace {

/// Groups of parameters that the kernel models of operators read: "gemm.tensor16", "convolution", …
class UsedGroups {
public:
    UsedGroups(const GpuProfile& gpu, const Caller& caller) : gpu_(gpu), caller_(caller) {}

    void operator()(const Gemm& g) {
        gemm(g.precision, g.weight_bits);
        if (g.dynamic_quantized) add("quantization", g.precision);
    }
    void operator()(const Moe& m) {
        gemm(m.precision, m.weight_bits);
        add("moe");
    }
    void operator()(const Conv2d& c) {
        add("convolution");
        add("streaming");
        if (c.groups > 1 && c.groups == c.in_channels) return;  // depthwise: no GEMM
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
    /// Weights in fewer bits than GEMMs compute with are unpacked first.
    void gemm(Precision precision, double weight_bits) {
        add("gemm", precision);
        if (weight_bits > 0 && weight_bits < 8 * element_size(precision).in(byte)) add("weight_only");
    }

    const GpuProfile& gpu_;
    const Caller& caller_;
    std::set<std::string> groups_;
    std::set<MathUnit> units_{MathUnit::simt};
};

}  // namespace

std::vector<std::size_t> read_parameters(const std::vector<std::pair<const Op*, const KernelCost*>>& kernels, const GpuProfile& gpu,
                                         const Caller& caller) {
    UsedGroups used(gpu, caller);
    for (const auto& [op, cost] : kernels) used.kernel(*op, *cost);
    std::vector<std::size_t> read;
    for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
        if (used.hold(parameter_specs()[i].name)) read.push_back(i);
    }
    return read;
}

}  // namespace roofcast
