// Kernels that engines have for products of few rows.

#include <doctest/doctest.h>

#include "kernels/toy_gemm.hpp"
#include "roofcast/execution.hpp"
#include "roofcast/prediction.hpp"

using namespace roofcast;

TEST_CASE("an engine may multiply few rows by weights in fewer bits with kernels for vectors") {
    Gpu gpu = test::toy_gpu_with_matrix_units();
    gpu.parameters.values.weight_only.tiling.k_step_cycles = 150;
    gpu.parameters.values.weight_only.tiling.split_k_cycles = 1e7;
    SoftwareStack vectors;
    vectors.unpacks_on_lanes = true;
    const auto gain = [&](std::int64_t rows, double weight_bits) {
        OpGraph graph;
        const Gemm op{.m = rows, .n = 64, .k = 1 << 16, .precision = Precision::fp16, .weight_bits = weight_bits};
        graph.segments.push_back({.name = "layer", .nodes = {{.name = "product", .op = op}}});
        return timeline(graph, gpu, SoftwareStack{}).total / timeline(graph, gpu, vectors).total;
    };
    CHECK(gain(1, 4) > 1.1);
    CHECK(gain(4, 4) > 1.1);
    CHECK(gain(5, 4) == 1);
    CHECK(gain(1, 16) == 1);
}
