#include <algorithm>

#include "graph/decoder.hpp"

namespace roofcast {

namespace {

void add_activation(LayerBuilder& b, Count rows, const DecoderLlm& model, Count width) {
    // The gate's SiLU and the product read both halves; a plain MLP's GELU folds into the GEMM before it.
    if (model.gated_mlp) {
        b.elementwise("silu_mul", rows * width, 2, 5, Fusion::chain, 2);
    } else {
        b.elementwise("activation", rows * width, 1, 8, Fusion::epilogue, model.activation_kernels);
    }
}

/// Width that routed experts read and write.
Count expert_hidden(const DecoderPass& pass, const MoeShape& moe) {
    return moe.latent > 0 ? moe.latent : pass.model.hidden;
}

void add_exchange(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe, std::string_view name) {
    // GPUs of one group of attention have the same tokens: each sends a part of them, dispatched as experts compute.
    const bool narrow = pass.grouped() && name == "dispatch";
    const Count rows = pass.grouped() ? shard(pass.rows(), pass.tensor()) : pass.rows();
    const double elements = static_cast<double>(rows * moe.top_k * expert_hidden(pass, moe));
    const Bytes element = narrow ? min(b.numerics().element(), element_size(b.numerics().matmul)) : b.numerics().element();
    b.add(name, Collective{CollectiveKind::all_to_all, pass.run.parallel.expert, elements * element});
}

/// GPUs that exchange tokens of different groups: one of each group, and those of copies that share experts.
Count gathering_gpus(const DecoderPass& pass) {
    return pass.run.parallel.attention_data * std::max<Count>(1, pass.run.parallel.expert / pass.copy_gpus());
}

/// Adds a shared expert for `rows` tokens, with weights split over `gpus`.
void add_shared_expert(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe, Count rows, Count gpus) {
    const DecoderLlm& m = pass.model;
    const Count width = shard(moe.shared_intermediate, gpus);
    constexpr int beside_routed = 1;
    b.on_stream(beside_routed);
    b.of_role(TensorRole::shared_up);
    if (m.gated_mlp) {
        b.projections("shared_up", rows, {{"shared_gate_proj", width}, {"shared_up_proj", width}}, m.hidden);
    } else {
        b.linear("shared_up", rows, width, m.hidden);
    }
    add_activation(b, rows, m, width);
    b.of_role(TensorRole::shared_down);
    b.linear("shared_down", rows, m.hidden, width);
    if (b.numerics().by_tensor) b.of_role(TensorRole::router);  // files store this gate in the router's format
    if (moe.shared_gate) {
        b.linear("shared_gate", rows, 1, m.hidden);
        b.elementwise("sigmoid_mul", rows * m.hidden, 1, 1, Fusion::chain, 2);
    }
    b.of_role(TensorRole::attention);
    b.on_stream(0);
    b.elementwise("combine", rows * m.hidden, 2, 1);
}

/// Kernels that an eager framework launches for the experts of a layer.
double expert_kernels(const MoeShape& moe, Count rows, bool grouped) {
    // Tokens are sorted by expert, gathered, and their results scattered around two GEMMs (transformers 5.17 traced: 31 of Qwen3's).
    constexpr double of_groups = 31;
    if (grouped) return of_groups;
    // A loop over the experts finds each one's tokens, and runs it when it has any.
    constexpr double of_expert = 3, of_busy_expert = 8;
    const double busy = static_cast<double>(std::min<Count>(moe.experts, rows * moe.top_k));
    return of_expert * static_cast<double>(moe.experts) + of_busy_expert * busy;
}

}  // namespace

void add_gather(LayerBuilder& b, const DecoderPass& pass, Count rows, Count width) {
    b.add("gather_tokens", Collective{CollectiveKind::all_gather, gathering_gpus(pass), as_count(rows * width) * b.numerics().element()});
}

void add_scatter(LayerBuilder& b, const DecoderPass& pass, Count rows, Count width) {
    b.add("scatter_sums",
          Collective{CollectiveKind::reduce_scatter, gathering_gpus(pass), as_count(rows * width) * b.numerics().element()});
}

void add_dense_mlp(LayerBuilder& b, const DecoderPass& pass, Count intermediate) {
    const DecoderLlm& m = pass.model;
    b.of_role(TensorRole::mlp_up);
    if (intermediate == 0) {
        b.linear("linear_mlp", pass.rows(), m.hidden, m.hidden, m.mlp_bias);
        return;
    }
    const bool spread = pass.spreads_dense();
    const Count width = shard(intermediate, spread ? pass.copy_gpus() : pass.tensor()), rows = spread ? pass.copy_rows() : pass.rows();
    if (spread) add_gather(b, pass, rows, m.hidden);
    if (m.gated_mlp) {
        b.projections("gate_up_proj", rows, {{"gate_proj", width}, {"up_proj", width}}, m.hidden, m.mlp_bias);
    } else {
        b.linear("up_proj", rows, width, m.hidden, m.mlp_bias);
    }
    add_activation(b, rows, m, width);
    b.of_role(TensorRole::mlp_down);
    b.linear("down_proj", rows, m.hidden, width, m.mlp_bias);
    b.of_role(TensorRole::attention);
    if (spread) add_scatter(b, pass, rows, m.hidden);
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), pass.rows() * m.hidden);
}

