#include "execution/launch.hpp"

#include <algorithm>
#include <cmath>

#include "execution/fusion.hpp"
#include "kernels/collective/all_reduce.hpp"
#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

bool repeats_its_traffic(const OpNode& node) {
    return std::holds_alternative<Elementwise>(node.op) || std::holds_alternative<RowWise>(node.op);
}

/// Most weight bytes that an SM streams in GEMV kernels of the stack; 0: no such kernels.
BytesPerSecond most_per_sm(const SoftwareStack& stack, const GpuProfile& gpu) {
    return stack.gemv_bytes_per_sm_clock * byte * running_clock(gpu);
}

/// `most` of an SM, or less where unpacking `op`'s weights takes longer than streaming them.
template <class Multiplication>
BytesPerSecond most_of(const Multiplication& op, BytesPerSecond most, const GpuProfile& gpu) {
    return op.unpack_cycles > 0 ? min(most, op.weight_bits / 8 * byte / op.unpack_cycles * running_clock(gpu)) : most;
}

/// The engine's own kernel for GEMMs of few rows, where it has one for `op`.
std::optional<KernelCost> gemv_kernel(const Op& op, const Gpu& gpu, const SoftwareStack& stack) {
    const BytesPerSecond most = most_per_sm(stack, gpu.profile);
    if (most == BytesPerSecond{}) return std::nullopt;
    if (const auto* gemm = std::get_if<Gemm>(&op); gemm != nullptr && gemm->m <= most_gemv_rows)
        return on_this_machine(streamed_gemv_cost(*gemm, gpu, most_of(*gemm, most, gpu.profile)), op, gpu, Cache::produced);
    if (const auto* moe = std::get_if<Moe>(&op); moe != nullptr && moe->tokens <= most_gemv_rows)
        return on_this_machine(streamed_gemv_cost(*moe, gpu, most_of(*moe, most, gpu.profile)), op, gpu, Cache::produced);
    return std::nullopt;
}

bool is_16_bit(Precision p) {
    return p == Precision::fp16 || p == Precision::bf16;
}

/// Fraction of the rate that a GEMM reaches which the lowest tile holds.
double padded_fraction(const Op& op, const SoftwareStack& stack, const GpuProfile& gpu) {
    const auto* gemm = std::get_if<Gemm>(&op);
    if (gemm == nullptr || !is_16_bit(gemm->precision) || gemm->weight_bits < 16) return 1;
    return gemm->m <= gpu.libraries.least_tile_rows ? stack.least_tile_rate : 1;
}

/// A slower engine's kernel stretches the part of its time that arithmetic or streaming takes, not its latency.
Seconds at_rate_of(const SoftwareStack& stack, const Op& op, const KernelCost& kernel, const Gpu& gpu) {
    const bool matrix = gemm_precision(op).has_value();
    const bool network = std::holds_alternative<Collective>(op) || std::holds_alternative<Copy>(op);
    if (network) return kernel.total;
    const auto* attention = std::get_if<Attention>(&op);
    if (attention != nullptr && attention->cached && attention->query_len == 1) {
        const auto& shared = stack.grouped_decode_attention;
        const bool grouped = shared && attention->heads >= shared->least_group * attention->kv_heads;
        const double rate = grouped ? shared->rate : stack.decode_attention_rate;
        return kernel.total + max(Seconds{}, kernel.total - kernel.launch) * (1 / rate - 1);
    }
    if (!matrix) {
        const Seconds streamed = kernel.total + max(Seconds{}, kernel.total - kernel.launch) * (1 / stack.streaming_rate - 1);
        return stack.element_instructions > 0 ? max(streamed, kernel.launch + element_time(op, stack.element_instructions, gpu.profile))
                                              : streamed;
    }
    // Matrix kernels that wait for memory wait as long in any engine, until slower arithmetic takes longer than that. Where power limits
    // them, slower arithmetic draws less and keeps a higher clock: time grows with the root of its own, as it does between the lowest
    // voltage and the lowest clock (see PowerLimit), which is where GPUs throttle.
    const auto* moe = std::get_if<Moe>(&op);
    const bool experts = moe != nullptr && element_size(moe->precision) < 2 * byte;
    const bool by_warps = stack.warp_mma || (stack.warp_mma_experts && experts);
    const double rate = stack.matmul_rate * padded_fraction(op, stack, gpu.profile) * (experts ? stack.expert_rate : 1) *
                        (by_warps ? warp_mma_rate(gpu.profile) : 1);
    const Seconds bound = max(kernel.compute, max(kernel.dram, kernel.l2));
    const Seconds unthrottled = kernel.unthrottled + max(Seconds{}, kernel.compute / rate - bound);
    const Seconds throttled = kernel.total + kernel.power * (1 / std::sqrt(rate) - 1);
    // Of kernels in a row power may limit some only.
    const bool limited = kernel.total > kernel.unthrottled;
    return max(unthrottled, limited ? throttled : kernel.launch + kernel.power / std::sqrt(rate));
}

