#pragma once
/// Turns the nodes of a net into operators, one after the other.

#include <set>
#include <string>
#include <vector>

#include "graph/conv_builder.hpp"
#include "graph/layer_builder.hpp"
#include "graph/tensor/net_view.hpp"

namespace roofcast {

class NetEmitter {
public:
    NetEmitter(const TensorNet& net, const Run& run, const Lowering& lowering);
    OpGraph emit() &&;

private:
    void find_domain();
    void group_projections();
    void find_layer_starts();
    void find_layouts();
    /// The first of the GEMMs that read what GEMM `i` does.
    [[nodiscard]] int first_projection(int i) const;
    /// Whether `t` is added to a branch later, so that it is the residual stream.
    [[nodiscard]] bool is_stream(int t) const;
    void node(int i);
    void step(int i, const Step& found);

    // emit_steps.cpp
    void convolution(int i, const Step& found);
    void patch_embedding(int i, const Step& found);
    void transposed_convolution(int i, const Step& found);
    void linear(int i, const Step& found);
    void gemm_of_rows(const Step& found, Count rows, Count width, Count inner);
    void norm(const Step& found);
    void activation(const Step& found);
    void attention(const Step& found);
    void rotation(const Step& found);
    /// The kernel of rotations that were left to it.
    void pending_rotation();
    [[nodiscard]] ConvSpec conv_spec(int i, const Step& found, Map& in) const;
    [[nodiscard]] Attention attention_op(const AttentionShape& a) const;

    // emit_nodes.cpp, emit_movement.cpp, emit_gemms.cpp: what no pattern has
    bool elementwise(int i);
    bool binary(int i);
    bool reduction(int i);
    bool movement(int i);
    bool gemm(int i);
    bool normalization(int i);
    void sum(int i);
    void with_constant(int i, int constant);
    void concat(int i);
    /// Whether another concatenation alone reads `t`: its parts are written where that has them.
    [[nodiscard]] bool is_joined_again(int t) const;
    void resize(int i);
    void pool(int i);
    void global_pool(int i);
    void recurrent(int i);
    void quantizing(int i);

    // emit_fused.cpp: operators of ONNX Runtime
    bool fused(int i);
    void packed_attention(int i);
    void grouped_attention(int i);
    void cross_attention(int i);
    void skip_norm(int i);
    void embed_norm(int i);

    void unmodelled(int i);
    /// Moves what the layer builder made to the graph.
    void flush() { maps_.append(rows_.take()); }
    /// A map of `t`, whose first dimension becomes the batch.
    Map map_of(int t);
    [[nodiscard]] bool is_map(int t) const { return view_.shape(t).size() >= 4; }
    /// Whether `t` is a map in a convolutional net: runtimes fold what reads it into the convolution before it.
    [[nodiscard]] bool by_maps(int t) const { return !transformer_ || is_map(t); }
    [[nodiscard]] Count elements(int t) const { return elements_of(view_.shape(t)); }
    /// Learned numbers in what constant `t` is made of, if nothing had them before.
    double parameters(int t);
    /// Whether `t` is read for the first time as weights.
    bool first_use(int t);
    /// Whether an operator that runs computes `t`, or the net is given it.
    [[nodiscard]] bool is_active(int t) const;

    NetView view_;
    Run run_;  ///< its batch is that of the map that is worked on
    const Lowering& lowering_;
    ConvNet net_;
    ConvBuilder maps_;
    Numerics numerics_;
    LayerBuilder rows_;
    bool transformer_ = false;
    std::set<int> counted_;
    std::vector<std::vector<int>> groups_;  ///< GEMMs of one input, by node; empty: none, or another node emits them
    std::vector<bool> grouped_;             ///< nodes that are part of a group
    std::vector<bool> by_rows_;             ///< maps that lie channels last because rows left them so, by tensor
    std::set<int> starts_;                  ///< nodes that begin a layer
    Count rotated_ = 0;                     ///< elements whose rotation no kernel has yet
    std::set<int> gated_;                   ///< activations whose result is multiplied, and nothing else
};

/// The most memory that tensors take at once, in elements of the stored format.
double peak_elements(const NetView& view, bool framework, bool fuses_attention);

}  // namespace roofcast