namespace {

/// How tokens reach routed experts and the rest of their layer.
struct ExpertLayout {
    Count expert_gpus = 1, tensor_gpus = 1;       ///< GPUs that experts are shared out to; that split each expert
    Count experts_rows = 1;                       ///< tokens that the experts see
    Count rows = 1, gpus = 1;                     ///< tokens and GPUs of the router and of shared experts
    bool exchanges = false;                       ///< tokens go to the GPUs of their experts alone
    bool gathers_first = false, gathers = false;  ///< all tokens go to all GPUs: before the router, or behind it
};

ExpertLayout expert_layout(const DecoderPass& pass) {
    ExpertLayout l{.expert_gpus = std::max<Count>(1, pass.run.parallel.expert), .rows = pass.rows(), .gpus = pass.tensor()};
    l.tensor_gpus = std::max<Count>(1, pass.copy_gpus() / l.expert_gpus);
    // Data-parallel copies that share experts bring their tokens together.
    l.experts_rows = pass.copy_rows() * std::max<Count>(1, l.expert_gpus / pass.copy_gpus());
    // Where an expert is split, each of its GPUs needs the tokens.
    const bool gathers = pass.grouped() && (pass.lowering.gathers_tokens || l.tensor_gpus > 1);
    // GPUs that split the same attention have the same tokens: each runs its own experts, and the all-reduce adds up.
    l.exchanges = (pass.grouped() ? l.expert_gpus > 1 : l.expert_gpus > pass.tensor()) && !gathers;
    l.gathers_first = gathers && pass.spreads_dense();
    l.gathers = gathers && !l.gathers_first;
    if (l.gathers_first) {
        l.rows = l.experts_rows;
        l.gpus = pass.copy_gpus();
    }
    return l;
}

void add_router(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe, Count rows) {
    OpNode& router = b.head("router", rows, moe.experts, pass.model.hidden, moe.expert_bias, 1, TensorRole::router);
    if (moe.selection_bias) router.weights += static_cast<double>(moe.experts);
    constexpr double top_k_kernels = 4;  // softmax, top-k, normalize, cast
    b.add("router_top_k", RowWise{RowOp::softmax, rows, moe.experts, b.numerics().vector}, 0, Fusion::chain, top_k_kernels);
}

void add_experts(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe, const ExpertLayout& layout) {
    const Numerics& n = b.numerics();
    const bool gated = pass.model.gated_mlp;
    const Count inner = expert_hidden(pass, moe);
    const double matrices = gated ? 3 : 2;
    const double width = static_cast<double>(moe.expert_intermediate), hidden = as_count(inner);
    const double biases = moe.expert_bias ? (matrices - 1) * width + hidden : 0;
    const double weights = static_cast<double>(moe.experts) * (matrices * width * hidden + biases);
    b.add("experts",
          Moe{.tokens = layout.experts_rows,
              .hidden = inner,
              .intermediate = moe.expert_intermediate,
              .experts = moe.experts,
              .top_k = moe.top_k,
              .gated = gated,
              .precision = n.matmul,
              .weight_bits = n.of(TensorRole::experts).bits,
              .unpack_cycles = n.of(TensorRole::experts).unpack_cycles,
              .block_scales = n.expert_block_scales,
              .tensor_parallel = layout.tensor_gpus,
              .expert_parallel = layout.expert_gpus},
          weights / static_cast<double>(layout.tensor_gpus * layout.expert_gpus), Fusion::none,
          expert_kernels(moe, layout.experts_rows, pass.lowering.grouped_experts));
}

}  // namespace

void add_moe(LayerBuilder& b, const DecoderPass& pass, const MoeShape& moe) {
    const DecoderLlm& m = pass.model;
    const ExpertLayout layout = expert_layout(pass);
    const Count rows = layout.rows, inner = expert_hidden(pass, moe);
    if (layout.gathers_first) add_gather(b, pass, rows, m.hidden);
    add_router(b, pass, moe, rows);
    if (moe.latent > 0) b.linear("latent_down", rows, moe.latent, m.hidden);
    if (layout.gathers) add_gather(b, pass, layout.experts_rows, inner);
    if (layout.exchanges) add_exchange(b, pass, moe, "dispatch");
    add_experts(b, pass, moe, layout);
    if (layout.exchanges) add_exchange(b, pass, moe, "collect");
    if (layout.gathers) add_scatter(b, pass, layout.experts_rows, inner);
    if (moe.latent_norm) b.norm("latent_norm", m.norm, rows, moe.latent);
    if (moe.latent > 0) b.linear("latent_up", rows, m.hidden, moe.latent);
    if (moe.shared_intermediate > 0) add_shared_expert(b, pass, moe, rows, layout.gpus);
    if (layout.gathers_first) add_scatter(b, pass, rows, m.hidden);
    if (pass.tensor() > 1) b.all_reduce("all_reduce", pass.tensor(), pass.rows() * m.hidden);
}

}  // namespace roofcast
