#pragma once
/// The primitives that convolutional blocks are made of, and the memory that they keep alive.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/count.hpp"
#include "roofcast/op_graph.hpp"

namespace roofcast {

/// Windows on a side of `size` places.
inline Count windows_along(Count size, Count window) {
    return (size + window - 1) / window;
}

/// An activation map [batch, channels, depth, height, width]. A kept one stays in memory until its keeper lets go.
struct Map {
    Count channels = 0, height = 0, width = 0;
    bool kept = false;
    bool planar = false;   ///< plane by plane although convolutions want channels last: what PyTorch's group norm leaves
    bool by_rows = false;  ///< the other way around: channels last in a run of planes, as PyTorch's views of rows are
    bool wide = false;     ///< in fp32 although GEMMs are in 16 bits: mixed precision
    Count depth = 1;
    Count tokens = 0;  ///< rows beside its places, which convolutions and pools pass by: class tokens, registers
    Count window = 0;  ///< places on a side of the windows that it is cut into, the last ones padded; 0: it is whole
    [[nodiscard]] Count places() const { return depth * height * width; }
    [[nodiscard]] Count windows() const { return window > 0 ? windows_along(height, window) * windows_along(width, window) : Count(1); }
    [[nodiscard]] Count rows_of_window() const { return window > 0 ? window * window : places() + tokens; }
    [[nodiscard]] Count rows() const { return windows() * rows_of_window(); }
    [[nodiscard]] Count elements() const { return channels * rows(); }
    /// Elements that its reader takes in addition to what is kept.
    [[nodiscard]] Count taken() const { return kept ? Count(0) : elements(); }
};

/// A convolution with what follows it.
struct ConvSpec {
    Count channels = 0, kernel = 1, stride = 1, groups = 1, dilation = 1;
    Count kernel_width = 0;                ///< 0: a square
    std::optional<Count> padding{};        ///< absent: keeps the size at stride 1
    Count stride_width = 0;                ///< 0: as along the height
    std::optional<Count> padding_width{};  ///< absent: as along the height
    bool bias = false;
    ConvNorm norm = ConvNorm::batch;
    Activation activation = Activation::none;
    bool shared_weights = false;  ///< counted elsewhere
    Count heads = 0;              ///< parts of the channels that share their weights; 0: none do
    bool folded_norm = false;     ///< the bias is what is left of a norm that an exporter folded into the weights
    bool published = true;        ///< false: published counts leave it out

    [[nodiscard]] Count columns() const { return kernel_width > 0 ? kernel_width : kernel; }
    /// Zeros on either end of a side that `taps` run along.
    [[nodiscard]] Count padding_of(Count taps) const { return padding.value_or(dilation * (taps - 1) / 2); }
    [[nodiscard]] Count column_padding() const { return padding_width.value_or(padding_of(columns())); }
    [[nodiscard]] Count column_stride() const { return stride_width > 0 ? stride_width : stride; }
};

/// What a pool takes of its windows. Eager frameworks' maximum also writes where it lies (PyTorch, `max_pool2d_with_indices`).
enum class Pooling { average, maximum };

/// Appends operators to a graph. Batch norm is a node of its own with Fusion::folded: eager execution launches it, engines fold it away.
class ConvBuilder {
public:
    ConvBuilder(const ConvNet& net, const Run& run, const Lowering& lowering);

    const ConvNet& net;

    [[nodiscard]] Map image() const;
    /// Starts a segment; what follows belongs to it.
    void segment(std::string name);
    /// Segments from now on run `times` as often.
    void repeat_segments(Count times) { times_ = times; }

