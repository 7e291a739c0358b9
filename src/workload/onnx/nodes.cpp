#include "workload/onnx/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "roofcast/error.hpp"
#include "workload/onnx/flattened.hpp"

namespace roofcast {

namespace {

TensorAttribute attribute_of(const onnx::AttributeProto& proto, const std::filesystem::path& file) {
    TensorAttribute attribute{.name = proto.name(), .integers = {}, .numbers = {}, .text = proto.s()};
    attribute.integers.assign(proto.ints().begin(), proto.ints().end());
    attribute.numbers.assign(proto.floats().begin(), proto.floats().end());
    if (proto.has_i()) attribute.integers.assign(1, proto.i());
    if (proto.has_f()) attribute.numbers.assign(1, static_cast<double>(proto.f()));
    if (proto.has_t()) attribute.numbers = constant_tensor(proto.t(), file).values;
    return attribute;
}

class NetReader {
public:
    NetReader(const onnx::ModelProto& model, const std::filesystem::path& file)
        : graph_(model.graph()), file_(file), flat_(flattened_graph(model, file)) {
        for (const auto& set : model.opset_import()) {
            if (set.domain().empty() || set.domain() == "ai.onnx") net_.operator_set = set.version();
        }
    }

    TensorNet read() && {
        read_tensors();
        for (const auto& node : flat_.nodes) read_node(node);
        sort_nodes();
        for (const auto& output : graph_.output()) net_.outputs.push_back(known(output.name(), "the graph's outputs"));
        return std::move(net_);
    }

private:
    void read_tensors() {
        for (const onnx::TensorProto* initializer : flat_.weights) {
            Tensor tensor = constant_tensor(*initializer, file_);
            tensor.initializer = true;
            add(std::move(tensor));
        }
        for (const auto& sparse : graph_.sparse_initializer()) {
            Tensor tensor = constant_tensor(sparse.values(), file_);
            tensor.shape.clear();
            for (const std::int64_t size : sparse.dims()) tensor.shape.push_back({.size = size});
            tensor.values.clear();
            tensor.initializer = true;
            add(std::move(tensor));
        }
        for (const auto& input : graph_.input()) {
            if (numbers_.contains(input.name())) continue;  // files of IR version 3 list weights as inputs too
            net_.inputs.push_back(add(described_tensor(input, file_)));
        }
        for (const auto* infos : {&graph_.value_info(), &graph_.output()}) {
            for (const auto& info : *infos) {
                if (!numbers_.contains(info.name())) described_.emplace(info.name(), &info);
            }
        }
    }

    int add(Tensor tensor) {
        const int number = static_cast<int>(net_.tensors.size());
        if (!numbers_.emplace(tensor.name, number).second)
            throw Error({.what = "two operators or weights give the same tensor", .file = file_.string(), .key = tensor.name});
        net_.tensors.push_back(std::move(tensor));
        return number;
    }

    /// A `Constant` is a tensor, not an operator.
    bool read_constant(const onnx::NodeProto& proto) {
        if (proto.op_type() != "Constant" || proto.output_size() != 1 || proto.attribute_size() < 1) return false;
        const onnx::AttributeProto& attribute = proto.attribute(0);
        Tensor tensor{.name = {}, .shaped = true, .constant = true, .shape = {}, .values = {}};
        if (attribute.has_t()) {
            tensor = constant_tensor(attribute.t(), file_);
        } else {
            const TensorAttribute values = attribute_of(attribute, file_);
            const bool whole = values.numbers.empty();
            tensor.type = whole ? ElementType::int64 : ElementType::fp32;
            tensor.values = whole ? std::vector<double>(values.integers.begin(), values.integers.end()) : values.numbers;
            const bool list = attribute.ints_size() + attribute.floats_size() > 0;
            if (list) tensor.shape.push_back({.size = static_cast<std::int64_t>(tensor.values.size())});
        }
        tensor.name = proto.output(0);
        add(std::move(tensor));
        return true;
    }

