#pragma once
/// The least work that an operator asks for, whatever the kernel: FLOPs by unit and precision, and compulsory bytes.

#include <cstdint>
#include <optional>

#include "roofcast/op_graph.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

struct Work {
    Flops matrix, vector;  ///< of GEMMs in `precision`, and of element-wise arithmetic
    Bytes bytes;           ///< every input read once, every output written once
    Precision precision = Precision::fp16;
};

Work work(const Gemm& op);
Work work(const Attention& op);
Work work(const Conv2d& op);
Work work(const Elementwise& op);
Work work(const RowWise& op);
Work work(const Embedding& op);
Work work(const Reduce& op);
Work work(const Move& op);
Work work(const Moe& op);
Work work(const Quantize& op);
Work work(const CausalConvolution& op);
Work work(const Recurrence& op);
Work work(const HyperConnection& op);
Work work(const IndexScores& op);
Work work(const TopK& op);
Work work(const SparseAttention& op);

inline double real(std::int64_t count) {
    return static_cast<double>(count);
}

/// Elements of a convolution's input and output.
inline double input_elements(const Conv2d& op) {
    return real(op.batch) * real(op.in_channels) * real(op.height) * real(op.width);
}
inline double output_elements(const Conv2d& op) {
    return real(op.batch) * real(op.out_channels) * real(op.out_height()) * real(op.out_width());
}

inline bool has_one_tap(const Conv2d& op) {
    return op.kernel_h * op.kernel_w == 1;
}

/// The precision of the GEMMs of `op`, when it has some.
std::optional<Precision> gemm_precision(const Op& op);

/// Elements of a key and a value: what a score multiplies.
double score_width(const Attention& op);

/// Whether Winograd's fast algorithm applies: 3x3, stride 1, ungrouped.
bool winograd_applies(const Conv2d& op);

/// Elements that a token and head take in the KV cache, keys and values together.
double cached_width(const Attention& op);

/// Load of one expert-parallel rank.
struct ExpertLoad {
    double experts;  ///< expected number of distinct experts with a token
    double rows;     ///< tokens × experts chosen
    double absent;   ///< expected number of experts of other ranks with a token
};
ExpertLoad expert_load(const Moe& op);

/// Bytes that the busiest link of a ring moves.
Bytes ring_bytes(const Collective& op);

/// Bytes that a rank's link moves one way in an all-reduce that switches add up: each rank sends its message and receives a share's sum.
Bytes switch_bytes(const Collective& op);

}  // namespace roofcast
