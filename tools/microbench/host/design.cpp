#include "host/design.hpp"

namespace roofcast::microbench {

namespace {

std::vector<Case> ordered_cases(Suite s, Precision p, Random& random) {
    switch (s) {
        case Suite::gemm:
            return gemm_cases(p, random);
        case Suite::convolution:
            return convolution_cases(p, random);
        case Suite::attention:
            return attention_cases(p, random);
        case Suite::elementwise:
            return elementwise_cases(p, random);
        case Suite::row_wise:
            return row_wise_cases(p, random);
        case Suite::embedding:
            return embedding_cases(p, random);
        case Suite::memory:
            return memory_cases();
        case Suite::copy:
            return copy_cases();
        case Suite::launch:
            return launch_cases();
        case Suite::sustained:
            return sustained_cases(p);
        case Suite::collective:
            return collective_cases();
    }
    return {};
}

}  // namespace

bool has_precision(Suite s) {
    return s != Suite::memory && s != Suite::copy && s != Suite::launch && s != Suite::collective;
}

std::vector<Precision> precisions_of(Suite s) {
    using P = Precision;
    switch (s) {
        case Suite::gemm:
        case Suite::sustained:
            return {P::fp64, P::fp32, P::tf32, P::fp16, P::bf16, P::fp8, P::int8};
        case Suite::convolution:
            return {P::fp32, P::tf32, P::fp16, P::bf16, P::fp8, P::int8};
        case Suite::attention:
            return {P::fp16, P::bf16};
        case Suite::elementwise:
        case Suite::row_wise:
        case Suite::embedding:
            return {P::fp32, P::fp16, P::bf16};
        default:
            return {P::fp32};
    }
}

double largest_operations(Precision p) {
    if (p == Precision::fp64) return 2e11;
    return p == Precision::fp32 ? 2e12 : 1e13;
}

std::vector<Case> designed_cases(Suite s, Precision p, std::uint64_t seed) {
    // Each suite and precision draws from a stream of its own: choosing one leaves the shapes of the others as they are.
    Random random(seed + 1000 * (1 + static_cast<std::uint64_t>(s)) + static_cast<std::uint64_t>(p));
    auto cases = ordered_cases(s, p, random);
    random.shuffle(cases);
    return cases;
}

}  // namespace roofcast::microbench