    void read_node(const onnx::NodeProto& proto) {
        if (read_constant(proto)) return;
        TensorNode node{.kind = proto.op_type(), .name = proto.name(), .inputs = {}, .outputs = {}, .attributes = {}};
        if (!proto.domain().empty() && proto.domain() != "ai.onnx") node.kind = fmt::format("{}.{}", proto.domain(), proto.op_type());
        for (const auto& attribute : proto.attribute()) node.attributes.push_back(attribute_of(attribute, file_));
        for (const std::string& output : proto.output()) {
            if (output.empty()) {
                node.outputs.push_back(absent_tensor);
                continue;
            }
            const auto described = described_.find(output);
            Tensor tensor = described == described_.end() ? Tensor{} : described_tensor(*described->second, file_);
            tensor.name = output;
            node.outputs.push_back(add(std::move(tensor)));
        }
        nodes_.push_back(&proto);
        net_.nodes.push_back(std::move(node));
    }

    int known(const std::string& name, const std::string& reader) const {
        const auto found = numbers_.find(name);
        if (found != numbers_.end()) return found->second;
        throw Error({.what = fmt::format("{} reads a tensor that no operator, input or weight gives", reader),
                     .file = file_.string(),
                     .key = name,
                     .suggestion = "export the net again"});
    }

    void connect() {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const std::string reader = fmt::format("operator {} {}", nodes_[i]->op_type(), nodes_[i]->name());
            for (const std::string& input : nodes_[i]->input())
                net_.nodes[i].inputs.push_back(input.empty() ? absent_tensor : known(input, reader));
        }
    }

    /// Files list nodes in an order in which they can run; one that does not is put into it.
    void sort_nodes() {
        connect();
        std::vector<int> producer(net_.tensors.size(), -1);
        std::vector<std::vector<int>> readers(net_.nodes.size());
        std::vector<int> waits(net_.nodes.size(), 0);
        for (std::size_t i = 0; i < net_.nodes.size(); ++i) {
            for (const int output : net_.nodes[i].outputs) {
                if (output >= 0) producer[static_cast<std::size_t>(output)] = static_cast<int>(i);
            }
        }
        for (std::size_t i = 0; i < net_.nodes.size(); ++i) {
            for (const int input : net_.nodes[i].inputs) {
                const int source = input < 0 ? -1 : producer[static_cast<std::size_t>(input)];
                if (source < 0) continue;
                readers[static_cast<std::size_t>(source)].push_back(static_cast<int>(i));
                ++waits[i];
            }
        }
        std::vector<TensorNode> sorted;
        sorted.reserve(net_.nodes.size());
        std::vector<int> ready;  // a heap: the first of the file in front, so that sorted files stay as they are
        for (std::size_t i = waits.size(); i-- > 0;) {
            if (waits[i] == 0) ready.push_back(static_cast<int>(i));
        }
        std::make_heap(ready.begin(), ready.end(), std::greater<>{});
        while (!ready.empty()) {
            std::pop_heap(ready.begin(), ready.end(), std::greater<>{});
            const auto i = static_cast<std::size_t>(ready.back());
            ready.pop_back();
            sorted.push_back(std::move(net_.nodes[i]));
            for (const int reader : readers[i]) {
                if (--waits[static_cast<std::size_t>(reader)] > 0) continue;
                ready.push_back(reader);
                std::push_heap(ready.begin(), ready.end(), std::greater<>{});
            }
        }
        if (sorted.size() < net_.nodes.size()) throw cycle(waits);
        net_.nodes = std::move(sorted);
    }

    [[nodiscard]] Error cycle(const std::vector<int>& waits) const {
        const auto stuck = std::find_if(waits.begin(), waits.end(), [](int left) { return left > 0; });
        const onnx::NodeProto& node = *nodes_[static_cast<std::size_t>(stuck - waits.begin())];
        return Error({.what = "operators read each other's results in a cycle",
                      .file = file_.string(),
                      .key = fmt::format("{} {}", node.op_type(), node.name()),
                      .suggestion = "export the net again"});
    }

    const onnx::GraphProto& graph_;
    const std::filesystem::path& file_;
    FlattenedGraph flat_;
    TensorNet net_;
    std::vector<const onnx::NodeProto*> nodes_;  ///< of the net's nodes
    std::unordered_map<std::string, int> numbers_;
    std::unordered_map<std::string, const onnx::ValueInfoProto*> described_;
};

}  // namespace

TensorNet tensor_net(const onnx::ModelProto& model, const std::filesystem::path& file) {
    return NetReader(model, file).read();
}

}  // namespace roofcast
