#include "kernels/family.hpp"

#include <algorithm>
#include <cmath>

#include "roofcast/op_graph.hpp"
#include "roofcast/software.hpp"

namespace roofcast {

namespace {

/// Whether the family multiplies weights that are stored so.
bool takes_weights(const KernelFamily& family, double bits, bool block_scales) {
    // Scales and zero points of groups differ from checkpoint to checkpoint, kernels for their elements do not.
    const auto same = [&](const WeightFormat& format) {
        return std::floor(format.bits) == std::floor(bits) && format.block_scales == block_scales;
    };
    return family.weights.empty() || std::any_of(family.weights.begin(), family.weights.end(), same);
}

/// Whether all tokens of the sequences are queries, or several are: a prompt, if only of one token.
bool is_prompt(const Attention& op) {
    return op.query_len > 1 || op.kv_len == op.query_len;
}

/// Whether the family has kernels for such heads.
bool takes_heads(const KernelFamily& family, const Attention& op) {
    const std::int64_t group = op.heads / std::max<std::int64_t>(op.kv_heads, 1);
    return takes_any(family.head_dims, op.head_dim) && (!family.groups || family.groups->has(group));
}

struct Takes {
    const KernelFamily& family;
    bool operator()(const Gemm& op) const {
        return family.op == "gemm" && takes_any(family.precisions, op.precision) &&
               takes_weights(family, op.weight_bits, op.block_scales) && family.batched.value_or(op.batch > 1) == (op.batch > 1);
    }
    bool operator()(const Moe& op) const {
        return family.op == "moe" && takes_any(family.precisions, op.precision) && takes_weights(family, op.weight_bits, op.block_scales);
    }
    bool operator()(const Attention& op) const {
        return family.op == "attention" && op.fused && takes_any(family.precisions, op.precision) &&
               takes_any(family.kv_precisions, op.kv_precision) && family.cached.value_or(op.cached) == op.cached &&
               family.windowed.value_or(op.window > 0) == (op.window > 0) && family.prompts.value_or(is_prompt(op)) == is_prompt(op) &&
               takes_heads(family, op);
    }
    bool operator()(const CausalConvolution& op) const { return family.op == "causal_convolution" && takes_recurrent(op); }
    bool operator()(const Recurrence& op) const { return family.op == "recurrence" && takes_recurrent(op); }
    bool operator()(const HyperConnection& op) const {
        return family.op == "hyper_connection" && takes_any(family.precisions, op.precision);
    }
    bool operator()(const SparseAttention& op) const {
        return family.op == "sparse_attention" && takes_any(family.precisions, op.precision) &&
               takes_any(family.kv_precisions, op.kv_precision) && family.prompts.value_or(!op.is_decoding()) == !op.is_decoding() &&
               takes_any(family.head_dims, op.head_dim);
    }
    template <class Other>
    bool operator()(const Other&) const {
        return false;
    }

private:
    template <class Recurrent>
    [[nodiscard]] bool takes_recurrent(const Recurrent& op) const {
        const bool verifies = op.update && op.query_len > 1;
        return takes_any(family.precisions, op.precision) && takes_any(family.layers, op.layer) &&
               family.prompts.value_or(!op.update) == !op.update && family.verifies.value_or(verifies) == verifies;
    }
};

}  // namespace

bool takes(const KernelFamily& family, const Op& op) {
    return std::visit(Takes{family}, op);
}

const GpuOfFamily* family_of(const Op& op, const Gpu& gpu) {
    for (const GpuOfFamily& candidate : gpu.families) {
        if (takes(*candidate.family, op)) return &candidate;
    }
    return nullptr;
}

}  // namespace roofcast
