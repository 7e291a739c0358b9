// Rates of GEMMs on GPUs that no fit saw, against what others published: torch.mm of normal random matrices, 8,192 a side, 30 calls
// after 6 (github.com/zzc0721/torch-performance-test-data, issues 126, 145, 162, 185, and the best squares of database.md; not among the
// measurements that fits read).

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

TEST_CASE("large squares on unseen GPUs run within a quarter of the rates that others published") {
    struct Published {
        const char* gpu;
        Precision precision;
        double teraflops;
    };
    for (const Published& p : {Published{"a40", Precision::fp32, 23.73}, Published{"a10g", Precision::fp32, 23.23},
                               Published{"rtx-4060-ti", Precision::fp32, 15.62}, Published{"rtx-4060-ti", Precision::bf16, 47.48},
                               Published{"rtx-4070-super", Precision::fp32, 25.07}, Published{"rtx-4070-super", Precision::bf16, 76.76},
                               Published{"rtx-pro-6000-blackwell-server", Precision::fp32, 78.99},
                               Published{"rtx-pro-6000-blackwell-server", Precision::bf16, 417.34}}) {
        CAPTURE(p.gpu);
        CAPTURE(name(p.precision));
        CHECK(teraflops(shipped_gpu(p.gpu), square(p.precision)) == rel(p.teraflops, 0.25));
    }
}

// AMD's and Intel's engines: rates that parameters of their architectures were read off (sources in gpus/arch), which no fit reads.
TEST_CASE("large GEMMs on other vendors' GPUs run within a fifth of the rates that were published") {
    struct Published {
        const char* gpu;
        Precision precision;
        std::int64_t m, n, k;
        double teraflops;
    };
    for (const Published& p :
         {Published{"mi300x", Precision::bf16, 4096, 4864, 32896, 708}, Published{"mi300x", Precision::fp8, 4096, 4864, 32896, 1273},
          Published{"mi300x", Precision::bf16, 10240, 15360, 8192, 668.4}, Published{"mi325x", Precision::fp16, 4096, 4864, 32896, 787.2},
          Published{"mi325x", Precision::bf16, 13312, 10240, 8192, 784.9}, Published{"mi210", Precision::fp32, 8192, 8192, 8192, 33.02},
          Published{"mi210", Precision::bf16, 8192, 8192, 8192, 124.18}, Published{"mi250", Precision::fp16, 2048, 2048, 2048, 112.9},
          Published{"mi100", Precision::fp16, 4096, 512, 4096, 91}, Published{"rx-7900-xtx", Precision::fp32, 8192, 8192, 8192, 24.45},
          Published{"rx-7900-xtx", Precision::fp16, 8192, 8192, 8192, 91.71},
          Published{"gaudi2", Precision::bf16, 14336, 15360, 2048, 418.7}, Published{"gaudi3", Precision::bf16, 16384, 4096, 768, 1243},
          Published{"gaudi3", Precision::fp8, 16640, 1536, 3072, 1289.5}, Published{"mi355x", Precision::bf16, 12288, 8192, 8192, 1565}}) {
        CAPTURE(p.gpu);
        CAPTURE(name(p.precision));
        const Gemm product{.m = p.m, .n = p.n, .k = p.k, .precision = p.precision, .weight_bits = 8 * element_size(p.precision).in(byte)};
        CHECK(teraflops(shipped_gpu(p.gpu), product) == rel(p.teraflops, 0.2));
    }
}

TEST_CASE("wide GEMMs on CUDA cores keep the rate of narrow ones, but on Pascal") {
    // Median fraction of the peak up to 1,000 columns (k below 4,000) and beyond 24,000: T4 0.39 and 0.39, P4 0.50 and 0.24
    // (kernels/*_fp32_pytorch.csv, linear).
    const auto kept = [](const char* id) {
        const Gpu gpu = shipped_gpu(id);
        const Gemm wide{.m = 10000, .n = 30000, .k = 2000, .precision = Precision::fp32, .weight_bits = 32};
        const Gemm narrow{.m = 30000, .n = 1000, .k = 2000, .precision = Precision::fp32, .weight_bits = 32};
        return teraflops(gpu, wide) / teraflops(gpu, narrow);
    };
    for (const char* id : {"t4", "l4", "a10", "a40", "rtx-4060-ti", "l40s"}) {
        CAPTURE(id);
        CHECK(kept(id) > 0.75);
    }
    CHECK(kept("p4") < 0.75);
}

TEST_CASE("rows that lie pages apart slow linear layers on Pascal down, and not since") {
    // Median fraction of the peak up to 1,000 columns with k below 4,000 and beyond 16,000: P100 0.61 and 0.30, V100 0.71 and 0.73.
    const auto kept = [](const char* id) {
        const Gpu gpu = shipped_gpu(id);
        const auto reached = [&gpu](std::int64_t k) {
            return teraflops(gpu, Gemm{.m = 4000, .n = 800, .k = k, .precision = Precision::fp32, .weight_bits = 32});
        };
        return reached(30000) / reached(2000);
    };
    CHECK(kept("p100-pcie-16gb") < 0.7);
    CHECK(kept("p4") < 0.7);
    for (const char* id : {"v100-pcie-32gb", "t4", "a100-pcie-40gb"}) {
        CAPTURE(id);
        CHECK(kept(id) > 0.85);
    }
}
