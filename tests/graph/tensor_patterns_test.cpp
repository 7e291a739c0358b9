// Patterns that runtimes fuse, in nets of tensors.

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "support/nodes.hpp"
#include "support/tensor_nets.hpp"

using namespace roofcast;
using roofcast::test::integers;
using roofcast::test::names_of;
using roofcast::test::NetOfTensors;
using roofcast::test::nodes_named;
using roofcast::test::operators;

namespace {

constexpr std::int64_t width = 64;

/// Rows of `width` numbers.
int rows_input(NetOfTensors& n) {
    return n.input("x", {{.symbol = "batch"}, {.size = 10}, {.size = width}});
}

int norm_of_primitives(NetOfTensors& n, int x, bool centered) {
    const std::vector<TensorAttribute> last{integers("axes", {-1})};
    const int middle = centered ? n.op("Sub", {x, n.op("ReduceMean", {x}, last)}) : x;
    const int variance = n.op("ReduceMean", {n.op("Pow", {middle, n.number(2)})}, last);
    const int root = n.op("Sqrt", {n.op("Add", {variance, n.number(1e-5)})});
    const int scaled = n.op("Mul", {n.op("Div", {middle, root}), n.weight({width})});
    return centered ? n.op("Add", {scaled, n.weight({width})}) : scaled;
}

int gelu_of(NetOfTensors& n, int x) {
    const int error = n.op("Erf", {n.op("Div", {x, n.number(1.41421)})});
    return n.op("Mul", {n.op("Mul", {x, n.op("Add", {error, n.number(1)})}), n.number(0.5)});
}

/// A layer norm, so that the net counts as one of rows.
int with_norm(NetOfTensors& n, int x) {
    return n.op("LayerNormalization", {x, n.weight({width}), n.weight({width})});
}

int linear(NetOfTensors& n, int x, std::int64_t outputs) {
    return n.op("Add", {n.op("MatMul", {x, n.weight({width, outputs})}), n.weight({outputs})});
}

int heads_of(NetOfTensors& n, int x, std::int64_t heads, bool keys) {
    const int split = n.op("Reshape", {x, n.whole({0, 0, static_cast<double>(heads), static_cast<double>(width / heads)})});
    return n.op("Transpose", {split},
                {integers("perm", keys ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3})});
}

int attention_of(NetOfTensors& n, int x, int mask) {
    constexpr std::int64_t heads = 4;
    const int q = heads_of(n, linear(n, x, width), heads, false), k = heads_of(n, linear(n, x, width), heads, true);
    const int v = heads_of(n, linear(n, x, width), heads, false);
    int scores = n.op("Div", {n.op("MatMul", {q, k}), n.number(4)});
    if (mask >= 0) scores = n.op("Add", {scores, mask});
    const int out = n.op("MatMul", {n.op("Softmax", {scores}), v});
    const int together = n.op("Transpose", {out}, {integers("perm", {0, 2, 1, 3})});
    return n.op("Reshape", {together, n.whole({0, 0, static_cast<double>(width)})});
}

}  // namespace

TEST_CASE("a convolution takes the batch norm behind it, and the activation follows") {
    NetOfTensors n;
    const int x = n.input("x", {{.symbol = "batch"}, {.size = 3}, {.size = 8}, {.size = 8}});
    const int y = n.op("Conv", {x, n.weight({16, 3, 3, 3})}, {integers("pads", {1, 1, 1, 1}), integers("strides", {2, 2})});
    const int z = n.op("BatchNormalization", {y, n.weight({16}), n.weight({16}), n.weight({16}), n.weight({16})});
    n.output(n.op("Relu", {z}));
    const OpGraph graph = n.graph(Run{.batch = 2});
    CHECK(names_of(graph) == "conv batchnorm relu");
    // Weights and, of the norm, scale and shift: statistics are no parameters.
    CHECK(total_parameters(graph) == 16 * 3 * 9 + 2 * 16);
    // 2 images of 4 x 4 places of 16 channels, 27 products each.
    CHECK(total_macs(graph) == 2 * 16 * 16 * 27);
}

TEST_CASE("a sum with a constant a channel is the bias of the convolution before it") {
    NetOfTensors n;
    const int x = n.input("x", {{.symbol = "batch"}, {.size = 4}, {.size = 8}, {.size = 8}});
    n.output(n.op("Add", {n.op("Conv", {x, n.weight({16, 4, 1, 1})}), n.weight({1, 16, 1, 1})}));
    const OpGraph graph = n.graph();
    CHECK(names_of(graph) == "conv");
    CHECK(total_parameters(graph) == 16 * 4 + 16);
}

