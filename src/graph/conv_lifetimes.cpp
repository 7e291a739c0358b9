#include "graph/conv_lifetimes.hpp"

#include <algorithm>

namespace roofcast {

Lifetimes::Lifetimes(const ConvNet& net) : layers_(net.layers), last_use_(net.layers.size(), 0), ending_(net.layers.size()) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        for (const std::int64_t from : layers_[i].from) {
            const std::int64_t source = source_layer(from, i);
            if (source >= 0) last_use_[static_cast<std::size_t>(source)] = i;
        }
    }
    // What reads a view reads the map that it is a part of.
    for (std::size_t i = layers_.size(); i-- > 0;) {
        if (!is_view(i)) continue;
        const std::int64_t source = source_layer(layers_[i].from.front(), i);
        if (source < 0) continue;
        std::size_t& last = last_use_[static_cast<std::size_t>(source)];
        last = std::max(last, last_use_[i]);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        if (last_use_[i] > i && !is_view(i)) ending_[last_use_[i]].push_back(i);
    }
}

}  // namespace roofcast
