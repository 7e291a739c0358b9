#include "graph/tensor/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Values of all tensors together: 128 MiB.
constexpr std::int64_t most_kept = std::int64_t{1} << 24;

std::int64_t whole_number(double value) {
    constexpr double most = 0x1p62;
    if (std::isnan(value)) return 0;
    return static_cast<std::int64_t>(std::clamp(value, -most, most));
}

const ShapeRules& shape_rules() {
    static const ShapeRules rules = [] {
        ShapeRules all;
        add_elementwise_rules(all);
        add_layout_rules(all);
        add_selection_rules(all);
        add_gemm_rules(all);
        add_window_rules(all);
        add_fused_rules(all);
        return all;
    }();
    return rules;
}

KnownTensor constant_of(const Tensor& tensor) {
    KnownTensor known{.shape = {}, .values = std::nullopt, .type = tensor.type, .constancy = Constancy::literal, .known = true};
    for (const Dimension& dimension : tensor.shape) known.shape.push_back(dimension.size);
    static_cast<void>(elements_of(known.shape));
    if (!tensor.values.empty()) known.values = tensor.values;
    return known;
}

/// The weakest of what the inputs of `node` depend on, and whether all are known.
std::pair<Constancy, bool> of_inputs(const TensorNode& node, const std::vector<KnownTensor>& tensors) {
    Constancy weakest = Constancy::literal;
    bool known = true;
    for (const int input : node.inputs) {
        if (input == absent_tensor) continue;
        const KnownTensor& tensor = tensors[static_cast<std::size_t>(input)];
        weakest = std::min(weakest, tensor.constancy);
        known = known && tensor.known;
    }
    return {weakest, known};
}

bool draws_numbers(std::string_view kind) {
    return kind.starts_with("Random") || kind == "Multinomial" || kind == "Bernoulli";
}

/// Outputs of an operator without a rule, as the file states them: what follows it is known all the same.
void state_outputs(const TensorNet& net, const Symbols& symbols, const TensorNode& node, std::vector<KnownTensor>& tensors) {
    for (const int output : node.outputs) {
        const auto shape = output == absent_tensor ? std::nullopt : symbols.shape_of(net.tensors[static_cast<std::size_t>(output)]);
        if (!shape) continue;
        KnownTensor& tensor = tensors[static_cast<std::size_t>(output)];
        tensor.shape = *shape;
        tensor.type = net.tensors[static_cast<std::size_t>(output)].type;
        tensor.known = true;
    }
}

}  // namespace

Count elements_of(const TensorShape& shape) {
    Count product = 1;
    for (const std::int64_t size : shape) product *= size;
    return product;
}

const KnownTensor* Inference::in(std::size_t i) const {
    if (i >= node_->inputs.size() || node_->inputs[i] == absent_tensor) return nullptr;
    return &tensors_[static_cast<std::size_t>(node_->inputs[i])];
}

const TensorShape& Inference::shape(std::size_t i) const {
    const KnownTensor* tensor = in(i);
    if (tensor == nullptr) refuse(fmt::format("input {} is missing", i));
    return tensor->shape;
}

ElementType Inference::type(std::size_t i) const {
    const KnownTensor* tensor = in(i);
    return tensor == nullptr ? ElementType::other : tensor->type;
}

const std::vector<double>* Inference::values(std::size_t i) const {
    const KnownTensor* tensor = in(i);
    return tensor == nullptr || !tensor->values ? nullptr : &*tensor->values;
}

std::optional<TensorShape> Inference::whole(std::size_t i) const {
    const std::vector<double>* known = values(i);
    if (known == nullptr) {
        const KnownTensor* tensor = in(i);
        const bool empty = tensor != nullptr && tensor->known && elements_of(tensor->shape) == 0;
        return empty ? std::optional(TensorShape{}) : std::nullopt;
    }
    TensorShape numbers;
    for (const double value : *known) numbers.push_back(whole_number(value));
    return numbers;
}

