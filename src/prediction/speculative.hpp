#pragma once
/// Speculative decoding: in each iteration the draft model takes k decode steps and the large model verifies k + 1 tokens in one pass.
///
/// With α the probability that a proposed token is accepted, independent of the others, an iteration yields
///     E = (1 − α^(k+1)) / (1 − α)   tokens,   TPOT = (k · t_draft + t_verify) / E
/// Source: Leviathan, Kalman, Matias 2023, "Fast Inference from Transformers via Speculative Decoding", arXiv:2211.17192, eq. 1.
/// Assumptions: all sequences of a batch advance by E; both models on the same GPUs, one after the other; choosing tokens costs nothing.

#include "prediction/phases.hpp"

namespace roofcast {

/// The run of the draft model beside `request`, a completed one of `workload`: same sizes, precision and degrees of parallelism, weights
/// as its own checkpoint has them. Needs `request.techniques.speculation`; `completed_sizes` has seen to it that the model can run so.
Run draft_request(const Workload& workload, const Run& request);

/// Phases in place of decode.
struct SpeculativeDecode {
    Phase draft;   ///< decode steps of the draft model
    Phase verify;  ///< passes of the large one
    SpeculationOutcome outcome;
};

/// `steps` tokens while the cache grows from `context`.
SpeculativeDecode speculative_decode(const PhaseSetting& large, const PhaseSetting& draft, std::int64_t context, std::int64_t steps);

/// Keys and values of a token in the draft model's cache on one GPU; none without a draft model.
Bytes draft_cache_per_token(const Workload& workload, const Run& request);

/// Memory that the draft model adds to one GPU: weights and KV cache; activations where they are larger than those of `large`.
void add_draft_memory(MemoryEstimate& large, const Workload& workload, const Run& request, const SoftwareStacks& software,
                      const Lowering& lowering);

}  // namespace roofcast
