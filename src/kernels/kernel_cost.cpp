#include "roofcast/kernel_cost.hpp"

#include <algorithm>
#include <array>

#include "kernels/collective/links.hpp"
#include "kernels/family.hpp"
#include "kernels/terms.hpp"
#include "kernels/work.hpp"
#include "roofcast/software.hpp"

namespace roofcast {

namespace {

/// Data-sheet time of arithmetic; F(4×4, 3×3) Winograd needs a quarter of the multiplications of a direct convolution.
template <class Operator>
Seconds arithmetic_floor(const Operator&, const Work& w, const GpuProfile& gpu) {
    const Seconds vector = w.vector > 0 * flop ? w.vector / gpu.vector_rate(w.precision) : 0 * s;
    return w.matrix > 0 * flop ? max(vector, w.matrix / tensor_core_peak(gpu, w.precision)) : vector;
}

Seconds arithmetic_floor(const Conv2d& op, const Work& w, const GpuProfile& gpu) {
    const FlopsPerSecond fastest = max(tensor_core_peak(gpu, w.precision), gpu.vector_rate(w.precision));
    return w.matrix / fastest * (winograd_applies(op) ? 0.25 : 1.0);
}

template <class Operator>
Seconds floor_of(const Operator& op, const GpuProfile& gpu, Cache cache) {
    if constexpr (requires { work(op); }) {
        const Work w = work(op);
        // What is updated in place is read and written where L2 holds it.
        double uses = 1;
        if constexpr (requires { op.update; }) uses = 2;
        const Bytes resident = cache == Cache::cold ? 0 * byte : uses * gpu.l2;
        return max(arithmetic_floor(op, w, gpu), max(w.bytes - resident, 0 * byte) / gpu.bandwidth);
    } else if constexpr (std::is_same_v<Operator, Collective>) {
        return (adds_in_switch(op, gpu) ? switch_bytes(op) : ring_bytes(op)) / link_bandwidth(gpu, op.gpus);
    } else if constexpr (std::is_same_v<Operator, Copy>) {
        return op.kind == CopyKind::d2d ? 2 * op.bytes / gpu.bandwidth : op.bytes / pcie_bandwidth(gpu);
    } else {
        return {};
    }
}

struct ClassOf {
    const Gpu& gpu;
    using K = KernelClass;
    std::optional<K> operator()(const Gemm& g) const {
        if (g.unpacks_weights()) return K::weight_only;
        constexpr std::array by_unit{K::gemm_simt, K::gemm_tensor16, K::gemm_tensor8, K::gemm_integer8, K::gemm_tensor4};
        static_assert(by_unit.size() == math_unit_count);
        return by_unit[index(gpu.profile.math_unit(g.precision))];
    }
    std::optional<K> operator()(const Attention& a) const {
        return cache_format(a, gpu.caller) == CacheFormat::plain ? K::attention_plain : K::attention_narrow;
    }
    std::optional<K> operator()(const Conv2d&) const { return K::convolution; }
    std::optional<K> operator()(const Elementwise&) const { return K::streaming; }
    std::optional<K> operator()(const Embedding&) const { return K::streaming; }
    std::optional<K> operator()(const Reduce&) const { return K::streaming; }
    std::optional<K> operator()(const Move&) const { return K::streaming; }
    std::optional<K> operator()(const RowWise&) const { return K::row_wise; }
    std::optional<K> operator()(const Moe&) const { return K::moe; }
    std::optional<K> operator()(const Collective&) const { return K::collective; }
    std::optional<K> operator()(const Copy&) const { return K::copy; }
    std::optional<K> operator()(const Quantize&) const { return K::quantize; }
    std::optional<K> operator()(const CausalConvolution&) const { return K::recurrent; }
    std::optional<K> operator()(const Recurrence&) const { return K::recurrent; }
    std::optional<K> operator()(const HyperConnection&) const { return K::recurrent; }
    std::optional<K> operator()(const IndexScores&) const { return K::sparse; }
    std::optional<K> operator()(const TopK&) const { return K::sparse; }
    std::optional<K> operator()(const SparseAttention&) const { return K::sparse; }
    std::optional<K> operator()(const Unmodelled&) const { return std::nullopt; }
};

}  // namespace

std::string_view name(Bound b) {
    constexpr std::string_view names[] = {"compute", "dram", "l2", "latency", "power", "communication", "unmodelled"};
    return names[static_cast<std::size_t>(b)];
}

std::string_view name(Cache c) {
    constexpr std::string_view names[] = {"cold", "warm", "rotated", "produced"};
    return names[static_cast<std::size_t>(c)];
}

KernelCost cost(const Op& op, const Gpu& device, Cache cache) {
    const GpuOfFamily* family = family_of(op, device);
    const Gpu& gpu = family == nullptr ? device : *family->gpu;
    KernelCost kernel = std::visit(
        [&](const auto& o) {
            if constexpr (std::is_same_v<std::decay_t<decltype(o)>, Unmodelled>) {
                KernelCost unknown;
                unknown.bound = Bound::unmodelled;
                return unknown;
            } else {
                return cost(o, gpu, cache);
            }
        },
        op);
    kernel = on_this_machine(kernel, op, gpu, cache);
    if (family != nullptr) kernel.family = family->family->name;
    return kernel;
}

std::optional<KernelClass> kernel_class(const Op& op, const Gpu& gpu) {
    return std::visit(ClassOf{gpu}, op);
}

KernelCost stretched(const KernelCost& kernel, double factor) {
    KernelCost c = kernel;
    for (Seconds* time : {&c.compute, &c.dram, &c.l2, &c.launch, &c.power, &c.communication, &c.total, &c.unthrottled}) *time *= factor;
    return c;
}

KernelCost on_this_machine(const KernelCost& kernel, const Op& op, const Gpu& gpu, Cache cache) {
    const std::optional<KernelClass> kernels = kernel_class(op, gpu);
    if (!kernels) return kernel;
    double factor = gpu.parameters.values.time_factor.kernels[static_cast<std::size_t>(*kernels)];
    if (factor == 1 || !(kernel.total > 0 * s)) return kernel;
    if (factor < 1) {
        const Seconds floor = datasheet_roofline(op, gpu.profile, cache) / gpu.profile.clock_headroom();
        factor = std::max(factor, std::min(1.0, floor / kernel.total));
    }
    return stretched(kernel, factor);
}

Seconds datasheet_roofline(const Op& op, const GpuProfile& gpu, Cache cache) {
    return std::visit([&](const auto& o) { return floor_of(o, gpu, cache); }, op);
}

Bytes compulsory_bytes(const Op& op) {
    return std::visit(
        [](const auto& o) -> Bytes {
            if constexpr (requires { work(o); }) {
                return work(o).bytes;
            } else if constexpr (requires { o.bytes; }) {
                return o.bytes;
            } else {
                return {};
            }
        },
        op);
}

}  // namespace roofcast
