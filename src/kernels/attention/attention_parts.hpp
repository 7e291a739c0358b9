#pragma once

#include <cstdint>

#include "roofcast/gpu_profile.hpp"

namespace roofcast {

// How the launchers of attention libraries cut work whose blocks do not fill the GPU, as their sources say: parts of the keys, at first.

/// FlashAttention-2 (num_splits_heuristic): the fewest whose blocks, two to an SM, fill their last wave within 0.85 of the best that any
/// number of parts does; one, where `sets` of rows alone nearly fill the SMs.
std::int64_t flash_attention_2_parts(double sets, std::int64_t keys, std::int64_t head_dim, int sms);

/// FlashAttention-3 (dynamic splits of sequences of different lengths): as many as give each SM its share of the steps of 128 keys and a
/// tenth more; one, where there are four steps or fewer. `tiles`: of rows of all heads and sequences.
std::int64_t flash_attention_3_parts(double tiles, std::int64_t keys, int sms);

/// FlashInfer (PrefillBinarySearchKVChunkSize): as many as two blocks an SM hold, of 128 keys each at least. `tiles`: of rows of one KV
/// head of all sequences.
std::int64_t flashinfer_parts(double tiles, std::int64_t keys, std::int64_t kv_heads, int sms);

/// trtllm-gen: as many as SMs hold, of 256 keys each at least.
std::int64_t trtllm_gen_parts(double sets, std::int64_t keys, int sms);

/// TensorRT (its plugins' list of unrolled kernels): the largest batch whose heads have their queries cut over several blocks; 0: none.
std::int64_t tensorrt_cut_sequences(Precision p, ComputeCapability capability);

}  // namespace roofcast
