#include "roofcast/physical_floor.hpp"

#include <algorithm>

#include "kernels/work.hpp"
#include "roofcast/kernel_cost.hpp"

namespace roofcast {

namespace {

/// The peak of GEMMs of `p` that accumulate in fp16; absent where that is no faster.
std::optional<FlopsPerSecond> accumulate_peak(const GpuProfile& gpu, Precision p) {
    if (p == Precision::fp16) return gpu.fp16_accumulate_peak;
    // GEMMs with block scales reach it too, though they accumulate in fp32 (cuBLASLt on GeForce Blackwell).
    if (p == Precision::fp8) return gpu.fp8_accumulate_peak;
    return std::nullopt;
}

/// The fastest rate at which GEMMs of `p` can run at the sustained clock, fp16 accumulation included. None when the GPU has no
/// such unit.
std::optional<FlopsPerSecond> fastest_peak(const GpuProfile& gpu, Precision p) {
    auto peak = gpu.matmul_peak(p);
    if (const auto faster = accumulate_peak(gpu, p); peak && faster) peak = max(*peak, *faster);
    return peak ? std::optional(*peak * gpu.clock_headroom()) : peak;
}

/// Time of `flops` at the peak; zero when the peak is not known.
Seconds arithmetic_floor(Flops flops, std::optional<FlopsPerSecond> peak) {
    return peak ? flops / *peak : Seconds{};
}

/// A working set of the L2's size may have been left there by the call before, whatever the row says about the cache: rotated buffers of
/// some benchmarks are smaller than the L2 of newer GPUs.
Seconds traffic_floor(Bytes bytes, const GpuProfile& gpu) {
    return max(Bytes{}, bytes - gpu.l2) / gpu.bandwidth;
}

/// What bounds an operator: that of a model may find its tensors on the chip.
enum class Counted { gemms, products_and_traffic };

struct Floor {
    const GpuProfile& gpu;
    const Op& any;
    Counted counted = Counted::products_and_traffic;

    Seconds operator()(const Gemm& op) const { return gemms(op.precision); }
    Seconds operator()(const Moe& op) const {
        // Measurements do not say whether experts are gated; without a gate two of three matrices are left.
        Moe plain = op;
        plain.gated = false;
        const Op least = plain;
        return max(arithmetic_floor(op_flops(least), fastest_peak(gpu, op.precision)), traffic(least));
    }
    Seconds operator()(const Attention& op) const {
        // With an 8-bit cache the GEMMs may run in 8 bits as well.
        const Precision gemms = op.gemm_precision == Precision::tf32 ? Precision::tf32 : op.precision;
        const auto peak = fastest_peak(gpu, gemms), cache_peak = fastest_peak(gpu, op.kv_precision);
        return max(arithmetic_floor(op_flops(any), peak && cache_peak ? max(*peak, *cache_peak) : peak), traffic());
    }
    Seconds operator()(const Conv2d& op) const {
        const auto filter = static_cast<double>(op.kernel_h * op.kernel_w);
        return max(arithmetic_floor(op_flops(any) / filter, fastest_peak(gpu, op.precision)), traffic());
    }
    Seconds operator()(const Elementwise&) const { return traffic(); }
    Seconds operator()(const RowWise&) const { return traffic(); }
    Seconds operator()(const Embedding&) const { return traffic(); }
    Seconds operator()(const Reduce&) const { return traffic(); }
    Seconds operator()(const Move&) const { return traffic(); }
    Seconds operator()(const Collective&) const { return {}; }
    Seconds operator()(const Copy&) const { return {}; }
    Seconds operator()(const Quantize&) const { return traffic(); }
    Seconds operator()(const CausalConvolution&) const { return traffic_in_place(); }
    Seconds operator()(const Recurrence&) const { return traffic_in_place(); }
    Seconds operator()(const HyperConnection&) const { return traffic(); }
    Seconds operator()(const IndexScores&) const { return traffic(); }
    Seconds operator()(const TopK&) const { return traffic(); }
    Seconds operator()(const SparseAttention& op) const {
        const auto peak = fastest_peak(gpu, op.precision), cache_peak = fastest_peak(gpu, op.kv_precision);
        return max(arithmetic_floor(op_flops(any), peak && cache_peak ? max(*peak, *cache_peak) : peak), traffic());
    }
    Seconds operator()(const Unmodelled&) const { return {}; }

private:
    [[nodiscard]] Seconds traffic() const { return traffic(any); }
    [[nodiscard]] Seconds traffic(const Op& op) const {
        return counted == Counted::gemms ? Seconds{} : traffic_floor(compulsory_bytes(op), gpu);
    }
    /// What is updated in place is read and written where L2 holds it.
    [[nodiscard]] Seconds traffic_in_place() const {
        return counted == Counted::gemms ? Seconds{} : traffic_floor(max(Bytes{}, compulsory_bytes(any) - gpu.l2), gpu);
    }
    [[nodiscard]] Seconds gemms(Precision p) const { return max(arithmetic_floor(op_flops(any), fastest_peak(gpu, p)), traffic()); }
};

/// What one run of `node` reads that no earlier operator of the pass wrote: weights, and what the KV cache holds of earlier passes.
Bytes unavoidable_reads(const OpNode& node) {
    if (const auto* gemm = std::get_if<Gemm>(&node.op)) return node.weights * gemm->weight_bits / 8 * byte;
    if (const auto* moe = std::get_if<Moe>(&node.op)) {
        if (moe->expert_parallel > 1) return {};  // all tokens may choose experts of other ranks
        const double expert = 2 * real(moe->hidden) * real(moe->intermediate) / real(moe->tensor_parallel);
        return real(std::min(moe->top_k, moe->experts)) * expert * moe->weight_bits / 8 * byte;
    }
    const auto* attention = std::get_if<Attention>(&node.op);
    if (attention == nullptr || !attention->cached) return {};
    const std::int64_t earlier = attention->kv_len - attention->query_len;
    const double keys = real(attention->window > 0 ? std::min(earlier, attention->window - 1) : earlier);
    return real(attention->batch) * real(attention->kv_heads) * keys * cached_width(*attention) * element_size(attention->kv_precision);
}

}  // namespace

Seconds physical_floor(const Op& op, const GpuProfile& gpu) {
    return std::visit(Floor{gpu, op}, op);
}

Seconds physical_floor(const OpGraph& graph, const GpuProfile& gpu) {
    Seconds gemms;
    Bytes read = -graph.tied_weights * graph.tied_weight_bits / 8 * byte;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            const double runs = static_cast<double>(segment.repeat * node.repeat);
            gemms += runs * std::visit(Floor{gpu, node.op, Counted::gemms}, node.op);
            read += runs * unavoidable_reads(node);
        }
    }
    return max(gemms, traffic_floor(max(Bytes{}, read), gpu));
}

}  // namespace roofcast