    Map conv(const Map& in, const ConvSpec& spec);
    /// Transposed convolution: a GEMM, then a scatter, which sums where kernels overlap.
    Map transposed(const Map& in, Count channels, Count kernel, Count stride, bool bias);
    /// Fully connected, on `rows` rows an image. The node is valid until the next one.
    OpNode& linear(Count rows, Count in, Count out, bool bias = true);
    /// Normalizes for the GEMM that follows.
    Map normalize(const Map& map, ConvNorm norm);
    /// The same, then activates: EvoNorm and filter response normalization have a non-linearity of their own in place of the activation.
    Map normalize_and_activate(const Map& map, ConvNorm norm, Activation activation);
    /// Normalizes for what is no GEMM: in fp32 where norms compute in it, or with `wide` in mixed precision.
    Map normalized(const Map& map, ConvNorm norm, bool wide = false);
    /// Normalizes over `groups` groups of channels, plane by plane.
    Map group_norm(const Map& map, Count groups);
    void activate(const Map& map, Activation activation);
    /// map = map + other, both of one shape.
    void add(const Map& map);
    /// stream + branch, or another operation on both: wide where one of them is.
    Map add(const Map& stream, const Map& branch, std::string name = "add");
    /// The sum of `maps`, each with a learned weight, over the sum of the weights. Tan et al., EfficientDet (2020), equation 3.
    Map weighted_sum(const std::vector<Map>& maps);
    /// map = map · a constant, or learned factors that lie as the map does.
    void scale(const Map& map, double parameters);
    /// map = map · a factor for each channel of each image.
    void gate(const Map& map);
    /// The sum of `parts` of the channels: wide under mixed precision.
    Map sum_of_parts(const Map& map, Count parts);
    /// map · a factor per channel that a softmax gave: wide under mixed precision.
    Map weigh(const Map& map);
    /// map · a learned factor per channel: wide under mixed precision.
    Map layer_scale(const Map& map);
    /// One element-wise kernel over `map`, which reads as many tensors of its size.
    OpNode& pointwise(std::string name, const Map& map, double reads, double flops, Fusion fusion, double weights = 0);
    /// The same for a sum, which eager frameworks write where `map` lies.
    OpNode& add_in_place(std::string name, const Map& map, double reads, Fusion fusion);
    /// `kernels` element-wise ones over `map` in an eager framework, in fp32 and with a cast for the next GEMM under mixed precision.
    void wide_pointwise(std::string name, const Map& map, double kernels, double flops, double parameters = 0);
    /// `map` as a framework sees what linear layers or norms of rows left: channels last.
    [[nodiscard]] Map as_rows(const Map& map) const;
    /// `map` as sums with wide branches leave it.
    [[nodiscard]] Map as_stream(const Map& map) const;
    /// As the next GEMM reads it.
    Map narrowed(const Map& map);
    Map pool(const Map& in, Pooling kind, Count window, Count stride, Count padding);
    /// A fixed filter over each channel: Zhang, Making Convolutional Networks Shift-Invariant Again (2019).
    Map blur(const Map& in, Count kernel, Count stride);
    Map pool_to(const Map& in, Count size);
    /// To the nearest place, or between the four nearest ones.
    Map upsample(const Map& in, Count factor, bool bilinear = false);
    /// The same, to the places of `out`.
    Map interpolate(const Map& in, Map out, bool bilinear);
    /// `points` places of `values` for each of `rows`, between the four nearest ones, in planes.
    void sample(const Map& values, Count rows, Count points);
    /// Channels side by side, in the widest format; larger maps are cropped to the smallest.
    Map concat(const std::vector<Map>& parts);
    /// The same, as planes.
    Map stack(const std::vector<Map>& parts);
    /// Some of the channels: copied where what reads them wants them side by side.
    Map slice(const Map& in, Count channels, bool copied);
    /// Planes of a map whose channels lie side by side.
    Map to_planes(const Map& map);
    /// Copies `elements` an image: a transpose or a slice that has to be made contiguous. `taken`: of these, those that no kept map has.
    void copy(Count elements, std::string name = "copy", std::optional<Count> taken = {});
    /// `copy` of elements that lie side by side after it and apart before.
    void transpose_rows(Count elements, std::string name);
    /// Copies `map` so that what lay apart lies side by side.
    void transpose(const Map& map, std::string name);
    /// `copy`, for which eager frameworks launch a kernel an image.
    void copy_by_image(Count elements, std::string name);
    /// Masks of windows that every other block shifts, where the CPU computes them.
    void mask_shifted_windows(Count windows, Count places);
    /// What is emitted before the next segment is issued when the GPU has finished what came before, where models ask it for sizes.
    void read_back_sizes() { graph_.segments.back().after_gpu |= lowering_.reads_back_sizes; }
    /// Leaves out those of `boxes` an image that overlap, where scripts do it class by class: kernels for each class of each image.
    void suppress(Count boxes);
    /// Attention of `queries` rows to `keys` rows, in each of `windows` of an image. `value_dim`: 0 where values are as wide as keys.
    /// `taken`: elements of queries, keys and values that no kept map has; absent: all.
    OpNode& cross_attention(Count queries, Count keys, Count heads, Count head_dim, Count windows = 1, Count value_dim = 0,
                            std::optional<Count> taken = {});
    /// `batch` GEMMs of activations [m, k] · [k, n] an image. `wide`: in fp32 whatever the run's format.
    void gemm(std::string name, Count batch, Count m, Count n, Count k, bool wide = false);
    /// Whether attention that the framework's library has no fused kernel for is separate kernels in fp32.
    [[nodiscard]] bool widens_library_attention() const { return lowering_.fp32_library_attention && element_size(stored_) == 2 * byte; }
    /// Softmax in fp32 between the two GEMMs (PyTorch's safe softmax): a mask in the stored format is added where scores are `masked`,
    /// and rows that are masked as a whole are looked for in any case.
    void safe_softmax(Count rows, Count cols, bool masked);
    /// Writes `elements` an image in fp32, multiplies them there, or writes them in the stored format again.
    void widen(Count elements, std::string name);
    void scale_wide(Count elements, std::string name);
    void narrow(Count elements, std::string name);
    /// `kernels` element-wise ones over `map` in an eager framework, in the map's own format.
    OpNode& pointwise_kernels(std::string name, const Map& map, double kernels, double flops);
    /// The same that add or multiply tensors of fewer dimensions.
    void broadcast_kernels(std::string name, const Map& map, double kernels);
    /// Adds a learned table of positions: one of `rows` that is stretched to the map, or 0 for one of its places.
    Map add_positions(const Map& map, Count rows = 0);
    /// `wide`: in fp32 under mixed precision, cast there and back.
    void softmax(Count rows, Count cols, bool wide = false);

