#pragma once
/// Operators: what a GPU has to do, before any GPU is named.

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
    bool block_scales = false;          ///< of `WeightFormat`
    bool dynamic_quantized = false;     ///< A arrives in 16 bits and is quantized per row by a kernel of its own
    bool bias = false;                  ///< its epilogue adds one
    bool in_fp32 = false;               ///< operands of 16 bits are multiplied in fp32
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
    bool fused = true;  ///< FlashAttention-style; false: scores go through memory
    std::optional<Precision>
        gemm_precision{};               ///< then: format that the GEMMs compute in, whatever they are stored in; absent: `precision`
    bool fp32_scores = false;           ///< then: in fp32 around the softmax, cast there and back
    bool copies_heads = false;          ///< then: heads become the outer dimension of queries, keys and values, and an inner one again
    bool separate_mask = false;         ///< then: added to the scores by a kernel of its own
    bool cached = true;                 ///< keys and values go into a KV cache, and those of earlier tokens come from it
    std::optional<Precision> output{};  ///< format of Q and the output; absent: 16 bits for the narrower formats, else the precision
    bool biased = false;                ///< learned positions are added to the scores; masks are not counted
    bool sinks = false;                 ///< a learned score a head joins softmax
    bool in_prefill_kernel = false;     ///< decoding sequences are part of a kernel for prompts (chunked prefill of some engines)
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
    [[nodiscard]] std::int64_t out_height() const { return (height + 2 * padding_h - dilation * (kernel_h - 1) - 1) / stride + 1; }
    [[nodiscard]] std::int64_t out_width() const { return (width + 2 * padding_w - dilation * (kernel_w - 1) - 1) / stride + 1; }
    friend bool operator==(const Conv2d&, const Conv2d&) = default;
};

/// Instructions of CUDA cores that the error function of GELU takes an element, in fp32 whatever is stored: PyTorch 2.11 and CUDA's erff on
/// H200 and H100 in 16 bits, 37 to 42.
inline constexpr double error_function_instructions = 42;
/// The same of SiLU and of the hyperbolic tangent.
inline constexpr double silu_instructions = 28, tanh_instructions = 26;
/// The same of a power of two tensors: 93 at most by rows of the A100, 96 to 103 on H100 and H200, in 16 bits alike.
inline constexpr double pow_instructions = 95;

/// Instructions of the INT32 cores for an element that a framework or library copies between strides: caches under transformers
/// (software/engines/transformers.toml), joined tensors in 16 bits on the H200 (2.1 ps) and what A100 rows of 8 to 64 query heads a KV head
/// take (20 and 85 tried).
inline constexpr double strided_copy_instructions = 36;
/// The same for an output of PyTorch's bilinear resizing channels last: 9.3 ps in 16 and in 32 bits on the H200.
inline constexpr double bilinear_instructions = 150;

/// A map that a framework normalizes channel by channel; none: no channels.
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
    bool strided = false;  ///< operands are broadcast or strided in an eager framework: each element's address is computed
    double apart = 0;      ///< tensors read whose elements lie apart where those written lie side by side: each is fetched with its sector
    double instructions = 0;    ///< of the FP32 cores for an element, where they are known and may take longer than the FLOPs
    bool any_operands = false;  ///< by a kernel made for operands of any kind, as eager frameworks have them
    int mixed_operands = 0;     ///< operands of a kernel whose formats differ: a framework's loads these one by one and converts them
    ChannelMap normalized{};    ///< the map, where the kernel is an eager framework's batch normalization
    friend bool operator==(const Elementwise&, const Elementwise&) = default;
};

/// FLOPs of softmax and normalizations, an element: mean or maximum, deviation or exponential, sum, scaling; of fused attention, a score.
inline constexpr double row_wise_flops = 5;

enum class RowOp { softmax, layernorm, rmsnorm };
/// A reduction over each of `rows` rows of `cols`, and a rescaling of the row.
struct RowWise {
    RowOp kind = RowOp::layernorm;
    std::int64_t rows = 0, cols = 0;
    Precision precision = Precision::fp16;
    bool any_operands = true;  ///< by a kernel of eager frameworks; false: an engine's, with instructions for pairs of 16-bit elements
    bool adds = false;         ///< its rows are the sum of two inputs, which is written beside the result
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
    bool addressed = false;  ///< the address of each element of a window is computed
    bool indexed = false;    ///< where each output's element lies is written beside it, in 8 bytes
    friend bool operator==(const Reduce&, const Reduce&) = default;
};

/// Data movement without arithmetic: concat, slice, upsample, roll. Elements read and written.
struct Move {
    std::int64_t read = 0, written = 0;
    Precision precision = Precision::fp16;
    std::int64_t apart = 0;           ///< elements written side by side that lie apart where they are read: each is fetched with its sector
    bool strided = false;             ///< rows lie apart: each element's address is computed
    double integer_instructions = 0;  ///< of the INT32 cores, for each element written
    std::int64_t waits = 0;           ///< reads that each thread of the kernel makes one after the other, each when the one before has come
    friend bool operator==(const Move&, const Move&) = default;
};

/// Grouped GEMMs of the routed experts: gate/up and down.
struct Moe {
    std::int64_t tokens = 0, hidden = 0, intermediate = 0, experts = 0, top_k = 0;
    bool gated = true;
    Precision precision = Precision::fp16;
    double weight_bits = 16;
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
