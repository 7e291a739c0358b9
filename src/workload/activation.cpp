// Activations by name: what they cost beyond one pass over the tensor.

#include <fmt/format.h>

#include <map>

#include "workload/hugging_face_models.hpp"
#include "workload/readers.hpp"

namespace roofcast {

namespace {

/// Names of the transformers library (activations.py), and the element-wise operators that each is made of there.
const std::map<std::string, double, std::less<>>& kernels_by_name() {
    static const std::map<std::string, double, std::less<>> table{
        {"gelu", 1},
        {"gelu_10", 2},           // gelu, clip
        {"gelu_accurate", 8},     // as gelu_new
        {"gelu_fast", 9},         // four products, sum, product, tanh, sum, product
        {"gelu_new", 8},          // power, product, sum, product, tanh, sum, two products
        {"gelu_python", 5},       // quotient, erf, sum, two products
        {"gelu_python_tanh", 8},  // as gelu_new
        {"gelu_pytorch_tanh", 1},
        {"hardswish", 1},
        {"laplace", 5},  // difference, quotient, erf, sum, product
        {"leaky_relu", 1},
        {"linear", 1},
        {"mish", 1},
        {"prelu", 1},
        {"quick_gelu", 3},  // product, sigmoid, product
        {"relu", 1},
        {"relu2", 2},  // relu, square
        {"relu6", 1},
        {"sigmoid", 1},
        {"silu", 1},
        {"situ", 4},       // Kimi K3's report: beta tanh(x / beta) sigmoid(x): quotient, tanh, sigmoid, product
        {"swigluoai", 5},  // gpt-oss's clamped SwiGLU: two clips, product, sigmoid, product
        {"swish", 1},
        {"tanh", 1},
    };
    return table;
}

std::optional<double> activation_kernels(std::string_view name) {
    const auto found = kernels_by_name().find(name);
    return found == kernels_by_name().end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> known_activations() {
    std::vector<std::string> names;
    for (const auto& [name, kernels] : kernels_by_name()) names.push_back(name);
    return names;
}

}  // namespace

double read_activation(TableReader& reader, std::string_view key) {
    const auto name = reader.text_if(key);
    if (!name) return 1;
    const auto kernels = activation_kernels(*name);
    if (!kernels)
        throw reader.error(key, "unknown activation", {}, fmt::format("one of {}", fmt::join(known_activations(), ", ")),
                           did_you_mean(*name, known_activations()));
    return *kernels;
}

double hugging_face::eager_activation(const JsonReader& config, const char* key, const char* standard) {
    const auto kernels = activation_kernels(config.text_or(key, standard));
    if (!kernels) throw config.error(key, "unknown activation", fmt::format("one of {}", fmt::join(known_activations(), ", ")));
    return *kernels;
}

}  // namespace roofcast