/// `op` in fp16 instead of 8 bits; nothing for other operators and formats.
std::optional<Op> in_16_bits(const Op& op) {
    const auto narrow = [](Precision p) { return element_size(p) < 2 * byte; };
    if (const auto* gemm = std::get_if<Gemm>(&op); gemm != nullptr && narrow(gemm->precision)) {
        Gemm wide = *gemm;
        wide.precision = Precision::fp16;
        wide.weight_bits = 16;
        wide.dynamic_quantized = false;
        return wide;
    }
    if (const auto* conv = std::get_if<Conv2d>(&op); conv != nullptr && narrow(conv->precision)) {
        Conv2d wide = *conv;
        wide.precision = Precision::fp16;
        return wide;
    }
    return std::nullopt;
}

bool is_16_bit_gemm(const Op& op) {
    if (const auto* gemm = std::get_if<Gemm>(&op)) return is_16_bit(gemm->precision);
    const auto* conv = std::get_if<Conv2d>(&op);
    return conv != nullptr && is_16_bit(conv->precision);
}

bool is_send(const Op& op) {
    const auto* collective = std::get_if<Collective>(&op);
    return collective != nullptr && collective->kind == CollectiveKind::send;
}

bool is_8_bit_gemm(const Op& op) {
    const auto* gemm = std::get_if<Gemm>(&op);
    return gemm != nullptr && element_size(gemm->precision) == 1 * byte;
}

/// What a stack does to weights in 4 or in 8 bits, by the bits of these; 0 for wider ones.
double by_width(double weight_bits, double in_4_bits, double in_8_bits) {
    constexpr double widest_8bit = 8.5;  // with a scale of 16 bits for 32 weights: GGUF's q8_0
    if (weight_bits > widest_8bit) return 0;
    return weight_bits < 8 ? in_4_bits : in_8_bits;
}

/// Further launches for a GEMM whose weights are stored in fewer bits than it computes in, or are quantized with the activations.
double unpacking_launches(const Op& op, const SoftwareStack& stack) {
    const auto* gemm = std::get_if<Gemm>(&op);
    return gemm == nullptr ? 0 : by_width(gemm->weight_bits, stack.extra_kernels_4bit, stack.extra_kernels_8bit);
}

/// The kernel that the stack runs for `op`: in its precision, or in 16 bits where that is faster and the stack chooses by layer.
KernelCost chosen_kernel(const Op& op, const Gpu& gpu, const SoftwareStack& stack) {
    const KernelCost own = cost_with(stack.all_reduce.get(), op, gpu, Cache::produced);
    if (!stack.fastest_precision || !gpu.profile.supports(Precision::fp16)) return own;
    const std::optional<Op> wide = in_16_bits(op);
    if (!wide) return own;
    const KernelCost wider = cost(*wide, gpu, Cache::produced);
    return wider.total < own.total ? wider : own;
}

/// Whether `op` multiplies by weights that are unpacked before it.
bool unpacks(const Gemm& op, const SoftwareStack& stack) {
    return stack.unpacks_from_rows > 0 && op.m >= stack.unpacks_from_rows && op.weight_bits < 16 && is_16_bit(op.precision);
}

