#include "graph/conv_graph.hpp"

#include "roofcast/error.hpp"

namespace roofcast {

OpGraph conv_graph(const ConvNet&, const RunShape&) {
    throw Error({.what = "convolutional nets have no graph yet"});
}

}  // namespace roofcast
