#pragma once
/// Layers of a decoder by kind: what mixes tokens, what mixes channels, and how many layers are alike. The order of kinds plays no part in
/// parameters, FLOPs or memory.

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace roofcast {

/// Mixture of experts in place of the dense MLP.
struct MoeShape {
    std::int64_t experts = 0, top_k = 0, expert_intermediate = 0;
    std::int64_t shared_intermediate = 0;  ///< always-on shared expert; 0 = none
    std::int64_t dense_layers = 0;         ///< leading layers with a dense MLP instead
    bool expert_bias = false;
    bool shared_gate = false;     ///< a sigmoid gate of hidden → 1 on the shared expert (Qwen2-MoE)
    bool selection_bias = false;  ///< a learned offset of each expert in the choice (DeepSeek-V3): parameters without work to speak of
    std::int64_t latent = 0;      ///< width that routed experts work in, between two projections of all of them; 0: hidden
    bool latent_norm = false;     ///< of what they give, before it is projected back
    friend bool operator==(const MoeShape&, const MoeShape&) = default;
};

/// Multi-head latent attention (DeepSeek): low-rank query and KV projections.
struct MlaShape {
    std::int64_t q_rank = 0;  ///< 0: no low-rank query
    std::int64_t kv_rank = 0, rope_dim = 0, nope_dim = 0, value_dim = 0;
    friend bool operator==(const MlaShape&, const MlaShape&) = default;
};

/// Chooses which keys sparse attention sees: narrow queries score narrow keys, of which the best are kept. DeepSeek-V3.2 (2025).
struct KeyIndex {
    std::int64_t heads = 0, dim = 0;
    std::int64_t top_k = 0;  ///< tokens, or compressed keys, that a query attends to
    std::int64_t block = 1;  ///< neighbouring tokens that are chosen together, by the best score of theirs (MiniMax-M3)
    bool selects = true;     ///< false: takes what an earlier layer selected, without an index of its own (GLM-5.2)
    friend bool operator==(const KeyIndex&, const KeyIndex&) = default;
};

enum class QueryKeyNorm {
    none,
    per_head,   ///< one learned vector for all query heads, one for all key heads
    all_heads,  ///< over all heads at once, each channel with a factor of its own (MiniMax-M2)
    unlearned   ///< without factors (Llama 4)
};

/// Multi-head, grouped-query or multi-query attention.
struct GroupedAttention {
    std::int64_t heads = 0, kv_heads = 0, head_dim = 0;
    std::int64_t value_dim = 0;  ///< 0: `head_dim`
    std::int64_t window = 0;     ///< tokens that a query sees at most; 0: all
    std::int64_t chunk = 0;      ///< a query sees only the stretch of this many tokens that it lies in (Llama 4); 0: all
    bool bias = false, output_bias = false;
    bool rotary = true;
    bool sinks = false;            ///< one learned logit a head
    bool gate = false;             ///< the output times the sigmoid of a projection of its width (Qwen3.5)
    bool keys_are_values = false;  ///< one projection gives both (Gemma 4); both are cached
    bool cross = false;            ///< keys and values come from image tokens
    QueryKeyNorm norm = QueryKeyNorm::none;
    std::optional<KeyIndex> index;
    [[nodiscard]] std::int64_t value_width() const { return value_dim > 0 ? value_dim : head_dim; }
    friend bool operator==(const GroupedAttention&, const GroupedAttention&) = default;
};

struct LatentAttention {
    std::int64_t heads = 0;
    MlaShape shape;
    bool bias = false, output_bias = false;
    bool rotary = true;  ///< false: the part for positions is there, but not rotated (Kimi K3)
    bool gate = false;   ///< as of `GroupedAttention`
    std::optional<KeyIndex> index;
    friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// DeepSeek-V4: one latent a token is key and value of all heads. A query sees the latest `window` tokens, and before them one compressed
/// key for each `ratio` tokens. DeepSeek-AI, DeepSeek-V4 (2026).
struct CompressedAttention {
    std::int64_t heads = 0, head_dim = 0, rope_dim = 0, q_rank = 0;
    std::int64_t output_groups = 0, output_rank = 0;  ///< heads are projected to `output_rank` by groups, and together to hidden
    std::int64_t window = 0;
    std::int64_t ratio = 0;         ///< 0: the window is all there is
    bool overlaps = false;          ///< a compressed key is made of two neighbouring stretches
    std::optional<KeyIndex> index;  ///< over compressed keys; its own keys are compressed likewise
    friend bool operator==(const CompressedAttention&, const CompressedAttention&) = default;
};

/// Yang et al., Gated Delta Networks (2024): a state of key_dim × value_dim for each value head.
struct GatedDelta {
    std::int64_t key_heads = 0, key_dim = 0, value_heads = 0, value_dim = 0, convolution = 4;
    friend bool operator==(const GatedDelta&, const GatedDelta&) = default;
};

/// Kimi Team, Kimi Linear (2025): the delta rule with a decay for each channel.
struct KimiDelta {
    std::int64_t heads = 0, dim = 0, convolution = 4;
    bool full_rank_gate = false;  ///< of the output; else of rank `dim`
    friend bool operator==(const KimiDelta&, const KimiDelta&) = default;
};

/// Dao and Gu, Transformers are SSMs (2024): a state of head_dim × state for each head.
struct Mamba2 {
    std::int64_t heads = 0, head_dim = 0, groups = 1, state = 0, convolution = 4;
    bool bias = false, convolution_bias = true;
    friend bool operator==(const Mamba2&, const Mamba2&) = default;
};

/// std::monostate: the layer has none, nor the norm before it.
using TokenMixer = std::variant<std::monostate, GroupedAttention, LatentAttention, CompressedAttention, GatedDelta, KimiDelta, Mamba2>;

struct DenseMlp {
    std::int64_t intermediate = 0;  ///< 0: one GEMM of hidden with hidden in its place
    friend bool operator==(const DenseMlp&, const DenseMlp&) = default;
};

using ChannelMixer = std::variant<std::monostate, DenseMlp, MoeShape>;

struct LayerGroup {
    TokenMixer tokens;
    ChannelMixer channels;
    std::int64_t layers = 1;  ///< this many are of this kind
};

/// Multi-token prediction: modules that propose tokens after the next one. They are in checkpoints, and play no part in ordinary decoding.
struct PredictionHeads {
    std::int64_t modules = 0;
    std::vector<LayerGroup> layers;  ///< of one module, in addition to the projection of two hidden states to one and three norms
    bool own_tables = false;         ///< the checkpoint holds copies of embedding and LM head for each (DeepSeek-V3)
};

}  // namespace roofcast
