#include "calibration/folds.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>

using namespace roofcast;

TEST_CASE("a shape is in one fold whatever its precision, function or batch of measurements") {
    const Op a = Gemm{.m = 128, .n = 256, .k = 512, .precision = Precision::bf16};
    const Op b = Gemm{.m = 128, .n = 256, .k = 512, .precision = Precision::fp8, .weight_bits = 8, .dynamic_quantized = true};
    const Op c = Gemm{.m = 128, .n = 256, .k = 513, .precision = Precision::bf16};
    CHECK(shape_of(a) == shape_of(b));
    CHECK(shape_of(a) != shape_of(c));
    for (std::uint64_t seed = 0; seed < 20; ++seed) CHECK(fold_of(shape_of(a), 5, seed) == fold_of(shape_of(b), 5, seed));
}

TEST_CASE("folds are of nearly equal size and change with the seed") {
    std::array<int, 5> count{};
    int moved = 0;
    for (int i = 0; i < 10000; ++i) {
        const std::string group = "gemm 1 " + std::to_string(i);
        const int fold = fold_of(group, 5, 1);
        REQUIRE(fold >= 0);
        REQUIRE(fold < 5);
        ++count[static_cast<std::size_t>(fold)];
        if (fold_of(group, 5, 2) != fold) ++moved;
    }
    // Binomial with n = 10000 and p = 1/5: mean 2000, standard deviation 40.
    for (const int n : count) CHECK(std::abs(n - 2000) < 200);
    // Of independent draws, 4 in 5 differ.
    CHECK(std::abs(moved - 8000) < 200);
}

TEST_CASE("the fraction of held-out groups is as asked and independent of the folds") {
    int held = 0, held_in_first_fold = 0, first_fold = 0;
    for (int i = 0; i < 10000; ++i) {
        const std::string group = "gemm 1 " + std::to_string(i);
        const bool out = is_held_out(group, 0.2, 1);
        const bool first = fold_of(group, 5, 1) == 0;
        held += out ? 1 : 0;
        first_fold += first ? 1 : 0;
        held_in_first_fold += out && first ? 1 : 0;
        CHECK_FALSE(is_held_out(group, 0, 1));
    }
    CHECK(std::abs(held - 2000) < 200);
    CHECK(std::abs(held_in_first_fold * 5 - first_fold) < 300);
}
