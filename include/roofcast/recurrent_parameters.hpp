#pragma once
/// Parameters of the operators in recurrent_op.hpp. Equations: docs/model/recurrence.md.

#include <array>

namespace roofcast {

/// Causal convolutions of prompts, or those that update a state.
struct CausalConvolutionParameters {
    double fixed_cycles = 4000;       ///< start
    double token_cycles = 350;        ///< latency of a token within a thread block
    double sequence_cycles = 1;       ///< of an SM, for a channel of a sequence
    double element_cycles = 0.4;      ///< of an SM, for a channel of a token
    double unaligned = 0;             ///< kernels that walk: longer where tokens of a sequence are no multiple of 16 bytes
    double bandwidth_fraction = 0.7;  ///< of DRAM bandwidth
};

/// Recurrences over prompts, chunk by chunk.
struct ChunkedRecurrenceParameters {
    double fixed_cycles = 25000;        ///< starts of its kernels
    double fill_cycles = 10000;         ///< latency of a chunk's tokens beyond the first, once
    double sequence_cycles = 5000;      ///< of an SM, for a head of a sequence
    double chunk_cycles = 15000;        ///< of an SM, for a head of a chunk, full or not
    double token_cycles = 150;          ///< of an SM, for a head of a token
    double block_cycles = 8000;         ///< of a wave of heads, an SM each
    double chain_cycles = 5500;         ///< of a wave of heads, for each chunk: the state waits for the chunk before
    double passes = 8;                  ///< times that q, k, v and output of each token and value head move, intermediates included
    double working_set_fraction = 0.3;  ///< of these bytes that L2 has to hold at a time
    double overlap = 0.8;               ///< fraction of the non-bounding terms that the bounding one hides
};

/// Recurrences that update a state token by token.
struct RecurrentUpdateParameters {
    double fixed_cycles = 8000;         ///< start
    double token_cycles = 1000;         ///< latency of each token beyond the first
    double element_cycles = 0.2;        ///< of an SM, for an element of a state read or written
    double bandwidth_fraction = 0.8;    ///< of DRAM bandwidth
    double working_set_fraction = 0.5;  ///< of the bytes read and written that L2 has to hold: half where the state is updated in place
};

/// Hyper-connections before or after a sublayer.
struct HyperConnectionParameters {
    double fixed_cycles = 15000;      ///< starts
    double column_cycles = 1;         ///< latency of an element of `hidden`
    double element_cycles = 0.2;      ///< of an SM, for an element of a stream
    double bandwidth_fraction = 0.6;  ///< of DRAM bandwidth, at which streams, inputs and outputs move once
    double working_set_fraction = 1;  ///< of these bytes that L2 has to hold at a time
};

/// Pairs: prompts and updates, before and after.
struct RecurrentParameters {
    std::array<CausalConvolutionParameters, 2> convolution{};
    ChunkedRecurrenceParameters prompt{};
    RecurrentUpdateParameters update{};
    std::array<HyperConnectionParameters, 2> hyper_connection{};
};

}  // namespace roofcast
