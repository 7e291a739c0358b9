#pragma once
/// Operators: the work of a run, independent of the GPU.

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "roofcast/pcie_topology.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/recurrent_op.hpp"
#include "roofcast/sparse_op.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// C[batch, m, n] = A[batch, m, k] · B[batch, k, n]; m is tokens, n outputs, k inputs. B is shared when `batch` is 1.
struct Gemm {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    Precision precision = Precision::fp16;
    double weight_bits = 16;            ///< stored bits per element of B; fewer than the precision's: weight-only quantization
    double unpack_cycles = 0;           ///< of `RoleFormat`
    bool block_scales = false;          ///< of `WeightFormat`
    bool dynamic_quantized = false;     ///< A arrives in 16 bits, and a separate kernel quantizes it per row
    bool bias = false;                  ///< the epilogue adds a bias
    bool in_fp32 = false;               ///< 16-bit operands are multiplied in fp32
    std::optional<Precision> output{};  ///< format of C; absent: 16 bits for the narrower formats, else the precision
    /// Weight-only quantization.
    [[nodiscard]] bool unpacks_weights() const { return weight_bits < 8 * element_size(precision).in(byte); }
    friend bool operator==(const Gemm&, const Gemm&) = default;
};

/// softmax(Q·Kᵀ)·V. Q [batch, heads, query_len, head_dim], K [batch, kv_heads, kv_len, head_dim], V [batch, kv_heads, kv_len, value_dim].
struct Attention {
    std::int64_t batch = 1, heads = 0, kv_heads = 0, head_dim = 0;
    std::int64_t value_dim = 0;  ///< width of a value vector; 0: `head_dim`
    std::int64_t query_len = 0, kv_len = 0;
    bool causal = false;      ///< query i sees keys up to kv_len − query_len + i
    std::int64_t window = 0;  ///< keys each query sees at most; 0: all
    Precision precision = Precision::fp16, kv_precision = Precision::fp16;
    bool fused = true;                          ///< FlashAttention-style; false: scores go through memory
    std::optional<Precision> gemm_precision{};  ///< unfused: compute format of the GEMMs; absent: `precision`
    bool fp32_scores = false;                   ///< unfused: scores are fp32 around the softmax, with casts
    bool copies_heads = false;                  ///< unfused: heads are transposed to the outer dimension and back
    bool separate_mask = false;                 ///< unfused: a separate kernel adds the mask
    bool cached = true;                         ///< keys and values go through a KV cache
    std::optional<Precision> output{};  ///< format of Q and the output; absent: 16 bits for the narrower formats, else the precision
    bool biased = false;                ///< a learned position bias is added to the scores (not a mask)
    bool sinks = false;                 ///< each head has a learned attention sink
    bool in_prefill_kernel = false;     ///< decodes run in the kernel for prompts (chunked prefill of some engines)
    bool values_in_keys = false;        ///< V is the first `value_dim` elements of K (absorbed latent attention): read once
    [[nodiscard]] std::int64_t value_width() const { return value_dim > 0 ? value_dim : head_dim; }
    friend bool operator==(const Attention&, const Attention&) = default;
};

/// Input [batch, in_channels, height, width], filter [out_channels, in_channels/groups, kernel_h, kernel_w].
struct Conv2d {
    std::int64_t batch = 1, in_channels = 0, height = 0, width = 0, out_channels = 0, kernel_h = 1, kernel_w = 1;
    std::int64_t stride = 1, padding_h = 0, padding_w = 0, dilation = 1, groups = 1;
    Precision precision = Precision::fp16;
    bool channels_last = false;
    std::optional<Precision> output{};  ///< format of the output; absent: 16 bits for the narrower formats, else the precision
    std::int64_t stride_w = 0;          ///< along the width, where it is another; 0: `stride`
    [[nodiscard]] std::int64_t column_stride() const { return stride_w > 0 ? stride_w : stride; }
    [[nodiscard]] std::int64_t out_height() const { return (height + 2 * padding_h - dilation * (kernel_h - 1) - 1) / stride + 1; }
    [[nodiscard]] std::int64_t out_width() const { return (width + 2 * padding_w - dilation * (kernel_w - 1) - 1) / column_stride() + 1; }
    friend bool operator==(const Conv2d&, const Conv2d&) = default;
};

