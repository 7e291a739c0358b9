#pragma once
// Graphs of shipped models, and nodes in them by name.

#include <doctest/doctest.h>

#include <string_view>

#include "graph/families.hpp"
#include "roofcast/op_graph.hpp"
#include "support/paths.hpp"

namespace roofcast::test {

inline Workload shipped(const char* id) {
    return find_workload(test::models_dir(), id);
}

inline DecoderLlm decoder(const char* id) {
    return std::get<DecoderLlm>(shipped(id).architecture);
}

inline const OpNode* find_node(const OpGraph& graph, std::string_view name) {
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.name == name) return &node;
        }
    }
    return nullptr;
}

template <class T>
T op_of(const OpGraph& graph, std::string_view name) {
    const OpNode* node = find_node(graph, name);
    REQUIRE(node != nullptr);
    return std::get<T>(node->op);
}

}  // namespace roofcast::test