TEST_CASE("strides and padding of a convolution may differ along its sides") {
    NetOfTensors n;
    const int x = n.input("x", {{.symbol = "batch"}, {.size = 3}, {.size = 48}, {.size = 320}});
    n.output(n.op("Conv", {x, n.weight({8, 3, 3, 3})}, {integers("pads", {1, 1, 1, 1}), integers("strides", {2, 1})}));
    const auto convolutions = operators<Conv2d>(n.graph());
    REQUIRE(convolutions.size() == 1);
    CHECK(convolutions.front().out_height() == 24);
    CHECK(convolutions.front().out_width() == 320);
}

TEST_CASE("norms of primitives are one operator with their parameters") {
    for (const bool centered : {true, false}) {
        CAPTURE(centered);
        NetOfTensors n;
        n.output(norm_of_primitives(n, rows_input(n), centered));
        const OpGraph graph = n.graph(Run{.batch = 3});
        const auto norms = operators<RowWise>(graph);
        REQUIRE(norms.size() == 1);
        CHECK(norms.front().kind == (centered ? RowOp::layernorm : RowOp::rmsnorm));
        CHECK(norms.front().rows == 30);
        CHECK(norms.front().cols == width);
        CHECK(names_of(graph) == "norm");
        CHECK(total_parameters(graph) == (centered ? 2 : 1) * width);
    }
}

TEST_CASE("a quotient by the root of another tensor's mean square is no norm") {
    NetOfTensors n;
    const int x = rows_input(n), y = n.op("Relu", {n.op("Neg", {x})});
    const int variance = n.op("ReduceMean", {n.op("Pow", {x, n.number(2)})}, {integers("axes", {-1})});
    const int root = n.op("Sqrt", {n.op("Add", {variance, n.number(1e-5)})});
    n.output(n.op("Div", {y, root}));
    const OpGraph graph = n.graph();
    CHECK(operators<RowWise>(graph).empty());
    CHECK(nodes_named(graph, "relu").size() == 1);
    CHECK(nodes_named(graph, "neg").size() == 1);
}

TEST_CASE("a residual sum before a norm of primitives is kept") {
    NetOfTensors n;
    const int x = rows_input(n);
    n.output(norm_of_primitives(n, n.op("Add", {linear(n, x, width), with_norm(n, x)}), true));
    CHECK(names_of(n.graph()) == "linear norm residual norm");
}

TEST_CASE("GELU of an error function is one kernel, the formula of gelu_new eight in eager frameworks") {
    NetOfTensors n;
    const int x = with_norm(n, rows_input(n));
    n.output(gelu_of(n, x));
    CHECK(names_of(n.graph()) == "norm gelu");

    NetOfTensors formula;
    const int y = with_norm(formula, rows_input(formula));
    const int cube = formula.op("Mul", {formula.op("Pow", {y, formula.number(3)}), formula.number(0.044715)});
    const int inner = formula.op("Mul", {formula.op("Add", {y, cube}), formula.number(0.79788)});
    const int outer = formula.op("Add", {formula.op("Tanh", {inner}), formula.number(1)});
    formula.output(formula.op("Mul", {formula.op("Mul", {y, formula.number(0.5)}), outer}));
    const OpGraph graph = formula.graph();
    CHECK(names_of(graph) == "norm gelu");
    CHECK(nodes_named(graph, "gelu").front().eager_kernels == 8);
}

TEST_CASE("SiLU and hard-swish are one operator") {
    NetOfTensors n;
    const int x = n.input("x", {{.symbol = "batch"}, {.size = 4}, {.size = 8}, {.size = 8}});
    const int y = n.op("Mul", {x, n.op("Sigmoid", {x})});
    const int clipped = n.op("Clip", {n.op("Add", {y, n.number(3)}), n.number(0), n.number(6)});
    n.output(n.op("Div", {n.op("Mul", {y, clipped}), n.number(6)}));
    CHECK(names_of(n.graph()) == "silu hardswish");
}

TEST_CASE("a gated MLP multiplies in the kernel of its activation") {
    NetOfTensors n;
    const int x = with_norm(n, rows_input(n));
    const int gate = linear(n, x, 128), up = linear(n, x, 128);
    n.output(n.op("Mul", {n.op("Mul", {gate, n.op("Sigmoid", {gate})}), up}));
    CHECK(names_of(n.graph()) == "norm projections silu_mul");
    // An eager framework runs the two products one after the other.
    CHECK(names_of(n.graph({}, {.kernels = KernelSet::framework})) == "norm linear linear silu_mul");
}

