/// Causal convolutions along tokens: of prompts, and of states that they update.

#include <algorithm>

#include "kernels/recurrent/residency.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// Bytes of the state of all sequences, read and written; engines may keep the inputs of verified tokens in it.
Bytes state_traffic(const CausalConvolution& op, const RecurrentKernels& kernels) {
    const std::int64_t kept = op.width - 1 + (kernels.keeps_verified ? op.query_len - 1 : 0);
    return 2 * real(op.batch) * real(op.channels) * real(kept) * element_size(op.precision);
}

KernelCost update_cost(const CausalConvolution& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.recurrent.convolution[1];
    const double channels = real(op.batch) * real(op.channels);
    const Bytes state = state_traffic(op, gpu.profile.libraries.recurrent);
    const Bytes moved = 2 * channels * real(op.query_len) * element_size(op.precision) + state;
    Terms t;
    // Other layers run between two updates of a state.
    t.dram_bytes = from_dram({moved, moved, moved - 0.5 * state, 2}, gpu, of_weights(cache));
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction);
    const double cycles = channels * (p.sequence_cycles + real(op.query_len) * p.element_cycles);
    t.l2 = time_of_cycles(cycles / real(gpu.profile.sm_count), gpu.profile);
    t.latency = time_of_cycles(p.fixed_cycles + real(op.query_len - 1) * p.token_cycles, gpu.profile);
    return combine(t, gpu);
}

KernelCost prompt_cost(const CausalConvolution& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.recurrent.convolution[0];
    const RecurrentKernels& kernels = gpu.profile.libraries.recurrent;
    const double channels = real(op.batch) * real(op.channels), step = real(kernels.block_tokens), tokens = real(op.query_len);
    const Bytes moved = work(op).bytes;
    Terms t;
    t.dram_bytes = from_dram({moved, moved, kernels.walks ? 0.5 * moved : moved, kernels.walks ? 2.0 : 1.0}, gpu, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction);
    const bool aligned = (op.query_len * static_cast<std::int64_t>(element_size(op.precision).in(byte))) % 16 == 0;
    const double walked = kernels.walks ? blocks(op.query_len, kernels.block_tokens) * step : tokens;
    const double odd = kernels.walks && !aligned ? 1 + p.unaligned : 1;
    const double cycles = channels * (p.sequence_cycles + walked * p.element_cycles) * odd / real(gpu.profile.sm_count);
    if (kernels.walks) {
        t.l2 = time_of_cycles(std::max(cycles, tokens * p.token_cycles), gpu.profile);
        t.latency = time_of_cycles(p.fixed_cycles, gpu.profile);
    } else {
        t.l2 = time_of_cycles(cycles, gpu.profile);
        t.latency = time_of_cycles(p.fixed_cycles + std::min(tokens, step) * p.token_cycles, gpu.profile);
    }
    return combine(t, gpu);
}

}  // namespace

KernelCost cost(const CausalConvolution& op, const Gpu& gpu, Cache cache) {
    return op.update ? update_cost(op, gpu, cache) : prompt_cost(op, gpu, cache);
}

}  // namespace roofcast
