#pragma once
/// Parameters of the operators in sparse_op.hpp. Equations: docs/model/sparse-attention.md.

#include <array>

namespace roofcast {

/// Scores of an index.
struct IndexScoresParameters {
    double fixed_cycles = 6000;       ///< start
    double peak_fraction = 0.4;       ///< of the tensor cores' rate
    double bandwidth_fraction = 0.7;  ///< of DRAM bandwidth
};

/// Top-k selection of the largest scores.
struct TopKParameters {
    double fixed_cycles = 12000;  ///< start
    double score_cycles = 0.1;    ///< of an SM, for a score
    double chain_cycles = 0.15;   ///< latency of a row, for a score
};

/// Attention over gathered keys: prefill or decode.
struct SparseAttentionParameters {
    double fixed_cycles = 12000;      ///< start
    double sequence_cycles = 0;       ///< latency of each sequence's keys, brought together one sequence after the other; of prompts
    double query_cycles = 12000;      ///< of an SM, for a query of a block of heads
    double peak_fraction = 0.4;       ///< of the tensor cores' rate
    double gathered_elements = 12;    ///< of keys that an SM takes in, a clock
    double bandwidth_fraction = 0.7;  ///< of DRAM bandwidth
};

struct SparseParameters {
    IndexScoresParameters scores{};
    TopKParameters top_k{};
    std::array<SparseAttentionParameters, 2> attention{};  ///< prompts, decoding
};

}  // namespace roofcast