TEST_CASE("attention is found with its heads, and its projections are one product in engines") {
    NetOfTensors n;
    const int x = rows_input(n);
    n.output(attention_of(n, x, absent_tensor));
    const OpGraph graph = n.graph(Run{.batch = 5});
    CHECK(names_of(graph) == "qkv_proj attention");
    const Attention op = operators<Attention>(graph).front();
    CHECK(op.batch == 5);
    CHECK(op.heads == 4);
    CHECK(op.head_dim == 16);
    CHECK(op.query_len == 10);
    CHECK(op.kv_len == 10);
    CHECK_FALSE(op.causal);
    CHECK(operators<Gemm>(graph).front().n == 3 * width);
    CHECK(total_parameters(graph) == 3 * (width * width + width));
}

TEST_CASE("masks cost nothing of their own, and a triangle makes attention causal") {
    NetOfTensors n;
    const int x = rows_input(n);
    const int lower = n.op("Trilu", {n.weight({10, 10}, ElementType::boolean)});
    const int mask = n.op("Where", {lower, n.number(0), n.number(-1e9)});
    n.output(attention_of(n, x, mask));
    const OpGraph graph = n.graph();
    CHECK(names_of(graph) == "qkv_proj kv_append attention");
    CHECK(operators<Attention>(graph).front().causal);

    NetOfTensors padded;
    const int y = rows_input(padded);
    const int given = padded.input("mask", {{.symbol = "batch"}, {.size = 10}}, ElementType::int64);
    const int spread = padded.op("Unsqueeze", {given, padded.whole({1, 2})});
    const int floating = padded.op("Cast", {spread}, {integers("to", {1})});
    padded.output(attention_of(padded, y, padded.op("Mul", {padded.op("Sub", {padded.number(1), floating}), padded.number(-1e9)})));
    const OpGraph masked = padded.graph({}, {.separate_mask = true});
    CHECK(names_of(masked) == "qkv_proj attention");
    CHECK(operators<Attention>(masked).front().separate_mask);
    CHECK_FALSE(operators<Attention>(masked).front().causal);
}

TEST_CASE("a 1x1 convolution of pooled places is a product, and its gate a broadcast") {
    NetOfTensors n;
    const int x = n.input("x", {{.symbol = "batch"}, {.size = 32}, {.size = 8}, {.size = 8}});
    const int pooled = n.op("GlobalAveragePool", {x});
    const int squeezed = n.op("Relu", {n.op("Conv", {pooled, n.weight({8, 32, 1, 1}), n.weight({8})})});
    const int gate = n.op("Sigmoid", {n.op("Conv", {squeezed, n.weight({32, 8, 1, 1}), n.weight({32})})});
    n.output(n.op("Mul", {x, gate}));
    CHECK(names_of(n.graph()) == "pool linear relu linear sigmoid gate");
}

TEST_CASE("shapes, constants and views cost nothing") {
    NetOfTensors n;
    const int x = n.input("x", {{.symbol = "batch"}, {.size = 6}, {.size = 8}});
    const int shape = n.op("Shape", {x});
    const int first = n.op("Unsqueeze", {n.op("Gather", {shape, n.number(0)}), n.whole({0})});
    const int flat = n.op("Reshape", {x, n.op("Concat", {first, n.whole({-1})}, {integers("axis", {0})})});
    const int folded = n.op("Transpose", {n.weight({10, 48})}, {integers("perm", {1, 0})});
    n.output(n.op("MatMul", {n.op("Identity", {flat}), folded}));
    const OpGraph graph = n.graph(Run{.batch = 7});
    CHECK(names_of(graph) == "linear");
    const Gemm product = operators<Gemm>(graph).front();
    CHECK(product.m == 7);
    CHECK(product.n == 10);
    CHECK(product.k == 48);
}

TEST_CASE("an operator that no model covers is listed, not left out") {
    NetOfTensors n;
    const int x = rows_input(n);
    n.output(n.op("Identity", {n.op("NonMaxSuppression", {x, x})}));
    const auto unknown = operators<Unmodelled>(n.graph());
    REQUIRE(unknown.size() == 1);
    CHECK(names_of(n.graph()) == "NonMaxSuppression");
}

