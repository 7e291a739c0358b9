#pragma once
/// A net with the shapes of one run, and what patterns found in it.

#include <optional>
#include <vector>

#include "graph/tensor/known.hpp"
#include "roofcast/convnet.hpp"
#include "roofcast/workload.hpp"

namespace roofcast {

/// softmax(Q·Kᵀ)·V in `batch` sequences.
struct AttentionShape {
    Count batch = 1, heads = 1, kv_heads = 1, key_dim = 0, value_dim = 0, queries = 0, keys = 0;
    bool causal = false, masked = false, biased = false;
};

enum class StepKind { none, convolution, linear, norm, activation, attention, rotation };

/// Several nodes that run as one operator, or one that a pattern tells more of.
struct Step {
    StepKind kind = StepKind::none;
    int input = absent_tensor, output = absent_tensor;  ///< tensors
    int weights = absent_tensor, bias = absent_tensor;  ///< constants
    int batch_norm = -1;                                ///< node behind a convolution
    Activation activation = Activation::none;
    double kernels = 1;  ///< that eager frameworks launch for an activation
    Normalization norm = Normalization::layernorm;
    std::vector<int> parameters;  ///< constants of a norm
    AttentionShape attention{};
    double weight_bits = 0;  ///< of quantized weights; 0: as the run stores them
};

class NetView {
public:
    NetView(const TensorNet& net, const Run& run);

    const TensorNet& net;
    std::vector<KnownTensor> tensors;
    std::vector<Step> steps;   ///< by node; of the kind `none` where no pattern has it
    std::vector<bool> taken;   ///< nodes that are part of the step of another, or cost nothing
    std::vector<bool> beside;  ///< taken ones that read masks or tables beside what they work on

    [[nodiscard]] const TensorNode& node(int i) const { return net.nodes[static_cast<std::size_t>(i)]; }
    /// An absent one is unknown and has no dimension.
    [[nodiscard]] const KnownTensor& tensor(int t) const { return t < 0 ? absent_ : tensors[static_cast<std::size_t>(t)]; }
    [[nodiscard]] const TensorShape& shape(int t) const { return tensor(t).shape; }
    [[nodiscard]] int nodes() const { return static_cast<int>(net.nodes.size()); }
    /// Node that computes `t`; −1: none does.
    [[nodiscard]] int producer(int t) const { return t < 0 ? -1 : producers_[static_cast<std::size_t>(t)]; }
    [[nodiscard]] const std::vector<int>& readers(int t) const { return t < 0 ? no_readers_ : readers_[static_cast<std::size_t>(t)]; }
    /// The only reader of `t`; −1: there are several, or none, or the net returns it.
    [[nodiscard]] int sole_reader(int t) const;
    [[nodiscard]] bool is_result(int t) const { return t >= 0 && results_[static_cast<std::size_t>(t)]; }
    /// Input `i` of a node, or `absent_tensor`.
    [[nodiscard]] int input(int node, std::size_t i) const;
    /// The first output of a node, or `absent_tensor`.
    [[nodiscard]] int output(int i) const { return node(i).outputs.empty() ? absent_tensor : node(i).outputs.front(); }
    /// Whether data decide it.
    [[nodiscard]] bool computed(int t) const { return t >= 0 && tensor(t).constancy == Constancy::data; }
    /// The number that a constant of one element is.
    [[nodiscard]] std::optional<double> scalar(int t) const;
    /// Whether it is a constant of one element, known or not.
    [[nodiscard]] bool is_scalar(int t) const;
    /// Kind of the node that computes `t`; "" for inputs and constants.
    [[nodiscard]] std::string_view kind_of(int t) const;
    [[nodiscard]] bool free(int node) const { return taken[static_cast<std::size_t>(node)]; }
    [[nodiscard]] bool unclaimed(int node) const { return !free(node) && steps[static_cast<std::size_t>(node)].kind == StepKind::none; }
    void take(int node) { taken[static_cast<std::size_t>(node)] = true; }
    Step& step(int node) { return steps[static_cast<std::size_t>(node)]; }
    [[nodiscard]] const Step& step(int node) const { return steps[static_cast<std::size_t>(node)]; }
    /// The only input of `node` that data decide; nullopt: there are none or several.
    [[nodiscard]] std::optional<int> only_computed(int node) const;

private:
    std::vector<int> producers_;
    std::vector<std::vector<int>> readers_;
    std::vector<bool> results_;
    KnownTensor absent_;
    std::vector<int> no_readers_;
};

/// What no operator of a run computes: constants, shapes, and views of tensors.
void take_free_nodes(NetView& view);
/// Layer and RMS norms that are written as means, roots and quotients.
void find_norms(NetView& view);
/// GELU, SiLU and others that are written as several element-wise operators.
void find_activations(NetView& view);
void find_rotations(NetView& view);
/// GEMMs with weights, and the additions of a bias behind them; convolutions with bias and batch norm.
void find_gemms(NetView& view);
/// MatMul, softmax, MatMul, with scales, masks and the transposes of heads. Takes what masks are made of.
void find_attention(NetView& view);

/// The same tensor without what does not change its elements: casts between floats, dropout, reshaping.
int without_views(const NetView& view, int tensor);

}  // namespace roofcast
