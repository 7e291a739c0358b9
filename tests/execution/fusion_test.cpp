#include "execution/fusion.hpp"

#include <doctest/doctest.h>

using namespace roofcast;

namespace {

const Elementwise add{.elements = 100, .reads = 2, .writes = 1};

std::vector<int> plan(std::vector<OpNode> nodes, bool into_gemms = true) {
    const Segment segment{.name = "layer", .nodes = std::move(nodes)};
    std::vector<int> host_of;
    fusion_plan(segment, into_gemms, true, host_of);
    return host_of;
}

}  // namespace

TEST_CASE("epilogues fold into the GEMM before them") {
    CHECK(plan({{.name = "gemm", .op = Gemm{}},
                {.name = "bias", .op = add, .fusion = Fusion::epilogue},
                {.name = "act", .op = add, .fusion = Fusion::epilogue}}) == std::vector<int>{0, 0, 0});
}

TEST_CASE("a chain of element-wise operators becomes one kernel, and a GEMM ends it") {
    CHECK(plan({{.name = "a", .op = add, .fusion = Fusion::chain},
                {.name = "b", .op = RowWise{}, .fusion = Fusion::chain},
                {.name = "gemm", .op = Gemm{}},
                {.name = "c", .op = add, .fusion = Fusion::chain}}) == std::vector<int>{0, 0, 2, 3});
}

TEST_CASE("an epilogue with no GEMM before it joins the chain") {
    CHECK(plan({{.name = "a", .op = Attention{}},
                {.name = "b", .op = add, .fusion = Fusion::epilogue},
                {.name = "c", .op = add, .fusion = Fusion::chain}}) == std::vector<int>{0, 1, 1});
}

TEST_CASE("a folded operator vanishes and leaves the epilogue open") {
    CHECK(plan({{.name = "conv", .op = Conv2d{}},
                {.name = "norm", .op = add, .fusion = Fusion::folded},
                {.name = "relu", .op = add, .fusion = Fusion::epilogue}}) == std::vector<int>{0, vanishes, 0});
}

TEST_CASE("generated kernels leave GEMMs to the library, and take norms, activations and sums behind them as one chain") {
    constexpr bool into_gemms = false;
    CHECK(plan({{.name = "conv", .op = Conv2d{}},
                {.name = "norm", .op = add, .fusion = Fusion::folded},
                {.name = "relu", .op = add, .fusion = Fusion::epilogue},
                {.name = "residual", .op = add, .fusion = Fusion::chain},
                {.name = "gemm", .op = Gemm{}},
                {.name = "act", .op = add, .fusion = Fusion::epilogue}},
               into_gemms) == std::vector<int>{0, 1, 1, 1, 4, 5});
}

TEST_CASE("generated code leaves out copies between layouts, and walks weights and long rows in kernels of their own") {
    constexpr bool into_gemms = false;
    CHECK(plan({{.name = "act", .op = add, .fusion = Fusion::chain},
                {.name = "standardize", .op = RowWise{.cols = 64}, .fusion = Fusion::folded},
                {.name = "to_planes", .op = Move{}, .fusion = Fusion::folded},
                {.name = "residual", .op = add, .fusion = Fusion::chain},
                {.name = "softmax", .op = RowWise{.cols = 2000}, .fusion = Fusion::chain},
                {.name = "scale", .op = add, .fusion = Fusion::chain}},
               into_gemms) == std::vector<int>{0, 1, vanishes, 0, 4, 4});
}

TEST_CASE("operators of another stream are not fused with") {
    CHECK(plan({{.name = "gemm", .op = Gemm{}}, {.name = "b", .op = add, .fusion = Fusion::epilogue, .stream = 1}}) ==
          std::vector<int>{0, 1});
}

TEST_CASE("what remains of a fused residual addition is reading the residual") {
    const Elementwise rest = fused_remainder(Op{add});
    CHECK(rest.reads == 1);
    CHECK(rest.writes == 0);
}
