#include "roofcast/tensor_net.hpp"

#include <algorithm>

namespace roofcast {

const TensorAttribute* TensorNode::find(std::string_view wanted) const {
    const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const TensorAttribute& a) { return a.name == wanted; });
    return found == attributes.end() ? nullptr : &*found;
}

std::int64_t TensorNode::integer(std::string_view wanted, std::int64_t standard) const {
    const TensorAttribute* attribute = find(wanted);
    return attribute == nullptr || attribute->integers.empty() ? standard : attribute->integers.front();
}

double TensorNode::number(std::string_view wanted, double standard) const {
    const TensorAttribute* attribute = find(wanted);
    return attribute == nullptr || attribute->numbers.empty() ? standard : attribute->numbers.front();
}

std::vector<std::int64_t> TensorNode::integers(std::string_view wanted) const {
    const TensorAttribute* attribute = find(wanted);
    return attribute == nullptr ? std::vector<std::int64_t>{} : attribute->integers;
}

std::string_view TensorNode::text(std::string_view wanted, std::string_view standard) const {
    const TensorAttribute* attribute = find(wanted);
    return attribute == nullptr ? standard : std::string_view(attribute->text);
}

std::vector<std::string> symbols_of(const TensorNet& net) {
    std::vector<std::string> symbols;
    for (const int input : net.inputs) {
        for (const Dimension& dimension : net.tensors[static_cast<std::size_t>(input)].shape) {
            if (dimension.symbol.empty() || std::find(symbols.begin(), symbols.end(), dimension.symbol) != symbols.end()) continue;
            symbols.push_back(dimension.symbol);
        }
    }
    return symbols;
}

std::int64_t fixed_batch(const TensorNet& net) {
    if (net.inputs.empty()) return 0;
    const Tensor& first = net.tensors[static_cast<std::size_t>(net.inputs.front())];
    return first.shape.empty() || !first.shape.front().symbol.empty() ? 0 : first.shape.front().size;
}

}  // namespace roofcast
