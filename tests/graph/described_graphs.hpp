#pragma once
/// Graphs of small nets that tests describe in TOML.

#include <string>
#include <string_view>
#include <vector>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/workload.hpp"
#include "support/paths.hpp"

namespace roofcast::test {

/// A net of `layers` on images of 8x8 with 32 channels, which normalizes nothing by itself. `blocks`: of its own.
inline OpGraph described(const std::string& layers, const Run& run = {}, const Lowering& lowering = {}, const std::string& blocks = {}) {
    const TemporaryFile file("net.toml",
                             "id = \"net\"\nfamily = \"cnn\"\nsource = \"a test\"\nimage_size = 8\nchannels = 32\n"
                             "norm = \"none\"\nlayers = [" +
                                 layers + "]\n" + blocks);
    return forward_graph(load_workload(file.path()), run, lowering);
}

inline double described_parameters(const std::string& layers) {
    return total_parameters(described(layers));
}

/// Why a net is refused.
inline ErrorDetail described_refusal(const std::string& layers) {
    try {
        static_cast<void>(described(layers));
    } catch (const Error& error) {
        return error.detail();
    }
    return {.what = "no error"};
}

inline std::vector<OpNode> nodes_of(const OpGraph& graph, std::string_view name) {
    std::vector<OpNode> found;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.name == name) found.push_back(node);
        }
    }
    return found;
}

}  // namespace roofcast::test
