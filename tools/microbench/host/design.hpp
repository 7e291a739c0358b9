#pragma once
/// The designed sets of cases: real layers, log-spaced shapes, aligned and odd ones. The same for the same seed.

#include <vector>

#include "host/cases.hpp"
#include "host/random.hpp"

namespace roofcast::microbench {

/// Precisions that a suite measures, whatever the GPU; what the GPU lacks ends as unsupported.
std::vector<Precision> precisions_of(Suite s);

/// Whether `--precision` chooses among the suite's cases: copies and launches have none.
bool has_precision(Suite s);

/// All cases of a suite in one precision, in random order.
std::vector<Case> designed_cases(Suite s, Precision p, std::uint64_t seed);

// One function a suite, each in a file of its own kind.
std::vector<Case> gemm_cases(Precision p, Random& random);
std::vector<Case> convolution_cases(Precision p, Random& random);
std::vector<Case> attention_cases(Precision p, Random& random);
std::vector<Case> elementwise_cases(Precision p, Random& random);
std::vector<Case> row_wise_cases(Precision p, Random& random);
std::vector<Case> embedding_cases(Precision p, Random& random);
std::vector<Case> memory_cases();
std::vector<Case> copy_cases();
std::vector<Case> launch_cases();
std::vector<Case> sustained_cases(Precision p);
std::vector<Case> collective_cases();

/// Largest case worth its time, in operations: a second or so on a small GPU.
double largest_operations(Precision p);
/// Largest operands, in bytes, that GPUs of 8 GB still hold twice.
inline constexpr double largest_bytes = 2e9;

/// Tensor-core formats of one byte want dimensions in multiples of 16.
inline bool wants_alignment(Precision p) {
    return p == Precision::fp8 || p == Precision::int8;
}

}  // namespace roofcast::microbench
