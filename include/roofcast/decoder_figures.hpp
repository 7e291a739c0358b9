#pragma once
/// Figures of a decoder that publishers state, counted layer by layer.

#include <cstdint>
#include <vector>

#include "roofcast/run.hpp"
#include "roofcast/units.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// Parameters of a decoder; a vision tower is no part of it.
struct DecoderParameters {
    double all = 0;
    double active = 0;      ///< that one token is multiplied with: routed experts by top-k; an embedding table only where it is the head
    double tables = 0;      ///< of embedding and head, of which publishers count both, one or none as active
    double prediction = 0;  ///< of multi-token prediction modules, which `all` leaves out and totals of checkpoints hold
};
DecoderParameters decoder_parameters(const DecoderLlm& model);

/// What each further token adds to the KV cache of one sequence on one GPU: full, latent, sparse and compressed layers.
Bytes cache_per_token(const DecoderLlm& model, const Run& run);

/// What one sequence keeps on one GPU however long it is: states of recurrent layers, and windows that are full.
Bytes fixed_cache(const DecoderLlm& model, const Run& run);

/// Layers that keep the same for a sequence on one GPU. All bytes are of one layer.
struct CacheKind {
    Bytes per_token;                ///< of each of the last `window` tokens
    std::int64_t window = 0;        ///< 0: of all tokens
    std::int64_t image_tokens = 0;  ///< kept in place of the sequence's own; 0: layers keep the sequence's
    Bytes compressed;               ///< of each token, in addition to those in the window
    Bytes state;                    ///< however long the sequence is
    std::int64_t layers = 1;        ///< of the whole model
};

/// The layers of `model` that keep anything, by what they keep.
std::vector<CacheKind> cache_kinds(const DecoderLlm& model, const Run& run);

}  // namespace roofcast