/// Maps in the layout that their reader wants, which only frameworks do not write: in fp32, dense convolutions want planes.
void choose_layout(Op& op) {
    if (auto* move = std::get_if<Move>(&op)) move->apart = 0;
    if (auto* conv = std::get_if<Conv2d>(&op); conv != nullptr && conv->groups == 1 && conv->precision == Precision::fp32)
        conv->channels_last = false;
}

/// `op` as the stack launches it: weights unpacked, activations that it keeps in fp32, maps in the layout of its choice, and element-wise
/// kernels that a framework makes for operands of any kind.
Op lowered(Op op, const SoftwareStack& stack) {
    if (stack.lowering.kernels != KernelSet::framework) {
        choose_layout(op);
    } else if (auto* elementwise = std::get_if<Elementwise>(&op); elementwise != nullptr) {
        elementwise->any_operands = true;
    }
    if (auto* gemm = std::get_if<Gemm>(&op); gemm != nullptr && unpacks(*gemm, stack)) gemm->weight_bits = 16;
    if (!stack.fp32_activations) return op;
    if (auto* elementwise = std::get_if<Elementwise>(&op); elementwise != nullptr && is_16_bit(elementwise->precision))
        elementwise->precision = Precision::fp32;
    if (auto* rows = std::get_if<RowWise>(&op); rows != nullptr && is_16_bit(rows->precision)) rows->precision = Precision::fp32;
    return op;
}

/// `kernel` no faster than the weights of a 16-bit GEMM are unpacked.
KernelCost as_unpacked(const KernelCost& kernel, const Gemm& op, const SoftwareStack& stack, const GpuProfile& gpu) {
    const double most = by_width(op.weight_bits, stack.unpacked_4bit_per_sm_clock, stack.unpacked_8bit_per_sm_clock);
    if (most <= 0 || !is_16_bit(op.precision)) return kernel;
    const double weights = static_cast<double>(op.batch) * static_cast<double>(op.n) * static_cast<double>(op.k);
    const Seconds unpacked = time_of_cycles(weights / static_cast<double>(gpu.sm_count) / most, gpu);
    return at_least(kernel, kernel.launch + unpacked, Bound::compute, &KernelCost::compute);
}

/// `kernel` longer by a launch for each expert of each GEMM, where the stack's for weights in 4 bits know no groups.
KernelCost expert_by_expert(const KernelCost& kernel, const Moe& op, const SoftwareStack& stack) {
    if (!is_16_bit(op.precision) || op.weight_bits >= 8) return kernel;
    const double products = 2, experts = static_cast<double>(op.experts) / static_cast<double>(op.expert_parallel);
    return lengthened(kernel, products * experts * stack.expert_launch, Bound::latency, &KernelCost::launch);
}

/// `kernel` for `op` as this stack has it.
KernelCost as_in_stack(const KernelCost& kernel, const Op& op, const SoftwareStack& stack, const GpuProfile& gpu) {
    if (is_send(op)) return lengthened(kernel, stack.send_gap, Bound::communication, &KernelCost::communication);
    if (const auto* gemm = std::get_if<Gemm>(&op)) return as_unpacked(kernel, *gemm, stack, gpu);
    if (const auto* moe = std::get_if<Moe>(&op); moe != nullptr && stack.expert_launch > Seconds{})
        return expert_by_expert(kernel, *moe, stack);
    return kernel;
}

/// The kernels around a 16-bit GEMM that narrow or unpack its weights, narrow its activations and widen its results.
std::optional<KernelCost> conversions(const OpNode& node, const Gpu& gpu, const SoftwareStack& stack) {
    if (!is_16_bit_gemm(node.op)) return std::nullopt;
    std::optional<KernelCost> all;
    const auto add = [&](const KernelCost& one) { all = all ? in_sequence(*all, one) : one; };
    const auto convert = [&](std::int64_t elements, double reads, double writes, Cache cache = Cache::produced) {
        add(cost(Elementwise{.elements = elements, .reads = reads, .writes = writes}, gpu, cache));
    };
    constexpr double wide = 2;  // fp32 in 16-bit elements
    const auto* gemm = std::get_if<Gemm>(&node.op);
    if (stack.casts_weights && node.weights > 0) {
        convert(static_cast<std::int64_t>(node.weights), wide, 1, Cache::cold);
        // Compilers narrow a bias in the kernel that adds it.
        if (gemm != nullptr && gemm->bias && stack.lowering.kernels == KernelSet::framework) convert(gemm->n, wide, 1);
    }
    if (gemm == nullptr) return all;
    if (unpacks(*gemm, stack)) add(unpacking_cost(*gemm, gpu, most_per_sm(stack, gpu.profile)));
    if (stack.fp32_activations) {
        convert(gemm->batch * gemm->m * gemm->k, wide, 1);
        convert(gemm->batch * gemm->m * gemm->n, 1, wide);
    }
    return all;
}

