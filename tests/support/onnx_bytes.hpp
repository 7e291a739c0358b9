#pragma once
/// ONNX files byte by byte, so that tests can write what no exporter would. Field numbers are those of onnx.proto.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace roofcast::test::onnx_bytes {

inline std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value > 0x7f; value >>= 7U) bytes += static_cast<char>((value & 0x7fU) | 0x80U);
    return bytes + static_cast<char>(value);
}
inline std::string field(std::uint32_t number, const std::string& value) {
    return varint(number << 3U | 2U) + varint(value.size()) + value;
}
inline std::string field(std::uint32_t number, std::uint64_t value) {
    return varint(number << 3U) + varint(value);
}

inline std::string node(const std::string& kind, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                        const std::string& rest = {}) {
    std::string bytes;
    for (const auto& input : inputs) bytes += field(1, input);
    for (const auto& output : outputs) bytes += field(2, output);
    return field(1, bytes + field(3, kind + "_node") + field(4, kind) + rest);
}

/// An fp32 weight with `data` behind its shape.
inline std::string weight(const std::string& name, const std::vector<std::uint64_t>& shape, const std::string& data = {}) {
    std::string bytes;
    for (const auto size : shape) bytes += field(1, size);
    return field(5, bytes + field(2, std::uint64_t{1}) + field(8, name) + (data.empty() ? std::string() : field(9, data)));
}

/// A symbol, or a number as text.
inline std::string value(std::uint32_t number, const std::string& name, const std::vector<std::string>& shape) {
    std::string dims;
    for (const auto& size : shape) {
        const bool symbol = size.find_first_not_of("0123456789") != std::string::npos;
        dims += field(1, symbol ? field(2, size) : field(1, std::uint64_t{std::stoull(size)}));
    }
    const std::string tensor = field(1, std::uint64_t{1}) + field(2, dims);
    return field(number, field(1, name) + field(2, field(1, tensor)));
}
inline std::string input(const std::string& name, const std::vector<std::string>& shape) {
    return value(11, name, shape);
}
inline std::string output(const std::string& name) {
    return field(12, field(1, name));
}

inline std::string model(const std::string& graph) {
    return field(1, std::uint64_t{8}) + field(2, std::string("test")) + field(7, graph) + field(8, field(2, std::uint64_t{13}));
}

}  // namespace roofcast::test::onnx_bytes
