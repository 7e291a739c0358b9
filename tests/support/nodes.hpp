#pragma once
/// Operators of a graph, in its order.

#include <string_view>
#include <vector>

#include "roofcast/op_graph.hpp"

namespace roofcast::test {

inline std::vector<OpNode> nodes_named(const OpGraph& graph, std::string_view name) {
    std::vector<OpNode> found;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.name == name) found.push_back(node);
        }
    }
    return found;
}

template <class Kind>
std::vector<Kind> operators(const OpGraph& graph) {
    std::vector<Kind> found;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (const auto* op = std::get_if<Kind>(&node.op)) found.push_back(*op);
        }
    }
    return found;
}

}  // namespace roofcast::test
