#pragma once
/// Appends the operators that transformers are made of, with their weights and how compilers and eager frameworks treat them.

#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/count.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

inline double as_count(Count n) {
    return static_cast<double>(n);
}

/// Number formats of a run.
struct Numerics {
    Precision matmul = Precision::fp16;  ///< GEMMs of activations and weights
    Precision vector = Precision::fp16;  ///< LM head and GEMMs of activations
    Precision stored = Precision::fp16;  ///< activations between GEMMs, attention, norms, embeddings
    Precision stream = Precision::fp16;  ///< what layers add to: fp32 under mixed precision, else as stored
    Precision norm = Precision::fp16;    ///< what normalizations compute in
    double weight_bits = 16;
    bool block_scales = false;  ///< of `WeightFormat`
    bool expert_block_scales = false;
    /// How weights are stored, by what they are for. Weight-only quantizers leave embeddings, head and router alone, llama.cpp does not.
    std::array<RoleFormat, tensor_role_count> roles{};
    double head_weight_bits = 16;  ///< of weights that each head multiplies by itself: only llama.cpp keeps these packed
    bool by_tensor = false;        ///< `roles` say how each is stored, not one format for all
    bool framework = false;        ///< kernels over strided or broadcast operands compute each address
    bool adds_in_norms = false;    ///< of `Lowering`
    bool reduces_in_norms = false;
    bool quantizes_apart = false;  ///< activations are quantized with scales of the checkpoint, by a kernel before each GEMM
    bool quantizes_rows = false;   ///< activations are quantized per row at run time (LLM serving); else scales are static
    [[nodiscard]] Bytes element() const { return element_size(stored); }
    [[nodiscard]] const RoleFormat& of(TensorRole role) const { return roles[index(role)]; }
};

/// Formats of `run`. `serving`: 8- and 4-bit GEMMs quantize their activations at run time.
Numerics numerics_of(const Run& run, const Lowering& lowering, bool serving);

/// The same for a decoder, whose tensors may be stored one by one.
Numerics decoder_numerics(const Run& run, const Lowering& lowering);

/// What GEMMs multiply in: tf32 runs of frameworks that keep it to convolutions use fp32.
Precision gemm_precision_of(const Run& run, const Lowering& lowering);
/// Precision of GEMM outputs and of sums with them, in a run that stores activations in `stored`.
Precision stream_precision(const Lowering& lowering, Precision stored);
/// What layer and group norms of such a run compute in.
Precision norm_precision(const Lowering& lowering, Precision stored);
/// Writes `elements` of `stream` again in `stored`, as mixed precision does before each GEMM.
Elementwise narrowing(Count elements, Precision stream, Precision stored);
/// Multiplies `elements` in `from` with a parameter a channel: comes out in `stream`.
Elementwise scaling(Count elements, Precision from, Precision stream);
/// Writes `elements` of `from` in `wide`.
Elementwise widening(Count elements, Precision from, Precision wide);
/// A GELU that a `framework` runs as one kernel is an error function; one of several kernels is what these do.
void by_error_function(OpNode& gelu, bool framework);
/// Adds `elements` in `branch` to as many in `stream`.
Elementwise joining(Count elements, Precision branch, Precision stream);

/// Masks of `windows` windows of `places` places, every other block of which shifts them: what the CPU computes for one block, in the
/// mean, and hands over.
OpNode window_mask(Count windows, Count places, Seconds per_element);

/// Rows and widths of an attention all of whose heads have keys and values of their own.
struct AttentionSize {
    Count batch = 1, heads = 1, key_dim = 0, value_dim = 0, queries = 0, keys = 0;
};
/// What separate GEMMs of attention over `keys` tokens compute in where that is not the `stored` format: TF32 where a framework's other
/// GEMMs do, fp32 where its library has no kernels of tensor cores for rows of an odd number of elements.
std::optional<Precision> attention_gemms(const Run& run, const Lowering& lowering, Precision stored, Count keys);

/// Attention to rows that the same pass computes, stored in `stored`; fused where the run's software fuses it.
Attention pass_attention(const Run& run, const Lowering& lowering, Precision stored, const AttentionSize& size);

