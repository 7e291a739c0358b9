// Attention among parts of the channels. Zhang et al., ResNeSt: Split-Attention Networks (2020), fig. 2; Li et al., Selective Kernel
// Networks (2019), section 3.1.

#include <fmt/format.h>

#include "graph/conv_blocks.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

Map split_attention(ConvBuilder& b, const std::vector<Map>& in, const ConvLayer& layer) {
    // Maps of their own are stacked first, which leaves planes.
    const bool stacked = in.size() > 1;
    const Count parts = stacked ? Count(in.size()) : Count(layer.parts);
    const Kept all(b, stacked ? b.stack(in) : in.front());
    if (all.map().channels % parts != 0) {
        throw Error({.what = "the parts of a split attention must divide its channels",
                     .key = "parts",
                     .found = fmt::format("{} parts of {} channels", parts, all.map().channels)});
    }
    const Map pooled = b.pool_to(parts > 1 ? b.sum_of_parts(all.map(), parts) : all.map(), 1);
    const Map squeezed = b.conv(pooled, {.channels = layer.size,
                                         .groups = layer.groups,
                                         .bias = layer.bias,
                                         .norm = layer.norm.value_or(b.net.norm),
                                         .activation = layer.activation.value_or(b.net.activation)});
    b.conv(squeezed, {.channels = all.map().channels, .groups = layer.groups, .bias = layer.bias, .norm = ConvNorm::none});
    b.softmax(pooled.channels, parts);
    const Map weighed = b.weigh(all.map());
    // timm's split attention asks for planes.
    return b.to_planes(parts > 1 ? b.sum_of_parts(weighed, parts) : weighed);
}

}  // namespace roofcast