/// SIMT instructions per element of GELU's error function, computed in fp32: PyTorch 2.11 and CUDA's erff on H200 and H100 take 37
/// to 42 in 16 bits.
inline constexpr double error_function_instructions = 42;
/// The same for SiLU and tanh.
inline constexpr double silu_instructions = 28, tanh_instructions = 26;
/// The same for a power of two tensors: at most 93 on the A100, 96 to 103 on H100 and H200, also in 16 bits.
inline constexpr double pow_instructions = 95;

/// INT32 instructions per element that a framework or library copies between strides: caches under transformers
/// (software/engines/transformers.toml), joined tensors in 16 bits on the H200 (2.1 ps) and what A100 rows of 8 to 64 query heads a KV head
/// take (20 and 85 tried).
inline constexpr double strided_copy_instructions = 36;
/// The same for an output of PyTorch's bilinear resizing channels last: 9.3 ps in 16 and in 32 bits on the H200.
inline constexpr double bilinear_instructions = 150;

/// A map that a framework normalizes per channel. No channels: none.
struct ChannelMap {
    std::int64_t images = 0, channels = 0;
    bool channels_last = false;
    bool fp32_weights = false;  ///< scale, shift and statistics
    friend bool operator==(const ChannelMap&, const ChannelMap&) = default;
};

/// y[i] = f(x₁[i], …): each element read from `reads` tensors and written to `writes`.
struct Elementwise {
    std::int64_t elements = 0;
    double reads = 1, writes = 1;  ///< tensors; fractions for broadcast operands
    double flops_per_element = 1;
    Precision precision = Precision::fp16;
    bool strided = false;       ///< broadcast or strided operands in an eager framework: addresses are computed per element
    double apart = 0;           ///< tensors read with a stride while writes are contiguous: each element fetches a sector
    double instructions = 0;    ///< known FP32 instructions per element, if they may exceed the FLOPs
    bool any_operands = false;  ///< run by a generic kernel of an eager framework
    int mixed_operands = 0;     ///< operands in differing formats, which a framework loads one by one and converts
    ChannelMap normalized{};    ///< the map, if the kernel is an eager framework's batch normalization
    friend bool operator==(const Elementwise&, const Elementwise&) = default;
};

/// FLOPs per element of softmax and normalizations, and per score of fused attention: maximum or mean, exponential or deviation, sum,
/// scaling.
inline constexpr double row_wise_flops = 5;

enum class RowOp { softmax, layernorm, rmsnorm };
/// A reduction over each of `rows` rows of `cols`, and a rescaling of the row.
struct RowWise {
    RowOp kind = RowOp::layernorm;
    std::int64_t rows = 0, cols = 0;
    Precision precision = Precision::fp16;
    bool any_operands = true;  ///< run by a kernel of an eager framework; false: an engine's, with 16-bit pair instructions
    bool adds = false;         ///< its input is a sum of two tensors, which is written too
    friend bool operator==(const RowWise&, const RowWise&) = default;
};

/// Gathers `tokens` rows of `hidden` from a table.
struct Embedding {
    std::int64_t tokens = 0, hidden = 0;
    Precision precision = Precision::fp16;
    double weight_bits = 0;  ///< stored bits per element of the table; 0: those of the precision
    friend bool operator==(const Embedding&, const Embedding&) = default;
};

/// Pooling or another reduction of `inputs` elements to `outputs`, each output from `window` elements.
struct Reduce {
    std::int64_t inputs = 0, outputs = 0;
    double window = 1;
    Precision precision = Precision::fp16;
    bool addressed = false;  ///< addresses are computed per window element
    bool indexed = false;    ///< the 8-byte index of each output's element is written too
    friend bool operator==(const Reduce&, const Reduce&) = default;
};

