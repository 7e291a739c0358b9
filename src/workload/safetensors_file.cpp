// The format: README.md of huggingface/safetensors. Eight bytes say how long the header is, which is a JSON object with an entry a tensor.

#include "workload/safetensors_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "io/json_text.hpp"
#include "io/printable.hpp"
#include "io/text_file.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

using nlohmann::json;

constexpr std::uint64_t longest_header = std::uint64_t{32} << 20;
constexpr double most_bytes = 0x1p56;
constexpr std::size_t most_lengths = 8;

Error tensor_error(const std::string& file, const std::string& tensor, std::string what, std::string found = {},
                   std::string expected = {}) {
    return Error(
        {.what = std::move(what), .file = file, .key = printable(tensor), .found = std::move(found), .expected = std::move(expected)});
}

/// Bits of an element; nullopt: a type that this program does not know.
std::optional<double> bits_of_type(std::string_view type) {
    constexpr std::pair<std::string_view, double> types[] = {
        {"F64", 64},  {"I64", 64}, {"U64", 64},        {"F32", 32},        {"I32", 32},    {"U32", 32},    {"F16", 16},
        {"BF16", 16}, {"I16", 16}, {"U16", 16},        {"F8_E4M3", 8},     {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"I8", 8},
        {"U8", 8},    {"BOOL", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4}};
    for (const auto& [name, bits] : types) {
        if (type == name) return bits;
    }
    return std::nullopt;
}

/// A whole number from 0 to 2^53.
std::int64_t whole_of(const std::string& file, const std::string& tensor, const json& value) {
    constexpr std::int64_t largest = std::int64_t{1} << 53;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest)
        throw tensor_error(file, tensor, "shapes and offsets are whole numbers",
                           printable(value.dump(-1, ' ', true, json::error_handler_t::replace)), "0 to 2^53");
    return value.get<std::int64_t>();
}

SafeTensor read_entry(const std::string& file, const std::string& name, const json& entry) {
    const auto member = [&](const char* key, bool (json::*is)() const noexcept) -> const json& {
        const auto found = entry.is_object() ? entry.find(key) : entry.end();
        if (!entry.is_object() || found == entry.end() || !((*found).*is)())
            throw tensor_error(file, name, fmt::format("no {} of this tensor", key), {}, "dtype, shape and data_offsets");
        return *found;
    };
    SafeTensor tensor{.name = name, .type = member("dtype", &json::is_string).get<std::string>(), .shape = {}};
    const json& shape = member("shape", &json::is_array);
    if (shape.size() > most_lengths) throw tensor_error(file, name, "too many dimensions", std::to_string(shape.size()), "at most 8");
    for (const json& length : shape) tensor.shape.push_back(whole_of(file, name, length));
    const json& offsets = member("data_offsets", &json::is_array);
    if (offsets.size() != 2) throw tensor_error(file, name, "data_offsets are not two numbers");
    const std::int64_t begin = whole_of(file, name, offsets[0]), end = whole_of(file, name, offsets[1]);
    if (begin > end) throw tensor_error(file, name, "its data ends before it begins", fmt::format("{} to {}", begin, end));
    tensor.bytes = static_cast<double>(end - begin) * byte;
    const auto bits = bits_of_type(tensor.type);
    if (!bits)
        throw tensor_error(file, name, "unknown type of tensor", printable(tensor.type),
                           "F32, F16, BF16, F8_E4M3, I8, U8 or another of the format");
    const double expected = tensor.elements() * *bits / 8;
    if (expected > most_bytes || expected != tensor.bytes.in(byte))
        throw tensor_error(file, name, "its bytes are not those of its shape and type", fmt::format("{:.0f}", tensor.bytes.in(byte)),
                           fmt::format("{:.0f}", expected));
    return tensor;
}

std::string read_header(const std::filesystem::path& file) {
    const std::string name = file.string();
    std::error_code ec;
    if (!std::filesystem::is_regular_file(file, ec))
        throw Error({.what = "the file does not exist", .file = name, .suggestion = "check the path"});
    const std::uintmax_t size = std::filesystem::file_size(file, ec);
    std::ifstream in(file, std::ios::binary);
    std::uint64_t length = 0;
    in.read(reinterpret_cast<char*>(&length), sizeof length);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
    if (ec || !in) throw Error({.what = "not a safetensors file: it ends within its first 8 bytes", .file = name});
    if (length > longest_header || length > size - sizeof length)
        throw Error({.what = "not a safetensors file, or cut off: its header would be longer than it may be",
                     .file = name,
                     .found = fmt::format("{} bytes", length),
                     .expected = fmt::format("at most {}", std::min<std::uintmax_t>(longest_header, size - sizeof length))});
    std::string header(length, '\0');
    in.read(header.data(), static_cast<std::streamsize>(length));
    if (!in) throw Error({.what = "the file cannot be read", .file = name});
    return header;
}

}  // namespace

double SafeTensor::elements() const {
    double product = 1;
    for (const std::int64_t length : shape) product *= static_cast<double>(length);
    return product;
}

std::vector<SafeTensor> read_safetensors(const std::filesystem::path& file) {
    const json header = parse_json<json>(read_header(file), file.string());
    if (!header.is_object()) throw Error({.what = "not a safetensors file: its header is no JSON object", .file = file.string()});
    std::vector<SafeTensor> tensors;
    for (const auto& [name, entry] : header.items()) {
        if (name != "__metadata__") tensors.push_back(read_entry(file.string(), name, entry));
    }
    return tensors;
}

SafetensorsIndex read_safetensors_index(const std::filesystem::path& file) {
    std::error_code ec;
    if (std::filesystem::file_size(file, ec) > longest_header && !ec)
        throw Error({.what = "the index is too large", .file = file.string(), .expected = "at most 32 MiB"});
    const json index = parse_json<json>(read_text_file(file), file.string());
    const auto map = index.is_object() ? index.find("weight_map") : index.end();
    if (!index.is_object() || map == index.end() || !map->is_object())
        throw Error({.what = "not an index of safetensors files",
                     .file = file.string(),
                     .key = "weight_map",
                     .found = {},
                     .expected = "an object"});
    std::set<std::string> files;
    for (const auto& [tensor, name] : map->items()) {
        const std::string part = name.is_string() ? name.get<std::string>() : std::string();
        if (part.empty() || std::filesystem::path(part).filename() != part || part == "." || part == "..")
            throw tensor_error(file.string(), tensor, "not the name of a file beside the index", printable(part));
        files.insert(part);
    }
    SafetensorsIndex result{.files = {files.begin(), files.end()}};
    const auto metadata = index.find("metadata");
    if (metadata != index.end() && metadata->is_object() && metadata->contains("total_size") && (*metadata)["total_size"].is_number()) {
        const double total = (*metadata)["total_size"].get<double>();
        if (!(total >= 0 && total <= most_bytes))
            throw Error({.what = "out of range", .file = file.string(), .key = "metadata.total_size", .found = fmt::format("{}", total)});
        result.total = total * byte;
    }
    return result;
}

}  // namespace roofcast
