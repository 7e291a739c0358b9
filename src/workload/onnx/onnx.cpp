#include "workload/onnx/onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>

#include "io/identifier.hpp"
#include "io/within_memory.hpp"
#include "roofcast/error.hpp"
#include "workload/onnx/nodes.hpp"
#include "workload/onnx/without_weights.hpp"

namespace roofcast {

namespace {

onnx::ModelProto parsed_model(const std::filesystem::path& file) {
    const std::string bytes = onnx_without_weights(file);
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes) || !model.has_graph() || model.graph().node_size() == 0) {
        throw Error({.what = "the file is not an ONNX model, or has no operators",
                     .file = file.string(),
                     .expected = "a file that an ONNX exporter wrote",
                     .suggestion = "check that it was copied completely"});
    }
    return model;
}

/// Format that most weights are stored in.
ElementType stored_in(const TensorNet& net) {
    std::map<ElementType, double> elements;
    for (const Tensor& tensor : net.tensors) {
        if (!tensor.constant) continue;
        double count = 1;
        for (const Dimension& dimension : tensor.shape) count *= static_cast<double>(dimension.size);
        if (is_floating(tensor.type) || tensor.type == ElementType::int8 || tensor.type == ElementType::int4)
            elements[tensor.type] += count;
    }
    const auto most = std::max_element(elements.begin(), elements.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == elements.end() ? ElementType::fp32 : most->first;
}

bool has_kind(const TensorNet& net, std::initializer_list<std::string_view> kinds) {
    return std::any_of(net.nodes.begin(), net.nodes.end(),
                       [&](const TensorNode& node) { return std::find(kinds.begin(), kinds.end(), node.kind) != kinds.end(); });
}

/// The family whose nets are made of the same operators: accuracy is known by family.
std::string family_of(const TensorNet& net) {
    const bool convolves = has_kind(net, {"Conv", "QLinearConv", "ConvInteger", "com.microsoft.FusedConv"});
    const bool attends = has_kind(net, {"Softmax"}) && has_kind(net, {"LayerNormalization", "ReduceMean"}) && has_kind(net, {"MatMul"});
    const bool fused = has_kind(net, {"com.microsoft.Attention", "com.microsoft.MultiHeadAttention", "com.microsoft.GroupQueryAttention"});
    if (attends || fused) return convolves ? "vit" : "encoder";
    return convolves ? "cnn" : "onnx";
}

/// Integers are multiplied as such where operators say so; weights that are unpacked compute in 16 bits.
void choose_precision(Workload& workload, const TensorNet& net) {
    const ElementType stored = stored_in(net);
    const bool integers = has_kind(net, {"QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "QuantizeLinear"});
    workload.default_precision = integers ? Precision::int8 : stored == ElementType::bf16 ? Precision::bf16 : Precision::fp16;
    if (stored == ElementType::fp32 && !integers)
        workload.notes.emplace_back("the file stores its weights in fp32; `precision` fp32 or tf32 computes in that");
}

}  // namespace

bool is_onnx(const std::filesystem::path& file) {
    return lower_case(file.extension().string()) == ".onnx";
}

Workload load_onnx(const std::filesystem::path& file) {
    const onnx::ModelProto model = within_memory(file, [&] { return parsed_model(file); });
    Workload workload;
    workload.id = workload.name = file.stem().string();
    workload.source = model.producer_name().empty() ? std::string("ONNX file")
                                                    : fmt::format("ONNX file of {} {}", model.producer_name(), model.producer_version());
    workload.file = file.string();
    TensorNet net = within_memory(file, [&] { return tensor_net(model, file); });
    workload.family = family_of(net);
    choose_precision(workload, net);
    workload.architecture = std::move(net);
    return workload;
}

}  // namespace roofcast