    /// Parameters of what is too small to count as an operator.
    void parameters(std::string name, double count);
    /// `steps` kernels that turn four gates a unit, of a GEMM of the inputs and one of the states, and a cell into state and cell.
    void gates(const Map& map, Count steps);

    /// Nodes that another builder made, as part of the current segment.
    void append(std::vector<OpNode> nodes);
    /// Nodes of the current segment.
    [[nodiscard]] std::vector<OpNode>& nodes() { return graph_.segments.back().nodes; }

    /// Memory of `map` stays taken until `release`.
    void keep(Map& map);
    void release(Map& map);

    /// What is emitted from now on runs on `stream`, in parallel with other streams of its segment.
    void on_stream(int stream) { stream_ = stream; }

    [[nodiscard]] OpGraph finish() &&;

private:
    /// Drops the last segment where it is empty, or counts it as a repetition of an equal one before it.
    void close_segment();
    /// Kernels that EvoNorm and filter response normalization are made of. `activated`: with their own non-linearity.
    void evo_norm(const Map& map, bool activated);
    void global_response_norm(const Map& map);
    void filter_response_norm(const Map& map, bool activated);
    /// A norm of each of `rows` equal parts of the map.
    void normalize_rows(const Map& map, Count rows);
    /// `norm`: batch, or frozen, which has no weights of its own.
    void batch_norm(const Map& map, ConvNorm norm);
    /// A frozen batch norm as PyTorch models write it: there is no kernel of it.
    void frozen_norm(const Map& map);
    /// Reads `map` in fp32, for a variance or mean square of each of `groups` of its channels.
    void moments(const Map& map, Count groups);
    /// Normalizes the weights of a convolution that reads `filter` numbers for each of its output channels.
    /// `gain`: with a learned one for each output channel.
    void standardize(Count channels, Count filter, bool gain);
    /// What an operator of its own pads before a convolution, if any does.
    void pad(const Map& in, const ConvSpec& spec);
    /// The operator of `spec` from `in` to `out`.
    [[nodiscard]] Conv2d convolution(const Map& in, const Map& out, const ConvSpec& spec) const;
    /// Utterances of a batch have lengths of their own: a convolution over frames is given zeros beyond them.
    void mask_frames(const Map& map);
    /// Places of a window of `side` along every dimension of the net.
    [[nodiscard]] Count window_places(Count side) const;
    /// `map` with `along(side)` for each side that the net has: height only of squares, depth only of cubes.
    template <class Along>
    [[nodiscard]] Map resized(Map map, Along along) const {
        map.width = along(map.width);
        if (net.dimensions > 1) map.height = along(map.height);
        if (net.dimensions > 2) map.depth = along(map.depth);
        return map;
    }
    OpNode& emit(std::string name, Op op, Fusion fusion, Count in, Count out);
    /// An element-wise operator with `op`'s traffic over all elements of `map` in all images.
    OpNode& convert(std::string name, const Map& map, Elementwise op);
    /// The same over a row of `elements` in each image.
    void convert_row(std::string name, Count elements, const Elementwise& op);
    [[nodiscard]] Elementwise elementwise(const Map& map, double reads, double flops) const;
    [[nodiscard]] bool channels_last(const Map& map) const { return (lowering_.channels_last || map.by_rows) && !map.planar; }
    /// `map` as it is where a kernel has written planes.
    [[nodiscard]] Map as_planes(Map map) const;
    [[nodiscard]] Precision format(const Map& map) const { return map.wide ? wide_ : stored_; }
    [[nodiscard]] bool mixed_precision() const { return wide_ != stored_; }
    /// Whether kernels are eager PyTorch's, which alone of the ways to run a framework adds biases of convolutions apart.
    [[nodiscard]] bool by_eager_pytorch() const { return lowering_.framework() && lowering_.separate_bias; }

    const Run& run_;
    const Lowering& lowering_;
    Precision stored_;  ///< activations between layers
    Precision wide_;    ///< what learned factors, and sums with them, come out in
    Precision norm_;    ///< what layer and group norms compute in
    OpGraph graph_;
    int stream_ = 0;
    Count times_ = 1;
    Count kept_ = 0, peak_ = 0;  ///< elements an image
    std::size_t operators_ = 0;
};

/// Keeps a map alive for the duration of a block: a shortcut, or a part that is joined later.
class Kept {
public:
    Kept(ConvBuilder& builder, const Map& map) : builder_(builder), map_(map), was_kept_(map.kept) {
        if (!was_kept_) builder_.keep(map_);
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() {
        if (!was_kept_) builder_.release(map_);
    }
    [[nodiscard]] const Map& map() const { return map_; }

private:
    ConvBuilder& builder_;
    Map map_;
    bool was_kept_;
};

}  // namespace roofcast
