#pragma once
/// Ways to run a transformer beyond one plain pass after another: cached prefixes, chunked prefill, paged KV cache, weights held by the
/// host, speculative decoding. As initialized, all are off. Equations: docs/model/serving.md.

#include <cstdint>
#include <memory>
#include <optional>

#include "roofcast/workload.hpp"

namespace roofcast {

/// A small model, or the large one's own multi-token prediction module, proposes tokens one by one; the large one verifies them in one
/// pass.
struct Speculation {
    std::shared_ptr<const Workload> draft;  ///< a language model with the tokenizer of the large one; of `own_head`, `completed` finds it
    std::int64_t tokens = 0;                ///< proposed in each iteration, at least 1
    double acceptance = 0;                  ///< probability that a proposed token is accepted, the same for each; 0 to 1
    bool own_head = false;                  ///< the model's prediction module drafts: it shares embedding and LM head with the model
};

struct Techniques {
    double cached_prefix = 0;        ///< fraction of the text prompt whose keys and values are in the cache already; [0, 1)
    std::int64_t prefill_chunk = 0;  ///< tokens of a sequence in one pass of prefill; 0: the whole prompt
    std::int64_t kv_block = 1;       ///< tokens in a block of the KV cache; every sequence takes whole blocks
    double offload = 0;              ///< fraction of every layer's weights that lies in host memory; [0, 1]
    std::optional<Speculation> speculation;

    [[nodiscard]] bool any() const {
        return cached_prefix > 0 || prefill_chunk > 0 || kv_block > 1 || offload > 0 || speculation.has_value();
    }
};

/// Tokens that one iteration yields on average: (1 − α^(k+1)) / (1 − α), k + 1 at α = 1. Leviathan et al. 2023, arXiv:2211.17192, eq. 1.
double expected_tokens(double acceptance, std::int64_t draft_tokens);
/// Mean tokens per sequence and decode step: `expected_tokens` with speculative decoding, else 1.
double tokens_per_step(const Techniques& techniques);

/// What speculative decoding brings.
struct SpeculationOutcome {
    double tokens_per_iteration = 1;
    Seconds iteration;   ///< draft steps and one verification, mean over the growing cache
    Seconds plain_tpot;  ///< of the large model alone
    double speedup = 1;  ///< plain TPOT over the time of an iteration for each of its tokens; below 1: slower than without
};

}  // namespace roofcast
