#include "workload/onnx/tensors.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Largest dimension: beyond any tensor, and small enough that a few multiply exactly.
constexpr std::int64_t largest_dimension = std::int64_t{1} << 40;
constexpr int most_dimensions = 32;

std::int64_t plausible(std::int64_t size, const std::string& tensor, const std::filesystem::path& file) {
    if (size >= 0 && size <= largest_dimension) return size;
    throw Error({.what = "the tensor has an implausible dimension",
                 .file = file.string(),
                 .key = tensor,
                 .found = std::to_string(size),
                 .expected = fmt::format("0 to {}", largest_dimension)});
}

void require_rank(int rank, const std::string& tensor, const std::filesystem::path& file) {
    if (rank <= most_dimensions) return;
    throw Error({.what = "the tensor has too many dimensions",
                 .file = file.string(),
                 .key = tensor,
                 .found = std::to_string(rank),
                 .expected = fmt::format("at most {}", most_dimensions)});
}

/// IEEE 754 binary16.
double from_half(std::uint16_t bits) {
    constexpr int fraction_bits = 10, bias = 15, special = 31;
    const int exponent = (bits >> fraction_bits) & special, fraction = bits & ((1 << fraction_bits) - 1);
    const double sign = (bits >> 15U) != 0 ? -1 : 1;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    if (exponent == special) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
    return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

double from_bfloat16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// `raw` as numbers of type `Stored`, which files store with the lowest byte first, as the machines do that roofcast is built for.
template <class Stored, class Convert>
std::vector<double> numbers_in(const std::string& raw, Convert convert) {
    std::vector<double> numbers(raw.size() / sizeof(Stored));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        Stored value;
        std::memcpy(&value, raw.data() + i * sizeof(Stored), sizeof(Stored));
        numbers[i] = convert(value);
    }
    return numbers;
}

std::vector<double> raw_numbers(const onnx::TensorProto& proto) {
    const auto plain = [](auto value) { return static_cast<double>(value); };
    const std::string& raw = proto.raw_data();
    switch (proto.data_type()) {
        case onnx::TensorProto::FLOAT:
            return numbers_in<float>(raw, plain);
        case onnx::TensorProto::DOUBLE:
            return numbers_in<double>(raw, plain);
        case onnx::TensorProto::INT64:
        case onnx::TensorProto::UINT64:
            return numbers_in<std::int64_t>(raw, plain);
        case onnx::TensorProto::INT32:
        case onnx::TensorProto::UINT32:
            return numbers_in<std::int32_t>(raw, plain);
        case onnx::TensorProto::INT16:
            return numbers_in<std::int16_t>(raw, plain);
        case onnx::TensorProto::UINT16:
            return numbers_in<std::uint16_t>(raw, plain);
        case onnx::TensorProto::INT8:
            return numbers_in<std::int8_t>(raw, plain);
        case onnx::TensorProto::UINT8:
        case onnx::TensorProto::BOOL:
            return numbers_in<std::uint8_t>(raw, plain);
        case onnx::TensorProto::FLOAT16:
            return numbers_in<std::uint16_t>(raw, from_half);
        case onnx::TensorProto::BFLOAT16:
            return numbers_in<std::uint16_t>(raw, from_bfloat16);
        default:
            return {};
    }
}

/// Numbers of the fields that are named after types.
std::vector<double> typed_numbers(const onnx::TensorProto& proto) {
    const auto copied = [](const auto& field) { return std::vector<double>(field.begin(), field.end()); };
    switch (proto.data_type()) {
        case onnx::TensorProto::FLOAT:
            return copied(proto.float_data());
        case onnx::TensorProto::DOUBLE:
            return copied(proto.double_data());
        case onnx::TensorProto::INT64:
            return copied(proto.int64_data());
        case onnx::TensorProto::UINT32:
        case onnx::TensorProto::UINT64:
            return copied(proto.uint64_data());
        case onnx::TensorProto::FLOAT16:
        case onnx::TensorProto::BFLOAT16: {
            std::vector<double> numbers;
            const bool half = proto.data_type() == onnx::TensorProto::FLOAT16;
            for (const std::int32_t bits : proto.int32_data()) {
                const auto stored = static_cast<std::uint16_t>(bits);
                numbers.push_back(half ? from_half(stored) : from_bfloat16(stored));
            }
            return numbers;
        }
        default:
            return copied(proto.int32_data());
    }
}

/// Elements of `shape`, or one more than what is kept.
std::int64_t kept_elements(const std::vector<Dimension>& shape) {
    std::int64_t elements = 1;
    for (const Dimension& dimension : shape) {
        if (dimension.size == 0) return 0;
        if (elements > most_kept_values / dimension.size) return most_kept_values + 1;
        elements *= dimension.size;
    }
    return elements;
}

}  // namespace

ElementType element_type(std::int64_t onnx_type) {
    // In the order of onnx.proto: undefined, float, uint8, int8, uint16, int16, int32, int64, string, bool, float16, double, uint32,
    // uint64, complex64, complex128, bfloat16, four formats of 8-bit floats, uint4, int4.
    using E = ElementType;
    constexpr std::array types{E::other, E::fp32,    E::int8, E::int8, E::int16, E::int16, E::int32, E::int64,
                               E::other, E::boolean, E::fp16, E::fp64, E::int32, E::int64, E::other, E::other,
                               E::bf16,  E::fp8,     E::fp8,  E::fp8,  E::fp8,   E::int4,  E::int4};
    return onnx_type >= 0 && onnx_type < static_cast<std::int64_t>(types.size()) ? types[static_cast<std::size_t>(onnx_type)] : E::other;
}

Tensor constant_tensor(const onnx::TensorProto& proto, const std::filesystem::path& file) {
    Tensor tensor{
        .name = proto.name(), .type = element_type(proto.data_type()), .shaped = true, .constant = true, .shape = {}, .values = {}};
    require_rank(proto.dims_size(), tensor.name, file);
    for (const std::int64_t size : proto.dims()) tensor.shape.push_back({.size = plausible(size, tensor.name, file)});
    const std::int64_t elements = kept_elements(tensor.shape);
    if (elements == 0 || elements > most_kept_values) return tensor;
    std::vector<double> values = proto.has_raw_data() ? raw_numbers(proto) : typed_numbers(proto);
    // Data that lie in another file, or whose length is not that of the shape, are unknown.
    if (values.size() == static_cast<std::size_t>(elements)) tensor.values = std::move(values);
    return tensor;
}

Tensor described_tensor(const onnx::ValueInfoProto& proto, const std::filesystem::path& file) {
    Tensor tensor{.name = proto.name(), .shape = {}, .values = {}};
    if (!proto.type().has_tensor_type()) return tensor;
    const auto& type = proto.type().tensor_type();
    tensor.type = element_type(type.elem_type());
    if (!type.has_shape()) return tensor;
    tensor.shaped = true;
    require_rank(type.shape().dim_size(), tensor.name, file);
    for (int i = 0; i < type.shape().dim_size(); ++i) {
        const auto& dimension = type.shape().dim(i);
        // Exporters write −1 or 0 where they know no size.
        if (dimension.has_dim_value() && dimension.dim_value() > 0) {
            tensor.shape.push_back({.size = plausible(dimension.dim_value(), tensor.name, file)});
        } else if (!dimension.dim_param().empty()) {
            tensor.shape.push_back({.symbol = dimension.dim_param()});
        } else {
            tensor.shape.push_back({.symbol = fmt::format("{}.{}", tensor.name, i)});
        }
    }
    return tensor;
}

}  // namespace roofcast
