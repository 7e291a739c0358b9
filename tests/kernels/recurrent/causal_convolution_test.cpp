#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu filtering_gpu() {
    Gpu gpu = test::toy_gpu();
    for (CausalConvolutionParameters& p : gpu.parameters.values.recurrent.convolution)
        p = {.fixed_cycles = 0, .token_cycles = 0, .sequence_cycles = 0, .element_cycles = 0, .unaligned = 0, .bandwidth_fraction = 1};
    return gpu;
}

}  // namespace

TEST_CASE("a causal convolution of a prompt reads and writes two bytes an element") {
    Gpu gpu = filtering_gpu();
    CausalConvolutionParameters& p = gpu.parameters.values.recurrent.convolution[0];
    const CausalConvolution op{.batch = 10, .query_len = 1'000, .channels = 1'000};
    CHECK(cost(op, gpu).total.in(us) == rel(400, 1e-9));  // 40 MB / 100 GB/s
    CHECK(compulsory_bytes(op) == 40 * mb);
    p.element_cycles = 1;
    CHECK(cost(op, gpu).total.in(us) == rel(1'000, 1e-9));  // 1e7 cycles / 10 SMs / 1 GHz
    p.sequence_cycles = 500;
    CHECK(cost(op, gpu).total.in(us) == rel(1'500, 1e-9));  // and 1e4 channels of sequences · 500
}

TEST_CASE("a block of eight tokens takes them one after the other") {
    Gpu gpu = filtering_gpu();
    gpu.parameters.values.recurrent.convolution[0].token_cycles = 100;
    const auto warm = [&](std::int64_t tokens) { return cost(CausalConvolution{.query_len = tokens, .channels = 8}, gpu, Cache::warm); };
    CHECK(warm(3).total.in(us) == rel(0.3, 1e-9));
    CHECK(warm(8).total.in(us) == rel(0.8, 1e-9));
    CHECK(warm(5'000).total.in(us) == rel(0.8, 1e-9));  // 160 kB of 1 MB of L2: other blocks run at the same time
}

TEST_CASE("a block that walks along its sequence takes whole steps, in place, and longer where tokens are not aligned") {
    Gpu gpu = filtering_gpu();
    CausalConvolutionParameters& p = gpu.parameters.values.recurrent.convolution[0];
    gpu.profile.libraries.recurrent = {.block_tokens = 512, .walks = true};
    p.element_cycles = 1;
    p.unaligned = 0.5;
    const auto warm = [&](std::int64_t tokens, std::int64_t channels) {
        return cost(CausalConvolution{.query_len = tokens, .channels = channels}, gpu, Cache::warm).total.in(us);
    };
    CHECK(warm(104, 1'000) == rel(51.2, 1e-9));        // 1,000 · 512 cycles / 10 SMs; 208 bytes are 13 · 16
    CHECK(warm(100, 1'000) == rel(1.5 * 51.2, 1e-9));  // 200 bytes are not
    CHECK(warm(520, 1'000) == rel(102.4, 1e-9));
    p.token_cycles = 10;
    CHECK(warm(8'000, 1) == rel(80, 1e-9));  // ten cycles a token, beside 819 of the SMs
    // 1.6 MB are read and written where 0.8 MB lie: 0.8 of L2 lose (0.8 − 0.75) / 0.45 of themselves.
    p = {.fixed_cycles = 0, .token_cycles = 0, .sequence_cycles = 0, .element_cycles = 0, .unaligned = 0, .bandwidth_fraction = 1};
    CHECK(warm(1'000, 400) == rel(16.0 / 9, 1e-9));
}

TEST_CASE("decoding reads and writes the last three inputs of each channel, and verifying may keep more of them") {
    Gpu gpu = filtering_gpu();
    CausalConvolution op{.batch = 100, .query_len = 1, .channels = 1'000, .update = true};
    CHECK(cost(op, gpu).total.in(us) == rel(16, 1e-9));  // 1e5 · (2 · 2 + 2 · 3 · 2) bytes / 100 GB/s
    CHECK(cost(op, gpu, Cache::produced).total == cost(op, gpu).total);
    CHECK(cost(op, gpu, Cache::warm).total.in(us) == rel(16 * 5.0 / 9, 1e-9));  // 1 MB lies in 1 MB of L2: (1 − 0.75) / 0.45 are lost
    op.query_len = 3;
    CHECK(cost(op, gpu).total.in(us) == rel(24, 1e-9));  // 1e5 · (3 · 4 + 12)
    gpu.profile.libraries.recurrent.keeps_verified = true;
    CHECK(cost(op, gpu).total.in(us) == rel(32, 1e-9));  // five inputs a channel: 1e5 · (3 · 4 + 2 · 5 · 2)
    gpu.parameters.values.recurrent.convolution[1].token_cycles = 500;
    CHECK(cost(op, gpu).total.in(us) == rel(33, 1e-9));  // two tokens beyond the first
}
