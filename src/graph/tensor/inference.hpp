#pragma once
/// What the rules of operators see: the inputs of one node, and a place for its outputs.

#include <functional>
#include <initializer_list>
#include <string_view>
#include <unordered_map>

#include "graph/tensor/known.hpp"

namespace roofcast {

class Inference {
public:
    Inference(const TensorNet& net, std::vector<KnownTensor>& tensors) : net_(net), tensors_(tensors) {}

    void start(const TensorNode& node) { node_ = &node; }
    [[nodiscard]] const TensorNode& node() const { return *node_; }
    [[nodiscard]] std::int64_t operator_set() const { return net_.operator_set; }

    /// Input `i`; nullptr: it is left out.
    [[nodiscard]] const KnownTensor* in(std::size_t i) const;
    [[nodiscard]] std::size_t inputs() const { return node_->inputs.size(); }
    [[nodiscard]] std::size_t outputs() const { return node_->outputs.size(); }
    /// Shape of input `i`. Throws Error where it is left out.
    [[nodiscard]] const TensorShape& shape(std::size_t i) const;
    [[nodiscard]] ElementType type(std::size_t i) const;
    /// Values of input `i`, if they are known.
    [[nodiscard]] const std::vector<double>* values(std::size_t i) const;
    /// The same as whole numbers.
    [[nodiscard]] std::optional<TensorShape> whole(std::size_t i) const;
    /// The attribute `name`, or the values of input `i`, which newer versions of an operator read in its place.
    [[nodiscard]] std::optional<TensorShape> setting(std::string_view name, std::size_t i) const;

    /// Makes output `i` known. Left out ones are passed over.
    void give(std::size_t i, TensorShape shape, ElementType type);
    /// The same with the type of input 0.
    void give(std::size_t i, TensorShape shape) { give(i, std::move(shape), type(0)); }
    /// The values of output 0, if they are few and depend on no data.
    void give_values(std::vector<double> values);
    /// Whether values of an output of `elements` are worth computing.
    [[nodiscard]] bool wants_values(Count elements) const;

    /// Throws Error that names the node.
    [[noreturn]] void refuse(std::string what, std::string found = {}) const;
    /// `axis` counted from the front. Throws Error where it is none of `rank`.
    [[nodiscard]] std::size_t axis(std::int64_t axis, std::size_t rank) const;

private:
    const TensorNet& net_;
    std::vector<KnownTensor>& tensors_;
    const TensorNode* node_ = nullptr;
    Count kept_ = 0;  ///< values of all tensors
};

using ShapeRule = void (*)(Inference&);
using ShapeRules = std::unordered_map<std::string_view, ShapeRule>;

void add_elementwise_rules(ShapeRules& rules);
void add_layout_rules(ShapeRules& rules);
void add_selection_rules(ShapeRules& rules);
void add_gemm_rules(ShapeRules& rules);
void add_window_rules(ShapeRules& rules);
void add_fused_rules(ShapeRules& rules);

/// What two shapes broadcast to. Throws Error that names the node where they do not fit.
TensorShape broadcast(const Inference& inference, const TensorShape& a, const TensorShape& b);

}  // namespace roofcast