/// Data movement without arithmetic: concat, slice, upsample, roll. Elements read and written.
struct Move {
    std::int64_t read = 0, written = 0;
    Precision precision = Precision::fp16;
    std::int64_t apart = 0;           ///< elements read with a stride while writes are contiguous: each fetches a sector
    bool strided = false;             ///< strided rows: addresses are computed per element
    double integer_instructions = 0;  ///< INT32 instructions per element written
    std::int64_t waits = 0;           ///< dependent reads that each thread makes one after the other
    friend bool operator==(const Move&, const Move&) = default;
};

/// Grouped GEMMs of the routed experts: gate/up and down.
struct Moe {
    std::int64_t tokens = 0, hidden = 0, intermediate = 0, experts = 0, top_k = 0;
    bool gated = true;
    Precision precision = Precision::fp16;
    double weight_bits = 16;
    double unpack_cycles = 0;   ///< of `RoleFormat`
    bool block_scales = false;  ///< of `WeightFormat`
    bool balanced = false;      ///< every expert gets as many tokens as the others, as benchmarks deal them; else tokens choose at random
    double imbalance = 0;  ///< popularity of experts falls as rank^-imbalance: the busiest expert-parallel rank waits; 0: all are alike
    std::int64_t tensor_parallel = 1, expert_parallel = 1;
    friend bool operator==(const Moe&, const Moe&) = default;
};

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_to_all, send };
struct Collective {
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::int64_t gpus = 1;
    Bytes bytes;                         ///< message per rank, as NCCL defines it
    std::optional<PcieTopology> pcie{};  ///< of the machine, where it is not that of the GPU's profile
    friend bool operator==(const Collective&, const Collective&) = default;
};

enum class CopyKind { h2d, d2h, d2d };
struct Copy {
    CopyKind kind = CopyKind::h2d;
    Bytes bytes;
    bool pinned = true;
    friend bool operator==(const Copy&, const Copy&) = default;
};

/// `scale_matrix`: each element times a scale that is known. `compute_scale`: what it takes longer where the scale has to be found first.
enum class QuantizeKind { compute_scale, scale_matrix };

/// How the software's kernels go through the tensor.
enum class QuantizeSchedule {
    tensor,      ///< all elements alike, by wide loads; one scale for the tensor, found by kernels of their own
    narrow,      ///< the same, loaded one by one
    rows,        ///< a block a row; scales of rows are found in the kernel that applies them
    elementwise  ///< a framework's kernels one after the other: quotient, limits, conversion and copy
};
inline constexpr std::size_t quantize_schedule_count = 4;
std::string_view name(QuantizeSchedule schedule);

/// Quantizes [rows, cols].
struct Quantize {
    QuantizeKind kind = QuantizeKind::scale_matrix;
    std::int64_t rows = 0, cols = 0;
    Precision from = Precision::bf16, to = Precision::fp8;
    QuantizeSchedule schedule = QuantizeSchedule::tensor;
    friend bool operator==(const Quantize&, const Quantize&) = default;
};

/// An operator that no kernel model covers: withholds the total, is never counted as zero.
struct Unmodelled {
    std::string_view reason;  ///< static text
    double flops = 0;         ///< that the work takes at least; its time is not known all the same
    friend bool operator==(const Unmodelled&, const Unmodelled&) = default;
};

using Op = std::variant<Gemm, Attention, Conv2d, Elementwise, RowWise, Embedding, Reduce, Move, Moe, Collective, Copy, Quantize,
                        CausalConvolution, Recurrence, HyperConnection, IndexScores, TopK, SparseAttention, Unmodelled>;

/// "gemm", "attention", "conv2d", … : the `op` column of measurements.
std::string_view op_class(const Op& op);

/// Multiply-adds count two; element-wise arithmetic included. Attention counts what causal masking and windows leave.
Flops op_flops(const Op& op);

/// Query-key pairs of one head that causal masking and a window leave.
double visible_pairs(const Attention& op);

/// Multiply-adds of GEMMs and convolutions only, attention unmasked: what published GMACs count.
double op_macs(const Op& op);

}  // namespace roofcast
