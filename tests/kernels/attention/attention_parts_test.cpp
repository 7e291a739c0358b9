#include "kernels/attention/attention_parts.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

// Worked by hand from the libraries' sources.
TEST_CASE("full waves (FlashAttention-2) take the fewest parts that fill the last wave nearly as well as any") {
    constexpr int sms = 108;                                                                     // 216 blocks side by side
    CHECK(full_wave_parts({}, {.sets = 173, .keys = 65536, .head_dim = 128, .sms = sms}) == 1);  // 0.8 of them
    CHECK(full_wave_parts({}, {.sets = 64, .keys = 256, .head_dim = 128, .sms = sms}) ==
          2);  // two steps of 128 keys: 0.59 filled, 0.30 with one part
    CHECK(full_wave_parts({}, {.sets = 64, .keys = 128, .head_dim = 128, .sms = sms}) == 1);  // a single step
    CHECK(full_wave_parts({}, {.sets = 64, .keys = 512, .head_dim = 128, .sms = sms}) ==
          2);  // four parts need two waves, filled as well as one
    CHECK(full_wave_parts({}, {.sets = 100, .keys = 65536, .head_dim = 128, .sms = sms}) == 2);  // 0.93
    CHECK(full_wave_parts({}, {.sets = 1, .keys = 65536, .head_dim = 128, .sms = sms}) ==
          128);  // 512 steps: 103 parts of 5 are 0.48, 128 of 4 are 0.59
    CHECK(full_wave_parts({}, {.sets = 8, .keys = 4096, .head_dim = 128, .sms = sms}) ==
          16);  // 32 steps: 16 parts of 2 fill as much as 32 of 1
    CHECK(full_wave_parts({}, {.sets = 8, .keys = 4096, .head_dim = 64, .sms = sms}) == 16);   // steps of 256
    CHECK(full_wave_parts({}, {.sets = 8, .keys = 4096, .head_dim = 256, .sms = sms}) == 22);  // steps of 64: 22 parts of 3 are 0.81 filled
}

TEST_CASE("even steps (FlashAttention-3) take as many parts as give each SM a tenth more than its part of steps") {
    constexpr int sms = 132;
    CHECK(even_step_parts({}, {.sets = 1, .keys = 512, .sms = sms}) == 1);       // four steps
    CHECK(even_step_parts({}, {.sets = 8, .keys = 131072, .sms = sms}) == 15);   // 1024 steps of 8 tiles: 69 an SM
    CHECK(even_step_parts({}, {.sets = 1, .keys = 131072, .sms = sms}) == 114);  // 9 an SM
    CHECK(even_step_parts({}, {.sets = 1, .keys = 131072, .sms = 1000}) == 128);
    CHECK(even_step_parts({}, {.sets = 500, .keys = 4096, .sms = sms}) == 1);
}

TEST_CASE("even chunks (FlashInfer) take as many parts of 128 keys and more as two blocks an SM hold") {
    constexpr int sms = 142;
    CHECK(even_chunk_parts({}, {.tiles_of_head = 10, .keys = 256, .kv_heads = 8, .sms = sms}) ==
          2);  // 35 slots for 10 tiles: three parts, but of 128 keys
    CHECK(even_chunk_parts({}, {.tiles_of_head = 10, .keys = 3000, .kv_heads = 8, .sms = sms}) == 3);
    CHECK(even_chunk_parts({}, {.tiles_of_head = 18, .keys = 3000, .kv_heads = 8, .sms = sms}) == 1);
    CHECK(even_chunk_parts({}, {.tiles_of_head = 1, .keys = 100, .kv_heads = 1, .sms = sms}) == 1);
    CHECK(even_chunk_parts({}, {.tiles_of_head = 1, .keys = 131072, .kv_heads = 1, .sms = sms}) == 284);
    CHECK(even_chunk_parts({}, {.tiles_of_head = 1, .keys = 131072, .kv_heads = 300, .sms = sms}) == 1);
}

TEST_CASE("free SMs (trtllm-gen) take as many parts of 256 keys and more as SMs hold") {
    const KeySplit split{.keys = 256};
    CHECK(free_sm_parts(split, {.sets = 1, .keys = 131072, .sms = 148}) == 148);
    CHECK(free_sm_parts(split, {.sets = 1, .keys = 8192, .sms = 148}) == 32);
    CHECK(free_sm_parts(split, {.sets = 50, .keys = 8192, .sms = 148}) == 2);
    CHECK(free_sm_parts(split, {.sets = 75, .keys = 8192, .sms = 148}) == 1);
    CHECK(free_sm_parts(split, {.sets = 300, .keys = 8192, .sms = 148}) == 1);
    CHECK(free_sm_parts(split, {.sets = 1, .keys = 1, .sms = 148}) == 1);
}

TEST_CASE("a launcher that does not split keys takes one part, and one without a known rule leaves the choice") {
    const SplitWork work{.sets = 1, .tiles_of_head = 1, .keys = 65536, .head_dim = 128, .kv_heads = 1, .sms = 108};
    CHECK(split_parts({.algorithm = SplitAlgorithm::none}, work) == 1);
    CHECK_FALSE(split_parts({.algorithm = SplitAlgorithm::fastest}, work));
    CHECK(split_parts({.algorithm = SplitAlgorithm::full_waves}, work) == full_wave_parts({}, work));
    CHECK(split_parts({.algorithm = SplitAlgorithm::even_chunks, .blocks_per_sm = 1}, work) == 108);
}
