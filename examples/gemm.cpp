// How long does a GEMM take, and what bounds it?
#include <roofcast/catalogue.hpp>
#include <roofcast/kernel_cost.hpp>

#include <cstdio>
#include <string_view>

int main() {
    const auto catalogue = roofcast::Catalogue::shipped();
    const auto gpu = catalogue.gpu("a100-sxm4-80gb");
    for (const int rows : {1, 16, 256, 4096}) {
        const roofcast::Gemm gemm{.m = rows, .n = 4096, .k = 4096, .precision = roofcast::Precision::bf16};
        const roofcast::KernelCost cost = roofcast::cost(gemm, gpu);
        const std::string_view bound = roofcast::name(cost.bound);
        std::printf("%4d rows: %7.1f us, bound by %.*s\n", rows, cost.total.in(roofcast::us), static_cast<int>(bound.size()), bound.data());
    }
}
