#pragma once
/// A convolution with round numbers.

#include "roofcast/op_graph.hpp"

namespace roofcast::test {

/// Eight maps of 128 channels and 64 x 64 places, to as many: filters of `kernel` x `kernel`, padded to keep them.
inline Conv2d fp32_conv(std::int64_t kernel, std::int64_t groups = 1) {
    return {.batch = 8,
            .in_channels = 128,
            .height = 64,
            .width = 64,
            .out_channels = 128,
            .kernel_h = kernel,
            .kernel_w = kernel,
            .padding_h = kernel / 2,
            .padding_w = kernel / 2,
            .groups = groups,
            .precision = Precision::fp32};
}

}  // namespace roofcast::test
