// Rates of products on boards that no fit saw, against what others published: torch.mm of normal random matrices, 8,192 a side, 30 calls
// after 6 (github.com/zzc0721/torch-performance-test-data, issues 126, 145, 162, 185; not among the measurements that fits read).

#include <doctest/doctest.h>

#include "golden/golden.hpp"
#include "roofcast/kernel_cost.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

double teraflops(const Gpu& gpu, const Gemm& product) {
    const KernelCost c = cost(product, gpu, Cache::warm);
    return c.flops.in(flop) / c.total.in(s) / 1e12;
}

Gemm square(Precision precision) {
    return {.m = 8192, .n = 8192, .k = 8192, .precision = precision, .weight_bits = 8 * element_size(precision).in(byte)};
}

}  // namespace

TEST_CASE("large squares on boards never measured run within a quarter of the rates that others published") {
    struct Published {
        const char* gpu;
        Precision precision;
        double teraflops;
    };
    for (const Published& p : {Published{"a40", Precision::fp32, 23.73}, Published{"a10g", Precision::fp32, 23.23},
                               Published{"rtx-4060-ti", Precision::fp32, 15.62}, Published{"rtx-4060-ti", Precision::bf16, 47.48},
                               Published{"rtx-pro-6000-blackwell-server", Precision::fp32, 78.99},
                               Published{"rtx-pro-6000-blackwell-server", Precision::bf16, 417.34}}) {
        CAPTURE(p.gpu);
        CAPTURE(name(p.precision));
        CHECK(teraflops(shipped_gpu(p.gpu), square(p.precision)) == rel(p.teraflops, 0.25));
    }
}

TEST_CASE("wide products on lanes keep the rate of narrow ones, but on Pascal") {
    // T4: median share of the peak 0.395 up to 1,000 columns, 0.385 beyond 24,000; P4: 0.28 and 0.13 (kernels/*_fp32_pytorch.csv).
    const auto kept = [](const char* id) {
        const Gpu gpu = shipped_gpu(id);
        const Gemm wide{.m = 10000, .n = 30000, .k = 20000, .precision = Precision::fp32, .weight_bits = 32};
        const Gemm narrow{.m = 30000, .n = 2000, .k = 20000, .precision = Precision::fp32, .weight_bits = 32};
        return teraflops(gpu, wide) / teraflops(gpu, narrow);
    };
    for (const char* id : {"t4", "l4", "a10", "a40", "rtx-4060-ti", "l40s"}) {
        CAPTURE(id);
        CHECK(kept(id) > 0.75);
    }
    CHECK(kept("p4") < 0.6);
}
