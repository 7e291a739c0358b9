// Batch normalization by the kernels of a framework, on a clock of 1 GHz: a cycle is a nanosecond.

#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu fast_memory() {
    Gpu gpu = test::toy_gpu();
    gpu.profile.bandwidth = 10'000 * gb_per_s;
    gpu.profile.facts.threads_per_sm = 2048;
    gpu.profile.facts.warp_mma_fraction = 0.5;  // a generation whose kernels are known
    test::run_kernels_of("hopper", gpu);
    return gpu;
}

Elementwise normalized(std::int64_t elements, Precision precision, const ChannelMap& map) {
    return {.elements = elements, .reads = 1, .writes = 1, .flops_per_element = 2, .precision = precision, .normalized = map};
}

}  // namespace

TEST_CASE("the library's batch norm in channels last has at most 13 blocks an image") {
    const Gpu gpu = fast_memory();
    // 130 blocks of 512 threads with 16 elements each, four at a time on ten SMs: 3.25 rounds of 16 turns of 650 + 260 + 4 · 125 cycles.
    const Elementwise op =
        normalized(10 * 13 * 8192, Precision::fp32, {.images = 10, .channels = 64, .channels_last = true, .fp32_weights = true});
    CHECK(cost(op, gpu).total.in(us) == rel(3.25 * 16 * (650 + 260 + 4 * 125) / 1000, 1e-3));
    CHECK(cost(op, gpu).bound == Bound::latency);
    // A single image has 13 blocks, however large it is: 1.3 an SM.
    const Elementwise image =
        normalized(13 * 81920, Precision::fp32, {.images = 1, .channels = 64, .channels_last = true, .fp32_weights = true});
    CHECK(cost(image, gpu).total.in(us) == rel(160 * (650 + 260 + 1.3 * 125) / 1000, 1e-3));
}

TEST_CASE("a framework's own batch norm in channels last has blocks for 32 channels and 128 parts of the rows") {
    const Gpu gpu = fast_memory();
    // 2 · 128 blocks with 16 elements a thread, four at once: 6.4 rounds of 4 turns of 1150 + 830 + 4 · 280 cycles.
    const ChannelMap map{.images = 8, .channels = 64, .channels_last = true};
    CHECK(cost(normalized(64 * 128 * 256, Precision::fp16, map), gpu).total.in(us) == rel(79.36, 1e-3));
    // Of twice the rows each thread takes twice as many.
    CHECK(cost(normalized(2 * 64 * 128 * 256, Precision::fp16, map), gpu).total.in(us) == rel(2 * 79.36, 1e-3));
    // Channels that do not fill 32 leave threads idle.
    const ChannelMap odd{.images = 8, .channels = 40, .channels_last = true};
    CHECK(cost(normalized(40 * 128 * 256, Precision::fp16, odd), gpu).total.in(us) == rel(79.36, 1e-3));
}

TEST_CASE("batch norm takes no less time for larger maps") {
    const Gpu gpu = fast_memory();
    for (const bool channels_last : {true, false}) {
        for (const bool by_library : {true, false}) {
            for (const std::int64_t channels : {3, 24, 33, 64, 112}) {
                double before = 0;
                for (std::int64_t side = 1; side < 200; side += 3) {
                    const ChannelMap map{.images = 2, .channels = channels, .channels_last = channels_last, .fp32_weights = by_library};
                    const double now = cost(normalized(2 * channels * side * side, Precision::fp16, map), gpu).total.in(us);
                    CAPTURE(side);
                    CHECK(now >= before * (1 - 1e-12));
                    before = now;
                }
            }
        }
    }
}

TEST_CASE("generations whose kernels were not traced normalize at their bandwidth") {
    Gpu gpu = fast_memory();
    const ChannelMap map{.images = 8, .channels = 64, .channels_last = true};
    const Elementwise op = normalized(64 * 128 * 256, Precision::fp16, map);
    gpu.profile.facts.warp_mma_fraction = 1;
    test::run_kernels_of("ampere", gpu);
    CHECK(cost(op, gpu).total.in(us) == rel(cost(normalized(op.elements, Precision::fp16, {}), gpu).total.in(us), 1e-12));
}

TEST_CASE("batch norm over planes has a block for each") {
    const Gpu gpu = fast_memory();
    // 160 planes of 1536 elements, three a thread: four rounds of 3 turns of 400 + 400 + 4 · 80 cycles, and three later starts.
    const ChannelMap map{.images = 10, .channels = 16};
    CHECK(cost(normalized(160 * 1536, Precision::fp16, map), gpu).total.in(us) == rel(19.14, 1e-3));
    CHECK(cost(normalized(160 * 1536, Precision::fp16, {}), gpu).total.in(us) < 1);
}
