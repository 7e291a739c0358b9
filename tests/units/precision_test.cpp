#include "roofcast/precision.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

TEST_CASE("every precision is parsed from its own name") {
    for (const Precision p : all_precisions) CHECK(parse_precision(name(p)) == p);
}

TEST_CASE("common spellings of a precision are understood, others are not") {
    CHECK(parse_precision("Half") == Precision::fp16);
    CHECK(parse_precision("bfloat16") == Precision::bf16);
    CHECK_FALSE(parse_precision("fp17"));
    CHECK_FALSE(parse_precision(""));
}

TEST_CASE("an int4 weight costs 4 bits and its part of a 16-bit scale and zero point for 128 weights") {
    // 4 + (16 + 16) / 128 = 4.25
    CHECK(parse_weight_format("int4")->bits == 4.25);
}

TEST_CASE("weight formats of serving engines carry their mean bits") {
    CHECK(parse_weight_format("q4_k_m")->bits == 4.85);
    CHECK(parse_weight_format("exl2-2.5-bpw")->bits == 2.5);
    CHECK(parse_weight_format("fp8")->bits == 8);
    CHECK(parse_weight_format("fp8_block")->bits == 8);
    CHECK(parse_weight_format("fp8_block")->block_scales);
    CHECK(parse_weight_format("mxfp4")->bits == 4.25);  // 32 weights share 8 bits
    CHECK_FALSE(parse_weight_format("mxfp4")->block_scales);
    CHECK_FALSE(parse_weight_format("exl2--bpw"));
    CHECK_FALSE(parse_weight_format("exl2-99-bpw"));
    CHECK_FALSE(parse_weight_format("exl2-nan-bpw"));
    CHECK_FALSE(parse_weight_format("exl2-bpw"));
    CHECK_FALSE(parse_weight_format("q99"));
}

TEST_CASE("activations keep 16 bits when GEMMs run in 8 or 4") {
    CHECK(activation_precision(Precision::fp8) == Precision::bf16);
    CHECK(activation_precision(Precision::fp32) == Precision::fp32);
}
