#include "kernels/attention/attention_parts.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

// Worked by hand from the libraries' sources.
TEST_CASE("FlashAttention-2 takes the fewest parts that fill the last wave nearly as well as any") {
    constexpr int sms = 108;                                    // 216 blocks side by side
    CHECK(flash_attention_2_parts(173, 65536, 128, sms) == 1);  // 0.8 of them
    CHECK(flash_attention_2_parts(64, 256, 128, sms) == 2);     // two steps of 128 keys: 0.59 filled, 0.30 with one part
    CHECK(flash_attention_2_parts(64, 128, 128, sms) == 1);     // a single step
    CHECK(flash_attention_2_parts(64, 512, 128, sms) == 2);     // four parts need two waves, filled as well as one
    CHECK(flash_attention_2_parts(100, 65536, 128, sms) == 2);  // 0.93
    CHECK(flash_attention_2_parts(1, 65536, 128, sms) == 128);  // 512 steps: 103 parts of 5 are 0.48, 128 of 4 are 0.59
    CHECK(flash_attention_2_parts(8, 4096, 128, sms) == 16);    // 32 steps: 16 parts of 2 fill as much as 32 of 1
    CHECK(flash_attention_2_parts(8, 4096, 64, sms) == 16);     // steps of 256
    CHECK(flash_attention_2_parts(8, 4096, 256, sms) == 22);    // steps of 64: 22 parts of 3 are 0.81 filled
}

TEST_CASE("FlashAttention-3 takes as many parts as give each SM a tenth more than its share of steps") {
    constexpr int sms = 132;
    CHECK(flash_attention_3_parts(1, 512, sms) == 1);       // four steps
    CHECK(flash_attention_3_parts(8, 131072, sms) == 15);   // 1024 steps of 8 tiles: 69 an SM
    CHECK(flash_attention_3_parts(1, 131072, sms) == 114);  // 9 an SM
    CHECK(flash_attention_3_parts(1, 131072, 1000) == 128);
    CHECK(flash_attention_3_parts(500, 4096, sms) == 1);
}

TEST_CASE("FlashInfer takes as many parts of 128 keys and more as two blocks an SM hold") {
    constexpr int sms = 142;
    CHECK(flashinfer_parts(10, 256, 8, sms) == 2);  // 35 slots for 10 tiles: three parts, but of 128 keys
    CHECK(flashinfer_parts(10, 3000, 8, sms) == 3);
    CHECK(flashinfer_parts(18, 3000, 8, sms) == 1);
    CHECK(flashinfer_parts(1, 100, 1, sms) == 1);
    CHECK(flashinfer_parts(1, 131072, 1, sms) == 284);
    CHECK(flashinfer_parts(1, 131072, 300, sms) == 1);
}

TEST_CASE("trtllm-gen takes as many parts of 256 keys and more as SMs hold") {
    CHECK(trtllm_gen_parts(1, 131072, 148) == 148);
    CHECK(trtllm_gen_parts(1, 8192, 148) == 32);
    CHECK(trtllm_gen_parts(50, 8192, 148) == 2);
    CHECK(trtllm_gen_parts(75, 8192, 148) == 1);
    CHECK(trtllm_gen_parts(300, 8192, 148) == 1);
    CHECK(trtllm_gen_parts(1, 1, 148) == 1);
}

TEST_CASE("TensorRT cuts the queries of few sequences into several blocks") {
    CHECK(tensorrt_cut_sequences(Precision::fp16, {7, 2}) == 0);
    CHECK(tensorrt_cut_sequences(Precision::fp16, {7, 5}) == 1);
    CHECK(tensorrt_cut_sequences(Precision::int8, {7, 5}) == 1);
    CHECK(tensorrt_cut_sequences(Precision::fp16, {8, 0}) == 4);
    CHECK(tensorrt_cut_sequences(Precision::int8, {8, 0}) == 0);
    CHECK(tensorrt_cut_sequences(Precision::bf16, {8, 9}) == 4);
    CHECK(tensorrt_cut_sequences(Precision::int8, {8, 9}) == 8);
}
