#pragma once
/// Operators of layers that carry a state from token to token in place of a KV cache, and of residual streams that mix.

#include <cstdint>
#include <optional>
#include <string_view>

#include "roofcast/precision.hpp"

namespace roofcast {

/// Layers with a recurrent state. Of each value head it is a matrix [key_dim, value_dim].
enum class RecurrentLayer {
    gated_delta,  ///< gated delta rule: a decay for each head
    kda,          ///< Kimi delta attention: a decay for each channel of a key
    mamba2        ///< state space duality: a decay for each head, and no correction by what the state holds
};
inline constexpr std::size_t recurrent_layer_count = 3;
std::string_view name(RecurrentLayer layer);

/// A causal filter of `width` taps along the tokens of each channel: x [batch, query_len, channels]. A sequence carries its last
/// `width` − 1 inputs.
struct CausalConvolution {
    RecurrentLayer layer = RecurrentLayer::gated_delta;  ///< that it belongs to
    std::int64_t batch = 1, query_len = 0, channels = 0, width = 4;
    std::int64_t key_channels = 0;  ///< of `channels`, those of keys; 0: not stated
    bool update = false;            ///< from a state that it updates in place: decoding, or verifying several tokens; false: a prompt
    Precision precision = Precision::bf16;
    friend bool operator==(const CausalConvolution&, const CausalConvolution&) = default;
};

/// S ← decay ∘ S + k ⊗ (v − decay ∘ S·k), o = S·q of each token and value head; of Mamba-2 S ← decay · S + k ⊗ v.
/// q, k [batch, query_len, key_heads, key_dim], v and o [batch, query_len, value_heads, value_dim].
struct Recurrence {
    RecurrentLayer layer = RecurrentLayer::gated_delta;
    std::int64_t batch = 1, query_len = 0, key_heads = 0, key_dim = 0, value_heads = 0, value_dim = 0;
    bool update = false;      ///< token by token from a state: decoding, or verifying several tokens; false: a prompt in chunks
    std::int64_t chunk = 64;  ///< tokens of a prompt that are taken together
    Precision precision = Precision::bf16;
    Precision state_read = Precision::fp32, state_written = Precision::fp32;  ///< formats of the state before and after
    friend bool operator==(const Recurrence&, const Recurrence&) = default;
};

/// `pre`: reads the streams, finds the mixing matrix and sums them to a layer's input. `post`: mixes them and adds the layer's output.
enum class HyperConnectionKind { pre, post };

/// Manifold-constrained hyper-connections around `sites` sublayers: residual streams [tokens, streams, hidden].
struct HyperConnection {
    HyperConnectionKind kind = HyperConnectionKind::pre;
    std::int64_t tokens = 0, sites = 1, streams = 0, hidden = 0;
    std::int64_t iterations = 0;  ///< of Sinkhorn's scaling of the mixing matrix, [streams, streams] a token
    Precision precision = Precision::bf16;
    friend bool operator==(const HyperConnection&, const HyperConnection&) = default;
};

/// What a library's kernels of recurrent layers do beyond the operator.
struct RecurrentKernels {
    std::int64_t block_tokens = 8;  ///< tokens of a convolution that a thread block takes in one step
    bool walks = false;             ///< it goes on along its sequence and writes in place; false: a step a block, into another tensor
    bool keeps_verified = false;    ///< a convolution's state holds the inputs of all tokens that are verified
    std::optional<Precision> state_read{}, state_written{};  ///< formats of a recurrence's state; absent: as the operator says
};

}  // namespace roofcast