bool joins(const GpuProfile& gpu, const SoftwareStack& stack) {
    return gpu.compute_capability && gpu.compute_capability->major >= stack.lowering.reduces_in_norms;
}

/// What `node` adds to the kernel before it: its bytes and arithmetic, no launch.
Launch joined(const OpNode& node, const Gpu& gpu) {
    Launch launch{.launches = 0, .calls = 0, .fused = true};
    launch.kernel = cost(node.op, gpu, Cache::produced);
    launch.kernel.total = max(Seconds{}, launch.kernel.total - launch.kernel.launch);
    launch.kernel.launch = {};
    launch.kernel.kernels = 0;
    launch.time = launch.kernel.total;
    return launch;
}

}  // namespace

Launch launched(const OpNode& node, const Gpu& gpu, const SoftwareStack& stack) {
    if (node.joined && joins(gpu.profile, stack)) return joined(node, gpu);
    Launch launch;
    const std::optional<KernelCost> vectors = gemv_kernel(node.op, gpu, stack);
    const Op op = vectors ? node.op : lowered(node.op, stack);
    launch.kernel = vectors ? *vectors : as_in_stack(chosen_kernel(op, gpu, stack), op, stack, gpu.profile);
    Seconds time = vectors ? vectors->total : at_rate_of(stack, op, launch.kernel, gpu);
    const int own_kernels = launch.kernel.kernels;
    if (const auto around = vectors ? std::nullopt : conversions(node, gpu, stack)) {
        time += around->total;
        launch.kernel = in_sequence(*around, launch.kernel);
    }
    launch.launches = launch.kernel.kernels;
    const Seconds busy = max(max(launch.kernel.compute, launch.kernel.l2), max(launch.kernel.dram, launch.kernel.power));
    launch.idle_dram = busy - launch.kernel.dram;
    launch.idle_power = busy - launch.kernel.power;
    if (stack.lowering.kernels == KernelSet::framework && node.eager_kernels != 1) {
        // Each of an eager framework's element-wise kernels passes over the tensor; around other operators they only add launches.
        if (repeats_its_traffic(node)) launch.passes = node.eager_kernels;
        time *= launch.passes;
        launch.launches = std::max(node.eager_kernels, static_cast<double>(own_kernels)) + launch.kernel.kernels - own_kernels;
    }
    if (std::holds_alternative<Conv2d>(node.op)) launch.host = stack.host_per_convolution;
    launch.launches += unpacking_launches(node.op, stack);
    launch.awaited = stack.waits_for_8bit_gemms && is_8_bit_gemm(node.op);
    launch.time = time + launch.launches * stack.device_gap;
    launch.calls = stack.lowering.kernels == KernelSet::framework && node.same_call ? 0 : launch.launches;
    return launch;
}

Launch folded_into(Launch& host, const OpNode& node, const Gpu& gpu) {
    Launch launch;
    launch.fused = true;
    launch.launches = launch.calls = 0;
    const Elementwise remainder = fused_remainder(node.op);
    if (remainder.elements > 0 && remainder.reads > 0) {
        launch.kernel = cost(remainder, gpu, Cache::produced);
        launch.kernel.launch = {};
        launch.kernel.total = max(launch.kernel.dram, launch.kernel.power);
        launch.kernel.kernels = 0;
    }
    launch.time = max(Seconds{}, max(launch.kernel.dram - host.idle_dram, launch.kernel.power - host.idle_power));
    host.idle_dram += launch.time - launch.kernel.dram;
    host.idle_power += launch.time - launch.kernel.power;
    return launch;
}

}  // namespace roofcast
