/// 0: ONNX files as they are; 1: nets that are built from bytes, operator by operator, so that most inputs reach shapes and patterns.

#include <array>
#include <string>
#include <string_view>

#include "fuzz/choices.hpp"
#include "fuzz/input.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/targets.hpp"

namespace roofcast {

namespace {

using fuzz::Choices;

constexpr auto kinds = std::to_array<std::string_view>({"Abs",
                                                        "Add",
                                                        "ArgMax",
                                                        "AveragePool",
                                                        "BatchNormalization",
                                                        "Cast",
                                                        "Clip",
                                                        "Concat",
                                                        "ConstantOfShape",
                                                        "Conv",
                                                        "ConvTranspose",
                                                        "DepthToSpace",
                                                        "DequantizeLinear",
                                                        "Div",
                                                        "Dropout",
                                                        "Einsum",
                                                        "Equal",
                                                        "Erf",
                                                        "Expand",
                                                        "Flatten",
                                                        "Gather",
                                                        "Gemm",
                                                        "GlobalAveragePool",
                                                        "GRU",
                                                        "HardSigmoid",
                                                        "Identity",
                                                        "InstanceNormalization",
                                                        "LSTM",
                                                        "LayerNormalization",
                                                        "Less",
                                                        "MatMul",
                                                        "Max",
                                                        "MaxPool",
                                                        "Mul",
                                                        "Neg",
                                                        "NonZero",
                                                        "OneHot",
                                                        "Pad",
                                                        "Pow",
                                                        "QLinearConv",
                                                        "QLinearMatMul",
                                                        "QuantizeLinear",
                                                        "Range",
                                                        "ReduceMean",
                                                        "ReduceProd",
                                                        "Relu",
                                                        "Reshape",
                                                        "Resize",
                                                        "ScatterND",
                                                        "Shape",
                                                        "Sigmoid",
                                                        "Size",
                                                        "Slice",
                                                        "Softmax",
                                                        "Split",
                                                        "Sqrt",
                                                        "Squeeze",
                                                        "Sub",
                                                        "Sum",
                                                        "Tanh",
                                                        "Tile",
                                                        "TopK",
                                                        "Transpose",
                                                        "Trilu",
                                                        "Unsqueeze",
                                                        "Upsample",
                                                        "Where",
                                                        "com.microsoft.Attention",
                                                        "com.microsoft.EmbedLayerNormalization",
                                                        "com.microsoft.FusedMatMul",
                                                        "com.microsoft.GroupQueryAttention",
                                                        "com.microsoft.MatMulNBits",
                                                        "com.microsoft.MultiHeadAttention",
                                                        "com.microsoft.RotaryEmbedding",
                                                        "com.microsoft.SkipLayerNormalization",
                                                        "If",
                                                        "GatherND",
                                                        "Mod"});
constexpr auto settings = std::to_array<std::string_view>(
    {"axis", "axes",      "perm",         "pads",      "strides",     "kernel_shape", "dilations", "group",
     "to",   "num_heads", "kv_num_heads", "keepdims",  "split",       "transA",       "transB",    "K",
     "N",    "bits",      "block_size",   "blocksize", "hidden_size", "ceil_mode",    "scales",    "batch_dims"});

std::int64_t small(Choices& bytes) {
    constexpr std::size_t values = 10;
    return static_cast<std::int64_t>(bytes.below(values)) - 1;
}

int tensor(TensorNet& net, Choices& bytes, bool constant) {
    constexpr std::array types{ElementType::fp32, ElementType::int64, ElementType::int8, ElementType::boolean};
    Tensor made{.name = "t" + std::to_string(net.tensors.size()),
                .type = types[bytes.below(types.size())],
                .shaped = true,
                .constant = constant,
                .shape = {},
                .values = {}};
    std::int64_t elements = 1;
    for (std::size_t i = 0, rank = bytes.below(5); i < rank; ++i) {
        const auto size = static_cast<std::int64_t>(bytes.below(9));
        const bool batch = i == 0 && !constant && bytes.flag();
        made.shape.push_back(batch ? Dimension{.symbol = "batch"} : Dimension{.size = size});
        elements *= size;
    }
    constexpr std::int64_t few = 32;
    if (constant && elements <= few && bytes.flag()) {
        for (std::int64_t i = 0; i < elements; ++i) made.values.push_back(static_cast<double>(small(bytes)));
    }
    net.tensors.push_back(std::move(made));
    return static_cast<int>(net.tensors.size()) - 1;
}

void add_node(TensorNet& net, Choices& bytes) {
    TensorNode node{.kind = std::string(kinds[bytes.below(kinds.size())]), .name = "n", .inputs = {}, .outputs = {}, .attributes = {}};
    for (std::size_t i = 0, inputs = 1 + bytes.below(5); i < inputs; ++i) {
        const bool constant = bytes.below(4) == 0;
        node.inputs.push_back(constant ? tensor(net, bytes, true) : static_cast<int>(bytes.below(net.tensors.size() + 1)) - 1);
    }
    for (std::size_t i = 0, count = bytes.below(4); i < count; ++i) {
        TensorAttribute attribute{.name = std::string(settings[bytes.below(settings.size())]), .integers = {}, .numbers = {}, .text = {}};
        for (std::size_t k = 0, length = bytes.below(5); k < length; ++k) attribute.integers.push_back(small(bytes));
        if (attribute.name == "scales") attribute.numbers.assign(attribute.integers.begin(), attribute.integers.end());
        node.attributes.push_back(std::move(attribute));
    }
    for (std::size_t i = 0, outputs = 1 + bytes.below(2); i < outputs; ++i) {
        net.tensors.push_back({.name = "t" + std::to_string(net.tensors.size()), .shape = {}, .values = {}});
        node.outputs.push_back(static_cast<int>(net.tensors.size()) - 1);
    }
    net.nodes.push_back(std::move(node));
}

/// Sizes that an input leaves open become numbers, but for the batch.
void close(TensorNet& net) {
    constexpr std::int64_t size = 8;
    for (const int input : net.inputs) {
        auto& shape = net.tensors[static_cast<std::size_t>(input)].shape;
        for (std::size_t i = 1; i < shape.size(); ++i) {
            if (!shape[i].symbol.empty()) shape[i] = {.size = size};
        }
    }
}

void read_file(std::string_view text) {
    Workload workload = load_workload(fuzz::folder().file("net.onnx", text));
    close(std::get<TensorNet>(workload.architecture));
    fuzz::require_sound_runs(workload);
}

void build(std::string_view text) {
    const std::string copy(text);
    Choices bytes(reinterpret_cast<const std::uint8_t*>(copy.data()), copy.size());
    TensorNet net;
    net.operator_set = bytes.flag() ? 17 : 11;
    for (std::size_t i = 0, inputs = 1 + bytes.below(3); i < inputs; ++i) net.inputs.push_back(tensor(net, bytes, false));
    constexpr std::size_t most = 24;
    for (std::size_t i = 0, nodes = 1 + bytes.below(most); i < nodes; ++i) add_node(net, bytes);
    net.outputs.push_back(static_cast<int>(net.tensors.size()) - 1);
    Workload workload;
    workload.id = workload.name = "net";
    workload.family = "onnx";
    workload.architecture = std::move(net);
    fuzz::require_sound_runs(workload);
}

}  // namespace

int fuzz::onnx(const std::uint8_t* data, std::size_t size) {
    constexpr std::array<fuzz::Reader, 2> readers{read_file, build};
    return fuzz::read(data, size, readers);
}

}  // namespace roofcast