/// Kernels that an eager framework (PyTorch with Hugging Face layers) launches for what is one operator here.
namespace eager {
inline constexpr double rope = 5;               // two products, negate, concat, add
inline constexpr double kv_append = 2;          // concatenate keys, concatenate values
inline constexpr double repeat_kv = 2;          // copies, or views, of keys and values that heads share
inline constexpr double unfused_attention = 6;  // GEMM, scale, mask, softmax, GEMM, transpose
inline constexpr double sampling = 3;           // cast, softmax or arg max, gather
inline constexpr double mla_split = 6;          // splits and concatenations of the rotary and plain parts
}  // namespace eager

class LayerBuilder {
public:
    explicit LayerBuilder(const Numerics& numerics, std::size_t expected_nodes = 20) : n_(numerics) { nodes_.reserve(expected_nodes); }

    OpNode& add(OpNode node);
    OpNode& add(std::string_view name, Op op, double weights = 0, Fusion fusion = Fusion::none, double eager_kernels = 1);

    /// y[m, n] = x[m, k] · W + bias.
    OpNode& linear(std::string_view name, Count m, Count n, Count k, bool bias = false, double eager_kernels = 1);
    /// GEMMs of one input [rows, k] with weights of several widths: an eager framework runs one after the other, engines all as `name`.
    /// Parts of width 0 are left out.
    struct Projection {
        std::string_view name;
        Count width;
    };
    void projections(std::string_view name, Count rows, std::initializer_list<Projection> parts, Count k, bool bias = false);
    /// As linear, in the precision of embeddings; `times` of them, each of which reads the weights.
    OpNode& head(std::string_view name, Count m, Count n, Count k, bool bias = false, Count times = 1, TensorRole role = TensorRole::head);
    /// `batch` GEMMs of activations with activations, or of one weight per head.
    OpNode& batched(std::string_view name, Count batch, Count m, Count n, Count k, double weights = 0);
    /// A norm of the stream that the layer before it adds to; `reduced`: an all-reduce brings what is added.
    void sum_norm(std::string_view name, Normalization kind, Count rows, Count cols, bool reduced);
    /// Adds a norm of the residual stream for the following GEMM, with a cast if formats differ.
    OpNode& norm(std::string_view name, Normalization kind, Count rows, Count cols);
    /// Adds a norm of a GEMM's output in the stored format.
    void branch_norm(std::string_view name, Normalization kind, Count rows, Count cols);
    OpNode& elementwise(std::string_view name, Count elements, double reads, double flops, Fusion fusion = Fusion::chain,
                        double eager_kernels = 1);
    OpNode& gelu(Count elements, double eager_kernels = 1);
    /// stream = stream + branch; `scaled`: the branch comes from `layer_scale`.
    OpNode& residual(std::string_view name, Count elements, bool scaled = false);
    /// A learned factor for each of `cols` channels.
    OpNode& layer_scale(std::string_view name, Count rows, Count cols);
    OpNode& move(std::string_view name, Count elements, double eager_kernels = 1, Fusion fusion = Fusion::none);
    /// Between two orders of dimensions, or of broadcast operands: the address of each element is computed.
    OpNode& strided_move(std::string_view name, Count elements, Fusion fusion = Fusion::none);
    OpNode& strided_elementwise(std::string_view name, Count elements, double reads, double flops, double eager_kernels = 1);
    OpNode& embedding(std::string_view name, Count tokens, Count hidden, Count rows);
    /// A learned table of positions.
    OpNode& positions(Count tokens, Count hidden, Count rows);
    OpNode& all_reduce(std::string_view name, Count gpus, Count elements);

    /// What is added from now on runs on `stream`.
    void on_stream(int stream) { stream_ = stream; }
    /// What weights of `linear` are for from now on.
    void of_role(TensorRole role) { role_ = role; }

    [[nodiscard]] const Numerics& numerics() const { return n_; }
    [[nodiscard]] std::vector<OpNode> take() { return std::move(nodes_); }

private:
    /// As Hugging Face's layers write it, kernel by kernel, in fp32.
    void separate_rmsnorm(std::string_view name, Count rows, Count cols);
    /// The kernel alone.
    void normalization(std::string_view name, Normalization kind, Count rows, Count cols);

    Numerics n_;
    std::vector<OpNode> nodes_;
    int stream_ = 0;
    TensorRole role_ = TensorRole::attention;
};

}  // namespace roofcast
