#pragma once
/// A net as a graph of tensors and operators, as exchange formats (ONNX) store it. Independent of framework, file format and GPU.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

/// What a tensor's elements are. `other`: texts, complex numbers, and what a file does not say.
enum class ElementType { other, fp64, fp32, fp16, bf16, fp8, int64, int32, int16, int8, int4, boolean };
[[nodiscard]] constexpr bool is_floating(ElementType type) {
    return type >= ElementType::fp64 && type <= ElementType::fp8;
}

/// One dimension of a shape: a number, or a symbol that a run sets.
struct Dimension {
    std::int64_t size = 0;
    std::string symbol{};  ///< empty: `size` is known
    friend bool operator==(const Dimension&, const Dimension&) = default;
};

/// Constants of at most this many elements keep their values: shapes, axes, scalars.
inline constexpr std::int64_t most_kept_values = 1024;

struct Tensor {
    std::string name;
    ElementType type = ElementType::other;
    bool shaped = false;           ///< the file states the shape
    bool constant = false;         ///< its values are in the file
    bool initializer = false;      ///< one that the file lists as a weight, not as an operator
    std::vector<Dimension> shape;  ///< read with `shaped` only
    std::vector<double> values;    ///< of a small constant; empty for others
};

/// A named setting of an operator. One of the members has its value; the others are empty.
struct TensorAttribute {
    std::string name;
    std::vector<std::int64_t> integers;
    std::vector<double> numbers;
    std::string text;
};

/// Number of a tensor that an operator leaves out.
inline constexpr int absent_tensor = -1;

struct TensorNode {
    std::string kind;  ///< "Conv"; with its domain where that is not the standard's: "com.microsoft.Attention"
    std::string name;
    std::vector<int> inputs, outputs;  ///< numbers of tensors, or `absent_tensor`
    std::vector<TensorAttribute> attributes;

    /// The attribute called `wanted`; nullptr: there is none.
    [[nodiscard]] const TensorAttribute* find(std::string_view wanted) const;
    /// The first whole number of an attribute; `standard`: there is none.
    [[nodiscard]] std::int64_t integer(std::string_view wanted, std::int64_t standard) const;
    [[nodiscard]] double number(std::string_view wanted, double standard) const;
    [[nodiscard]] std::vector<std::int64_t> integers(std::string_view wanted) const;
    [[nodiscard]] std::string_view text(std::string_view wanted, std::string_view standard) const;
};

struct TensorNet {
    std::vector<Tensor> tensors;
    std::vector<TensorNode> nodes;     ///< each after those that compute its inputs
    std::vector<int> inputs, outputs;  ///< numbers of tensors
    std::int64_t operator_set = 0;     ///< version of the standard's operators
};

/// Symbols of the net's inputs, each once, in the order of the inputs.
std::vector<std::string> symbols_of(const TensorNet& net);

/// The first dimension of the inputs where it is a number: then runs have that batch. 0: a symbol, or the inputs have none.
std::int64_t fixed_batch(const TensorNet& net);

}  // namespace roofcast
