#pragma once
/// Nets of tensors, operator by operator.

#include <string>
#include <utility>
#include <vector>

#include "graph/tensor/tensor_graph.hpp"

namespace roofcast::test {

class NetOfTensors {
public:
    NetOfTensors() { net.operator_set = 17; }

    int input(std::string name, std::vector<Dimension> shape, ElementType type = ElementType::fp32) {
        net.inputs.push_back(add({.name = std::move(name), .type = type, .shaped = true, .shape = std::move(shape), .values = {}}));
        return net.inputs.back();
    }
    int weight(const std::vector<std::int64_t>& shape, ElementType type = ElementType::fp32) { return add(constant(shape, type, {})); }
    int number(double value) { return add(constant({}, ElementType::fp32, {value})); }
    int whole(const std::vector<double>& values) {
        return add(constant({static_cast<std::int64_t>(values.size())}, ElementType::int64, values));
    }
    int op(std::string kind, std::vector<int> inputs, std::vector<TensorAttribute> attributes = {}, int outputs = 1) {
        TensorNode node{.kind = std::move(kind),
                        .name = "n" + std::to_string(net.nodes.size()),
                        .inputs = std::move(inputs),
                        .outputs = {},
                        .attributes = std::move(attributes)};
        for (int i = 0; i < outputs; ++i) node.outputs.push_back(add({.name = {}, .shape = {}, .values = {}}));
        net.nodes.push_back(node);
        return node.outputs.front();
    }
    void output(int tensor) { net.outputs.push_back(tensor); }
    [[nodiscard]] OpGraph graph(const Run& run = {}, const Lowering& lowering = {}) const { return tensor_graph(net, run, lowering); }

    TensorNet net;

private:
    int add(Tensor tensor) {
        tensor.name = tensor.name.empty() ? "t" + std::to_string(net.tensors.size()) : tensor.name;
        net.tensors.push_back(std::move(tensor));
        return static_cast<int>(net.tensors.size()) - 1;
    }
    static Tensor constant(const std::vector<std::int64_t>& shape, ElementType type, std::vector<double> values) {
        Tensor tensor{
            .name = {}, .type = type, .shaped = true, .constant = true, .initializer = true, .shape = {}, .values = std::move(values)};
        for (const std::int64_t size : shape) tensor.shape.push_back({.size = size});
        return tensor;
    }
};

inline TensorAttribute integers(std::string name, std::vector<std::int64_t> values) {
    return {.name = std::move(name), .integers = std::move(values), .numbers = {}, .text = {}};
}

/// Names of all nodes, with a blank between.
inline std::string names_of(const OpGraph& graph) {
    std::string names;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) names += (names.empty() ? "" : " ") + node.name;
    }
    return names;
}

}  // namespace roofcast::test
