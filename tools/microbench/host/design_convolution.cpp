#include "host/design.hpp"
#include "host/shapes.hpp"

namespace roofcast::microbench {

namespace {

constexpr int random_convolutions = 60;

/// One-byte formats run in NHWC, without groups, on channels in multiples of 16.
bool offered(const Convolution& w, Precision p) {
    if (!wants_alignment(p)) return true;
    return w.channels_last && w.groups == 1 && w.in_channels % 16 == 0 && w.out_channels % 16 == 0;
}

void add(std::vector<Case>& cases, Precision p, Convolution w) {
    for (const bool channels_last : {true, false}) {
        w.channels_last = channels_last;
        const Case c{p, CacheState::cold, w};
        if (offered(w, p) && operations(c) <= largest_operations(p) && compulsory_bytes(c) <= largest_bytes) cases.push_back(c);
    }
}

Convolution random_convolution(Random& random) {
    constexpr std::array<std::int64_t, 4> kernels{1, 3, 5, 7};
    Convolution w;
    w.batch = random.log_uniform(1, 128);
    w.in_channels = 8 * random.log_uniform(1, 128);
    w.out_channels = 8 * random.log_uniform(1, 128);
    w.height = w.width = random.log_uniform(7, 256);
    w.kernel_size = random.one_of(kernels);
    w.stride = random.whole(1, 2);
    w.padding = w.kernel_size / 2;
    return w;
}

}  // namespace

std::vector<Case> convolution_cases(Precision p, Random& random) {
    std::vector<Case> cases;
    for (const auto& layer : convolution_layers) {
        // A filter that steps by its own size cuts the image into patches and wants no border.
        const bool patches = layer.stride == layer.kernel_size;
        Convolution w{1,
                      layer.in_channels,
                      layer.size,
                      layer.size,
                      layer.out_channels,
                      layer.kernel_size,
                      layer.stride,
                      patches ? 0 : layer.kernel_size / 2,
                      layer.groups};
        for (const std::int64_t batch : {std::int64_t{1}, random.log_uniform(2, 16), random.log_uniform(17, 256)}) {
            w.batch = batch;
            add(cases, p, w);
        }
    }
    for (int i = 0; i < random_convolutions; ++i) add(cases, p, random_convolution(random));
    return cases;
}

}  // namespace roofcast::microbench
