#include <doctest/doctest.h>

#include "kernels/toy_gpu.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

Gpu recurrent_gpu() {
    Gpu gpu = test::toy_gpu_with_tensor_cores();
    RecurrentParameters& p = gpu.parameters.values.recurrent;
    p.prompt = {.fixed_cycles = 0,
                .fill_cycles = 0,
                .sequence_cycles = 0,
                .chunk_cycles = 0,
                .token_cycles = 0,
                .block_cycles = 0,
                .chain_cycles = 0,
                .passes = 1,
                .working_set_fraction = 0.05,
                .overlap = 1};
    p.update = {.fixed_cycles = 0, .token_cycles = 0, .element_cycles = 0, .bandwidth_fraction = 1, .working_set_fraction = 0.5};
    return gpu;
}

/// Ten sequences of a token, ten heads with states of 100 × 100.
Recurrence decoding() {
    return {.batch = 10,
            .query_len = 1,
            .key_heads = 10,
            .key_dim = 100,
            .value_heads = 10,
            .value_dim = 100,
            .update = true,
            .precision = Precision::fp16};
}

/// A sequence of this many tokens, narrow heads.
Recurrence prompt(std::int64_t tokens, std::int64_t heads) {
    return {.query_len = tokens, .key_heads = 1, .key_dim = 10, .value_heads = heads, .value_dim = 10, .precision = Precision::fp16};
}

double warm(const Recurrence& op, const Gpu& gpu) {
    return cost(op, gpu, Cache::warm).total.in(us);
}

}  // namespace

TEST_CASE("decoding reads and writes the state in fp32") {
    Gpu gpu = recurrent_gpu();
    // 1e6 elements · 8 bytes, and 10 · 4,000 of q, k, v and o · 2, at 100 GB/s.
    CHECK(cost(decoding(), gpu).total.in(us) == rel(80.8, 1e-9));
    CHECK(compulsory_bytes(decoding()) == 8.08 * mb);
    gpu.parameters.values.recurrent.update.element_cycles = 1;
    CHECK(cost(decoding(), gpu).total.in(us) == rel(200, 1e-9));  // 2e6 cycles / 10 SMs
}

TEST_CASE("a state that L2 holds is updated there") {
    Gpu gpu = recurrent_gpu();
    gpu.parameters.values.recurrent.update.element_cycles = 1;
    Recurrence op = decoding();
    op.batch = 1;  // 0.8 MB read and written, 0.4 MB in place
    CHECK(warm(op, gpu) == rel(20, 1e-9));
    CHECK(cost(op, gpu, Cache::warm).dram_bytes == 0 * byte);
    CHECK(cost(op, gpu, Cache::produced).dram_bytes == 0.808 * mb);  // in a pass other layers ran since
}

TEST_CASE("verifying writes the state after each token") {
    Gpu gpu = recurrent_gpu();
    gpu.parameters.values.recurrent.update.token_cycles = 1'000;
    Recurrence op = decoding();
    op.query_len = 3;
    CHECK(cost(op, gpu).total.in(us) == rel(162, 1e-9));  // 1e6 · 4 · (1 + 3) bytes, and two tokens beyond the first
}

TEST_CASE("kernels may keep the state in other formats than the operator states") {
    Gpu gpu = recurrent_gpu();
    gpu.profile.libraries.recurrent.state_read = Precision::bf16;
    CHECK(cost(decoding(), gpu).total.in(us) == rel(60.8, 1e-9));  // 2 bytes an element read, 4 written
}

TEST_CASE("chunks of a prompt share the SMs, and wait for each other along a sequence") {
    Gpu gpu = recurrent_gpu();
    ChunkedRecurrenceParameters& p = gpu.parameters.values.recurrent.prompt;
    p.chunk_cycles = 1'000;
    CHECK(warm(prompt(640, 20), gpu) == rel(20, 1e-9));  // 20 heads · 10 chunks · 1,000 cycles / 10 SMs
    CHECK(warm(prompt(577, 20), gpu) == rel(20, 1e-9));  // the last chunk is not full
    p.token_cycles = 10;
    CHECK(warm(prompt(640, 20), gpu) == rel(32.8, 1e-9));  // and 20 · 640 · 10 / 10
    p.chain_cycles = 500;
    CHECK(warm(prompt(640, 1), gpu) == rel(5, 1e-9));  // ten chunks one after the other: longer than 1.64 on the SMs
    p.block_cycles = 1'000;
    CHECK(warm(prompt(640, 11), gpu) == rel(18.04, 1e-9));  // 12 in two waves; 11 · 16,400 / 10 on the SMs
    p.chain_cycles = 1'000;
    CHECK(warm(prompt(640, 11), gpu) == rel(22, 1e-9));
    p.fill_cycles = 3'000;
    CHECK(warm(prompt(640, 11), gpu) == rel(25, 1e-9));
    p = {.fixed_cycles = 0,
         .fill_cycles = 3'000,
         .sequence_cycles = 500,
         .chunk_cycles = 0,
         .token_cycles = 0,
         .block_cycles = 0,
         .chain_cycles = 0,
         .passes = 1,
         .working_set_fraction = 0.05,
         .overlap = 1};
    CHECK(warm(prompt(16, 20), gpu) == rel(0.75 + 1, 1e-9));  // a quarter of a chunk; 20 · 500 / 10 cycles
}

TEST_CASE("what goes between the kernels of a prompt comes from DRAM where L2 does not hold it") {
    Gpu gpu = recurrent_gpu();
    ChunkedRecurrenceParameters& p = gpu.parameters.values.recurrent.prompt;
    const Recurrence op = prompt(6'400, 20);
    // q and k of the only head, v, o: 6,400 · 420 · 2 bytes; the state of 2,000 elements is written.
    CHECK(compulsory_bytes(op) == 5.384 * mb);
    CHECK(cost(op, gpu).dram_bytes.in(mb) == rel(5.384, 1e-9));
    p.passes = 4;                // 20 · 6,400 · 40 · 2 · 4 bytes and 8 of each element of the state: 40.976 MB
    p.working_set_fraction = 1;  // far beyond L2
    CHECK(cost(op, gpu).dram_bytes.in(mb) == rel(40.976, 1e-9));
    CHECK(cost(op, gpu).total.in(us) == rel(409.76, 1e-9));
}

TEST_CASE("Mamba-2 multiplies twice with its state, delta rules three times") {
    Recurrence op = decoding();
    CHECK(op_macs(op) == 3e6);
    op.layer = RecurrentLayer::mamba2;
    CHECK(op_macs(op) == 2e6);
    CHECK(cost(op, recurrent_gpu()).total == cost(decoding(), recurrent_gpu()).total);
}
