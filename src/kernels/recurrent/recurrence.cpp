/// Recurrences of linear attention: prompts chunk by chunk, updates token by token.

#include <algorithm>

#include "kernels/recurrent/residency.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// The operator with the formats in which the kernels keep its state.
Recurrence with_state(Recurrence op, const RecurrentKernels& kernels) {
    op.state_read = kernels.state_read.value_or(op.state_read);
    op.state_written = kernels.state_written.value_or(op.state_written);
    return op;
}

double state_elements(const Recurrence& op) {
    return real(op.batch) * real(op.value_heads) * real(op.key_dim) * real(op.value_dim);
}

/// Verifying writes the state after each token, of which one is kept.
KernelCost update_cost(const Recurrence& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.recurrent.update;
    const double elements = state_elements(op), tokens = real(op.query_len);
    const Bytes read = elements * element_size(op.state_read), written = elements * tokens * element_size(op.state_written);
    const Work least = work(op);
    const Bytes moved = max(read + written, least.bytes);
    Terms t;
    // Other layers run between two updates of a state.
    t.dram_bytes = from_dram({moved, moved, p.working_set_fraction * moved, 2}, gpu, of_weights(cache));
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction);
    t.compute = least.vector / simt_rate_of(gpu.profile, least.precision);
    t.flops = least.vector;
    t.l2 = time_of_cycles(elements * (1 + tokens) * p.element_cycles / real(gpu.profile.sm_count), gpu.profile);
    t.latency = time_of_cycles(p.fixed_cycles + (tokens - 1) * p.token_cycles, gpu.profile);
    return combine(t, gpu);
}

/// Several kernels, of which most take all chunks at once, and one goes along each sequence.
KernelCost prompt_cost(const Recurrence& op, const Gpu& gpu, Cache cache) {
    const auto& p = gpu.parameters.values.recurrent.prompt;
    const double sms = real(gpu.profile.sm_count);
    const double heads = real(op.batch) * real(op.value_heads), tokens = real(op.query_len), chunks = blocks(op.query_len, op.chunk);
    const double width = 2 * real(op.key_dim) + 2 * real(op.value_dim);
    const Work least = work(op);
    const Bytes state = state_elements(op) * (element_size(op.state_read) + element_size(op.state_written));
    const Bytes moved = max(heads * tokens * width * p.passes * element_size(op.precision) + state, least.bytes);
    Terms t;
    t.overlap = p.overlap;
    t.dram_bytes = from_dram({moved, least.bytes, p.working_set_fraction * moved}, gpu, cache);
    t.dram = t.dram_bytes / (gpu.profile.data_bandwidth(Traffic::copied) * gpu.parameters.values.streaming.bandwidth_fraction);
    t.compute = least.matrix / tensor_core_rate(gpu.profile, least.precision);
    const double shared = heads * (p.sequence_cycles + chunks * p.chunk_cycles + tokens * p.token_cycles) / sms;
    const double along = waves(heads, sms, 0) * (p.block_cycles + chunks * p.chain_cycles);
    t.l2 = time_of_cycles(std::max(shared, along), gpu.profile);
    const double first = std::min(1.0, tokens / real(op.chunk));
    t.latency = time_of_cycles(p.fixed_cycles + first * p.fill_cycles, gpu.profile);
    return combine(t, gpu);
}

}  // namespace

KernelCost cost(const Recurrence& op, const Gpu& gpu, Cache cache) {
    const Recurrence kept = with_state(op, gpu.profile.libraries.recurrent);
    return kept.update ? update_cost(kept, gpu, cache) : prompt_cost(kept, gpu, cache);
}

}  // namespace roofcast
