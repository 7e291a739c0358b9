#include "workload/onnx/flattened.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr int deepest_call = 16;

/// What names and attributes of a function's body stand for in one call.
struct Call {
    std::string prefix;  ///< of names that only the body has
    std::unordered_map<std::string, std::string> names;
    std::unordered_map<std::string, const onnx::AttributeProto*> attributes;
};

class Flattener {
public:
    Flattener(const onnx::ModelProto& model, const std::filesystem::path& file) : file_(file) {
        for (const auto& function : model.functions()) functions_.emplace(key(function.domain(), function.name()), &function);
    }

    FlattenedGraph flatten(const onnx::GraphProto& graph) && {
        add_graph(graph, 0);
        return std::move(flat_);
    }

private:
    static std::string key(const std::string& domain, const std::string& name) { return domain + "\n" + name; }

    void add_graph(const onnx::GraphProto& graph, int depth) {
        for (const auto& weight : graph.initializer()) {
            note_condition(weight.name(), weight);
            flat_.weights.push_back(&weight);
        }
        for (const auto& node : graph.node()) add(node, nullptr, depth);
    }

    void add(const onnx::NodeProto& node, const Call* call, int depth) {
        if (depth > deepest_call)
            throw Error({.what = "functions call each other too deeply", .file = file_.string(), .key = node.op_type()});
        if (call != nullptr && (copied_ += node.ByteSizeLong()) > most_onnx_bytes)
            throw Error({.what = "calls of functions repeat too much", .file = file_.string(), .key = node.op_type()});
        onnx::NodeProto own = call == nullptr ? node : renamed(node, *call);
        const auto function = functions_.find(key(own.domain(), own.op_type()));
        if (function != functions_.end()) return add_call(own, *function->second, depth);
        if (call == nullptr && own.op_type() == "If" && add_branch(own, depth)) return;
        if (own.op_type() == "Constant" && own.output_size() == 1 && own.attribute_size() == 1 && own.attribute(0).has_t())
            note_condition(own.output(0), own.attribute(0).t());
        require_room(flat_.nodes.size());
        flat_.nodes.push_back(std::move(own));
    }

    void require_room(std::size_t count) const {
        if (count < most_onnx_nodes) return;
        throw Error(
            {.what = "the net has too many operators", .file = file_.string(), .expected = fmt::format("at most {}", most_onnx_nodes)});
    }

    static std::string renamed(const std::string& name, const Call& call) {
        if (name.empty()) return name;
        const auto known = call.names.find(name);
        return known == call.names.end() ? call.prefix + name : known->second;
    }

    static onnx::NodeProto renamed(const onnx::NodeProto& node, const Call& call) {
        onnx::NodeProto own = node;
        for (auto& name : *own.mutable_input()) name = renamed(name, call);
        for (auto& name : *own.mutable_output()) name = renamed(name, call);
        own.set_name(call.prefix + node.name());
        own.clear_attribute();
        for (const auto& attribute : node.attribute()) {
            if (attribute.ref_attr_name().empty()) {
                *own.add_attribute() = attribute;
                continue;
            }
            const auto given = call.attributes.find(attribute.ref_attr_name());
            if (given == call.attributes.end()) continue;
            *own.add_attribute() = *given->second;
            own.mutable_attribute(own.attribute_size() - 1)->set_name(attribute.name());
        }
        return own;
    }

    void add_call(const onnx::NodeProto& node, const onnx::FunctionProto& function, int depth) {
        require_room(++calls_);
        Call call{.prefix = fmt::format("{}/{}/", node.op_type(), calls_), .names = {}, .attributes = {}};
        // Inputs that a call leaves out are absent in the body too.
        for (int i = 0; i < function.input_size(); ++i)
            call.names.emplace(function.input(i), i < node.input_size() ? node.input(i) : std::string());
        for (int i = 0; i < function.output_size() && i < node.output_size(); ++i) {
            if (!node.output(i).empty()) call.names.insert_or_assign(function.output(i), node.output(i));
        }
        for (const auto& attribute : node.attribute()) call.attributes.emplace(attribute.name(), &attribute);
        for (const auto& inner : function.node()) add(inner, &call, depth + 1);
    }

    /// Whether the condition is constant, so that one branch alone is part of the net.
    bool add_branch(const onnx::NodeProto& node, int depth) {
        const auto condition = node.input_size() == 1 ? conditions_.find(node.input(0)) : conditions_.end();
        if (condition == conditions_.end()) return false;
        for (const auto& attribute : node.attribute()) {
            if (attribute.name() != (condition->second ? "then_branch" : "else_branch") || !attribute.has_g()) continue;
            const onnx::GraphProto& branch = flat_.branches.emplace_back(attribute.g());
            add_graph(branch, depth + 1);
            for (int i = 0; i < branch.output_size() && i < node.output_size(); ++i) {
                onnx::NodeProto& result = flat_.nodes.emplace_back();
                result.set_op_type("Identity");
                result.add_input(branch.output(i).name());
                result.add_output(node.output(i));
            }
            return true;
        }
        return false;
    }

    void note_condition(const std::string& name, const onnx::TensorProto& tensor) {
        if (tensor.data_type() != onnx::TensorProto::BOOL) return;
        const Tensor constant = constant_tensor(tensor, file_);
        if (constant.values.size() == 1) conditions_[name] = constant.values.front() != 0;
    }

    const std::filesystem::path& file_;
    FlattenedGraph flat_;
    std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
    std::unordered_map<std::string, bool> conditions_;
    std::size_t calls_ = 0, copied_ = 0;  ///< bytes of operators that calls copied
};

}  // namespace

FlattenedGraph flattened_graph(const onnx::ModelProto& model, const std::filesystem::path& file) {
    return Flattener(model, file).flatten(model.graph());
}

}  // namespace roofcast
