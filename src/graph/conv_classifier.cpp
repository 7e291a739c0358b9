#include "graph/conv_blocks.hpp"

namespace roofcast {

/// YOLO's classifier.
void classify_head(ConvBuilder& b, const Map& x) {
    constexpr Count features = 1280;
    b.segment("classify");
    b.pool_to(b.unit(x, features), 1);
    OpNode& last = b.linear(1, features, b.net.classes);
    // The publisher counts at one place of the last map and multiplies by all places, this layer included.
    last.macs = op_macs(last.op) * static_cast<double>(x.places());
}

}  // namespace roofcast