std::optional<TensorShape> Inference::setting(std::string_view name, std::size_t i) const {
    if (const TensorAttribute* attribute = node_->find(name)) return attribute->integers;
    return whole(i);
}

void Inference::give(std::size_t i, TensorShape shape, ElementType type) {
    if (i >= node_->outputs.size() || node_->outputs[i] == absent_tensor) return;
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) refuse("a dimension would be negative");
    static_cast<void>(elements_of(shape));
    KnownTensor& tensor = tensors_[static_cast<std::size_t>(node_->outputs[i])];
    tensor.shape = std::move(shape);
    tensor.type = type;
    tensor.known = true;
}

bool Inference::wants_values(Count elements) const {
    if (elements > most_values || kept_ + elements > most_kept) return false;
    const KnownTensor& tensor = tensors_[static_cast<std::size_t>(node_->outputs.front())];
    return tensor.constancy != Constancy::data;
}

void Inference::give_values(std::vector<double> values) {
    kept_ += static_cast<std::int64_t>(values.size());
    tensors_[static_cast<std::size_t>(node_->outputs.front())].values = std::move(values);
}

void Inference::refuse(std::string what, std::string found) const {
    throw Error({.what = std::move(what),
                 .key = node_->name.empty() ? node_->kind : fmt::format("{} {}", node_->kind, node_->name),
                 .found = std::move(found),
                 .suggestion = "check the sizes that the run sets, or export the net again"});
}

std::size_t Inference::axis(std::int64_t axis, std::size_t rank) const {
    const auto most = static_cast<std::int64_t>(rank);
    if (axis < -most || axis >= most) refuse("the axis is not one of the tensor's", std::to_string(axis));
    return static_cast<std::size_t>(axis < 0 ? axis + most : axis);
}

TensorShape broadcast(const Inference& inference, const TensorShape& a, const TensorShape& b) {
    const std::size_t rank = std::max(a.size(), b.size());
    TensorShape out(rank);
    for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank], y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
        if (x != y && x != 1 && y != 1)
            inference.refuse("the shapes do not fit together", fmt::format("[{}] and [{}]", fmt::join(a, ", "), fmt::join(b, ", ")));
        out[i] = x == 1 ? y : x;
    }
    return out;
}

std::vector<KnownTensor> known_tensors(const TensorNet& net, const Run& run) {
    std::vector<KnownTensor> tensors(net.tensors.size());
    for (std::size_t i = 0; i < net.tensors.size(); ++i) {
        if (net.tensors[i].constant) tensors[i] = constant_of(net.tensors[i]);
    }
    const Symbols symbols(net, run);
    const std::vector<TensorShape> inputs = symbols.input_shapes();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto number = static_cast<std::size_t>(net.inputs[i]);
        tensors[number] = {
            .shape = inputs[i], .values = std::nullopt, .type = net.tensors[number].type, .known = net.tensors[number].shaped};
    }
    Inference inference(net, tensors);
    const ShapeRules& rules = shape_rules();
    for (const TensorNode& node : net.nodes) {
        const auto [constancy, known] = of_inputs(node, tensors);
        const bool sizes_alone = node.kind == "Shape" || node.kind == "Size";
        const Constancy own = draws_numbers(node.kind) ? Constancy::data
                              : sizes_alone && known   ? std::max(constancy, Constancy::shapes)
                                                       : constancy;
        for (const int output : node.outputs) {
            if (output != absent_tensor) tensors[static_cast<std::size_t>(output)].constancy = own;
        }
        if (!known || node.outputs.empty() || node.outputs.front() == absent_tensor) continue;
        inference.start(node);
        const auto rule = rules.find(node.kind);
        if (rule != rules.end()) rule->second(inference);
        if (rule == rules.end()) state_outputs(net, symbols, node, tensors);
    }
    return tensors;
}

}  // namespace roofcast
