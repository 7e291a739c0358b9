#pragma once

#include <cstdint>
#include <optional>

#include "roofcast/attention_design.hpp"

namespace roofcast {

/// Blocks whose keys a launcher may split.
struct SplitWork {
    double sets = 1;           ///< of rows of queries of all heads and sequences, each of which is one block without a split
    double tiles_of_head = 1;  ///< of rows of one KV head, of all sequences
    std::int64_t keys = 0;     ///< of each
    std::int64_t head_dim = 0, kv_heads = 1, sms = 1;
};

/// Parts that keys are split into, at first, by the launchers of libraries as their sources say; nullopt: those that are fastest.
std::optional<std::int64_t> split_parts(const KeySplit& split, const SplitWork& work);

/// FlashAttention-2's rule (num_splits_heuristic): the fewest parts whose blocks fill their last wave within 0.85 of the best that any
/// number of parts does; one, where the sets alone nearly fill the SMs. Steps of keys are the longer the narrower the head.
std::int64_t full_wave_parts(const KeySplit& split, const SplitWork& work);

/// FlashAttention-3's (dynamic splits of sequences of different lengths): as many as give each SM its part of the steps of `split.keys`
/// and a tenth more; one, where there are four steps or fewer.
std::int64_t even_step_parts(const KeySplit& split, const SplitWork& work);

/// FlashInfer's (PrefillBinarySearchKVChunkSize): as many as all slots for blocks hold, of `split.keys` each at least.
std::int64_t even_chunk_parts(const KeySplit& split, const SplitWork& work);

/// trtllm-gen's: as many as SMs hold, of `split.keys` each at least.
std::int64_t free_sm_parts(const KeySplit& split, const SplitWork& work);

}  // namespace roofcast
