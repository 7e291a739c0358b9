#include <algorithm>

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

void add_activation(LayerBuilder& b, const DecoderPass& pass, Count width) {
    // The gate's SiLU and the product read both halves; a plain MLP's GELU folds into the product before it.
    if (pass.model.gated_mlp) {
        b.elementwise("silu_mul", pass.rows() * width, 2, 5, Fusion::chain, 2);
    } else {
        b.elementwise("activation", pass.rows() * width, 1, 8, Fusion::epilogue, pass.model.activation_kernels);
    }
}

/// Width that routed experts read and write.
Count expert_hidden(const DecoderPass& pass, const MoeShape& moe) {
    return moe.latent > 0 ? moe.latent : pass.model.hidden;
}

void add_exchange(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe, std::string_view name) {
    const double elements = static_cast<double>(pass.rows() * moe.top_k * expert_hidden(pass, moe));
    b.add(name, Collective{CollectiveKind::all_to_all, pass.run.parallel.expert, elements * b.numerics().element()});
}

void add_shared_expert(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe) {
    const DecoderLlm& m = pass.model;
    const Count width = shard(moe.shared_intermediate, pass.tensor()), rows = pass.rows();
    constexpr int beside_routed = 1;
    b.on_stream(beside_routed);
    if (m.gated_mlp) {
        b.projections("shared_up", rows, {{"shared_gate_proj", width}, {"shared_up_proj", width}}, m.hidden);
    } else {
        b.linear("shared_up", rows, width, m.hidden);
    }
    add_activation(b, pass, width);
    b.linear("shared_down", rows, m.hidden, width);
    if (moe.shared_gate) {
        b.linear("shared_gate", rows, 1, m.hidden);
        b.elementwise("sigmoid_mul", rows * m.hidden, 1, 1, Fusion::chain, 2);
    }
    b.on_stream(0);
    b.elementwise("combine", rows * m.hidden, 2, 1);
}

/// Kernels that an eager framework launches for the experts of a layer.
double expert_kernels(const MoeShape& moe, Count rows, bool grouped) {
    // Tokens are sorted by expert, gathered, and their results scattered around two products (transformers 5.17 traced: 31 of Qwen3's).
    constexpr double of_groups = 31;
    if (grouped) return of_groups;
    // A loop over the experts finds each one's tokens, and runs it when it has any.
    constexpr double of_expert = 3, of_busy_expert = 8;
    const double busy = static_cast<double>(std::min<Count>(moe.experts, rows * moe.top_k));
    return of_expert * static_cast<double>(moe.experts) + of_busy_expert * busy;
}

}  // namespace

void add_dense_mlp(LayerBuilder& b, const DecoderPass& pass, Count intermediate) {
    const DecoderLlm& m = pass.model;
    const Count width = shard(intermediate, pass.tensor());
    if (intermediate == 0) {
        b.linear("linear_mlp", pass.rows(), m.hidden, m.hidden, m.mlp_bias);
        return;
    }
    if (m.gated_mlp) {
        b.projections("gate_up_proj", pass.rows(), {{"gate_proj", width}, {"up_proj", width}}, m.hidden, m.mlp_bias);
    } else {
        b.linear("up_proj", pass.rows(), width, m.hidden, m.mlp_bias);
    }
    add_activation(b, pass, width);
    b.linear("down_proj", pass.rows(), m.hidden, width, m.mlp_bias);
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), pass.rows() * m.hidden);
}

void add_moe(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe) {
    const DecoderLlm& m = pass.model;
    const Numerics& n = b.numerics();
    const Count rows = pass.rows(), expert_gpus = std::max<Count>(1, pass.run.parallel.expert);
    const Count tensor_gpus = std::max<Count>(1, pass.tensor() / expert_gpus);
    // Data-parallel copies that share experts bring their tokens together.
    const Count gathered = rows * std::max<Count>(1, expert_gpus / pass.tensor());
    OpNode& router = b.head("router", rows, moe.experts, m.hidden, moe.expert_bias);
    if (moe.selection_bias) router.weights += static_cast<double>(moe.experts);
    constexpr double top_k_kernels = 4;  // softmax, top-k, normalize, cast
    b.add("router_top_k", RowWise{RowOp::softmax, rows, moe.experts, n.vector}, 0, Fusion::chain, top_k_kernels);
    if (moe.latent > 0) b.linear("latent_down", rows, moe.latent, m.hidden);
    if (expert_gpus > 1) add_exchange(b, pass, moe, "dispatch");

    const Count inner = expert_hidden(pass, moe);
    const double matrices = m.gated_mlp ? 3 : 2;
    const double width = static_cast<double>(moe.expert_intermediate), hidden = as_count(inner);
    const double biases = moe.expert_bias ? (matrices - 1) * width + hidden : 0;
    const double weights = static_cast<double>(moe.experts) * (matrices * width * hidden + biases);
    b.add("experts",
          Moe{.tokens = gathered,
              .hidden = inner,
              .intermediate = moe.expert_intermediate,
              .experts = moe.experts,
              .top_k = moe.top_k,
              .gated = m.gated_mlp,
              .precision = n.matmul,
              .weight_bits = n.expert_bits,
              .block_scales = n.expert_block_scales,
              .tensor_parallel = tensor_gpus,
              .expert_parallel = expert_gpus},
          weights / static_cast<double>(tensor_gpus * expert_gpus), Fusion::none,
          expert_kernels(moe, gathered, pass.lowering.grouped_experts));
    if (expert_gpus > 1) add_exchange(b, pass, moe, "collect");
    if (moe.latent_norm) b.norm("latent_norm", m.norm, rows, moe.latent);
    if (moe.latent > 0) b.linear("latent_up", rows, m.hidden, moe.latent);
    if (moe.shared_intermediate > 0) add_shared_expert(b, pass, moe);
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), rows * m.hidden);
}

}  // namespace roofcast