TEST_CASE("a dimension that the run leaves open is an error that names it") {
    NetOfTensors n;
    n.output(n.op("Relu", {n.input("x", {{.symbol = "batch"}, {.size = 3}, {.symbol = "rows"}})}));
    try {
        static_cast<void>(n.graph());
        FAIL("no error");
    } catch (const Error& e) {
        CHECK(e.detail().key == "dimensions");
        CHECK(e.detail().found == "rows");
    }
    CHECK(operators<Elementwise>(n.graph(Run{.dimensions = {{"rows", 5}}})).front().elements == 15);
    CHECK_THROWS_AS(static_cast<void>(n.graph(Run{.dimensions = {{"rows", 5}, {"columns", 5}}})), Error);
}

TEST_CASE("sums of symbols follow their terms, and tokens the prompt") {
    NetOfTensors n;
    const int ids = n.input("ids", {{.symbol = "batch"}, {.symbol = "tokens"}}, ElementType::int64);
    n.input("mask", {{.symbol = "batch"}, {.symbol = "past + tokens"}}, ElementType::int64);
    n.output(n.op("Gather", {n.weight({1000, width}), ids}));
    const OpGraph graph = n.graph(Run{.batch = 2, .prompt_tokens = 7, .dimensions = {{"past", 3}}});
    CHECK(operators<Embedding>(graph).front().tokens == 14);
    CHECK(total_parameters(graph) == 1000 * width);
}

TEST_CASE("weights that two products share are counted once") {
    NetOfTensors n;
    const int ids = n.input("ids", {{.symbol = "batch"}, {.size = 4}}, ElementType::int64), table = n.weight({100, width});
    const int x = with_norm(n, n.op("Gather", {table, ids}));
    n.output(n.op("MatMul", {x, n.op("Transpose", {table}, {integers("perm", {1, 0})})}));
    CHECK(total_parameters(n.graph()) == 100 * width + 2 * width);
}

TEST_CASE("weights of four bits are stored so") {
    NetOfTensors n;
    const int x = with_norm(n, rows_input(n));
    n.output(n.op("com.microsoft.MatMulNBits", {x, n.weight({128, 2, 16}, ElementType::int8), n.weight({256})},
                  {integers("K", {width}), integers("N", {128}), integers("bits", {4}), integers("block_size", {32})}));
    const Gemm product = operators<Gemm>(n.graph()).front();
    CHECK(product.n == 128);
    CHECK(product.weight_bits == 4.5);  // and a 16-bit scale for 32 of them
}

TEST_CASE("quantized convolutions are convolutions") {
    NetOfTensors n;
    const int x = n.input("x", {{.symbol = "batch"}, {.size = 8}, {.size = 4}, {.size = 4}}, ElementType::int8);
    const int one = n.number(1);
    n.output(n.op("QLinearConv",
                  {x, one, one, n.weight({16, 8, 1, 1}, ElementType::int8), one, one, one, one, n.weight({16}, ElementType::int32)}));
    CHECK(total_macs(n.graph()) == 16 * 16 * 8);
    CHECK(total_parameters(n.graph()) == 16 * 8 + 16);
}

TEST_CASE("fused operators of ONNX Runtime are what they were made of") {
    NetOfTensors n;
    const int x = rows_input(n);
    const int attended =
        n.op("com.microsoft.Attention", {x, n.weight({width, 3 * width}), n.weight({3 * width})}, {integers("num_heads", {4})});
    const int normed = n.op("com.microsoft.SkipLayerNormalization", {attended, x, n.weight({width}), n.weight({width})});
    n.output(n.op("com.microsoft.FastGelu", {linear(n, normed, width)}));
    const OpGraph graph = n.graph(Run{.batch = 2});
    CHECK(names_of(graph) == "linear attention residual norm linear gelu");
    CHECK(total_parameters(graph) == 3 * width * width + 3 * width + 2 * width + width * width + width);
}

TEST_CASE("keys that fewer heads have are shared in grouped attention") {
    NetOfTensors n;
    const int q = rows_input(n);
    const int k = n.input("k", {{.symbol = "batch"}, {.size = 10}, {.size = 32}});
    const int past = n.input("past", {{.symbol = "batch"}, {.size = 2}, {.symbol = "past_length"}, {.size = 16}});
    n.output(
        n.op("com.microsoft.GroupQueryAttention", {q, k, k, past, past}, {integers("num_heads", {4}), integers("kv_num_heads", {2})}, 3));
    const Attention op = operators<Attention>(n.graph(Run{.dimensions = {{"past_length", 90}}})).front();
    CHECK(op.heads == 4);
    CHECK(op.kv_heads == 2);
    CHECK(op.kv_len == 100);
    CHECK(op.causal);
}
