#include "roofcast/gpu_profile.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::gpus_dir;
using roofcast::test::rel;

TEST_CASE("a V100 asked for bf16 says what it has and offers fp16") {
    const auto v100 = load_gpu(gpus_dir(), "v100-sxm2-16gb").profile;
    CHECK_THROWS_WITH_AS(require_precision(v100, Precision::bf16), doctest::Contains("nearest it has is fp16"), Error);
}
