#include "workload/net_channels.hpp"

#include <algorithm>
#include <numeric>

namespace roofcast {

namespace {

std::int64_t unbounded_channels(const ConvNet& net, const ConvLayer& layer, const std::vector<std::int64_t>& in) {
    const std::int64_t entering = in.front();
    if (layer.repeat == 0) return entering;
    switch (layer.block) {
        case ConvBlock::normalize:
        case ConvBlock::maxpool:
        case ConvBlock::avgpool:
        case ConvBlock::blurpool:
        case ConvBlock::adaptive_pool:
        case ConvBlock::global_pool:
        case ConvBlock::positions:
        case ConvBlock::affine:
        case ConvBlock::upsample:
        case ConvBlock::planes:
        case ConvBlock::narrow:
        case ConvBlock::transpose:
        case ConvBlock::local_mix:
        case ConvBlock::view:
        case ConvBlock::first_rows:
        case ConvBlock::extra_tokens:
        case ConvBlock::window_partition:
        case ConvBlock::window_reverse:
        case ConvBlock::pointwise:
        case ConvBlock::scale:
        case ConvBlock::multiply:
        case ConvBlock::suppress:
        case ConvBlock::resize:
        case ConvBlock::synchronize:
        case ConvBlock::channel_gate:
        case ConvBlock::mix_places:
        case ConvBlock::add:
            return entering;
        case ConvBlock::concat:
            return std::accumulate(in.begin(), in.end(), std::int64_t{0});
        case ConvBlock::split_attention:
            return in.size() > 1 ? entering : entering / layer.parts;
        case ConvBlock::sum_of_parts:
            return entering / layer.size;
        case ConvBlock::sample:
            return entering * layer.size;
        case ConvBlock::lstm:
            return 2 * layer.size;
        case ConvBlock::linear:
            return layer.size > 0 ? layer.size : net.classes;
        default:
            return layer.size;
    }
}

}  // namespace

std::int64_t output_channels(const ConvNet& net, const ConvLayer& layer, const std::vector<std::int64_t>& in) {
    // Beyond what graphs accept, so that maps joined with themselves many times do not overflow.
    constexpr std::int64_t most = std::int64_t{1} << 40;
    return std::min(most, unbounded_channels(net, layer, in));
}

}  // namespace roofcast
