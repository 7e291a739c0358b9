// The format: ggml/include/gguf.h of llama.cpp, and docs/gguf.md of ggml.

#include "workload/gguf_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "roofcast/error.hpp"
#include "units/weight_formats.hpp"
#include "workload/gguf_stream.hpp"

namespace roofcast {

namespace {

// More than any model has.
constexpr std::uint64_t most_keys = 65'536, most_tensors = 1'048'576, longest_name = 4096, longest_kept = 4096;
constexpr std::int64_t longest_row = std::int64_t{1} << 40;
constexpr std::uint32_t most_dims = 4;
constexpr double most_weights = 0x1p56;

enum class GgufType : std::uint32_t { uint8, int8, uint16, int16, uint32, int32, float32, boolean, text, list, uint64, int64, float64 };
constexpr std::uint32_t gguf_type_count = 13;

/// Bytes of a value of fixed size; 0: texts and lists.
std::uint64_t size_of(GgufType type) {
    constexpr std::uint64_t sizes[gguf_type_count] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return sizes[static_cast<std::uint32_t>(type)];
}

GgufType read_type(GgufStream& in) {
    const auto type = in.number<std::uint32_t>();
    if (type >= gguf_type_count) throw in.error("unknown type of value", std::to_string(type), "0 to 12");
    return static_cast<GgufType>(type);
}

nlohmann::json read_scalar(GgufStream& in, GgufType type) {
    switch (type) {
        case GgufType::uint8:
            return in.number<std::uint8_t>();
        case GgufType::int8:
            return in.number<std::int8_t>();
        case GgufType::uint16:
            return in.number<std::uint16_t>();
        case GgufType::int16:
            return in.number<std::int16_t>();
        case GgufType::uint32:
            return in.number<std::uint32_t>();
        case GgufType::int32:
            return in.number<std::int32_t>();
        case GgufType::float32:
            return in.number<float>();
        case GgufType::boolean:
            return in.number<std::uint8_t>() != 0;
        case GgufType::uint64:
            return in.number<std::uint64_t>();
        case GgufType::int64:
            return in.number<std::int64_t>();
        case GgufType::float64:
            return in.number<double>();
        case GgufType::text:
        case GgufType::list:
            break;
    }
    return nullptr;
}

/// A text, or null for one that is too long to matter.
nlohmann::json read_text(GgufStream& in) {
    const std::uint64_t length = in.length(1, in.left(), "characters");
    if (length > longest_kept) {
        in.skip(length);
        return nullptr;
    }
    std::string text(length, '\0');
    in.keep(length);
    for (char& c : text) c = in.number<char>();
    return text;
}

/// A list of numbers or flags, or null for what is not kept.
nlohmann::json read_list(GgufStream& in, int depth = 0) {
    constexpr int deepest = 4;
    if (depth > deepest) throw in.error("lists are nested too deeply", {}, "at most 4 levels");
    const GgufType type = read_type(in);
    constexpr std::uint64_t least_list = 12, least_text = 8;
    if (type == GgufType::list) {
        for (std::uint64_t i = in.length(least_list, in.left(), "lists"); i > 0; i--) static_cast<void>(read_list(in, depth + 1));
        return nullptr;
    }
    if (type == GgufType::text) {
        for (std::uint64_t i = in.length(least_text, in.left(), "texts"); i > 0; i--) in.skip(in.length(1, in.left(), "characters"));
        return nullptr;
    }
    const std::uint64_t count = in.length(size_of(type), in.left(), "elements");
    if (count > longest_kept) {
        in.skip(count * size_of(type));
        return nullptr;
    }
    nlohmann::json list = nlohmann::json::array();
    in.keep(count * sizeof(nlohmann::json));
    for (std::uint64_t i = 0; i < count; ++i) list.push_back(read_scalar(in, type));
    return list;
}

nlohmann::json read_value(GgufStream& in) {
    const GgufType type = read_type(in);
    if (type == GgufType::text) return read_text(in);
    if (type == GgufType::list) return read_list(in);
    return read_scalar(in, type);
}

GgufTensor read_tensor_info(GgufStream& in) {
    GgufTensor tensor;
    tensor.name = in.text(longest_name, "characters of a tensor's name");
    in.about(tensor.name);
    const auto dims = in.number<std::uint32_t>();
    if (dims < 1 || dims > most_dims) throw in.error("number of dimensions out of range", std::to_string(dims), "1 to 4");
    for (std::uint32_t i = 0; i < dims; ++i) {
        tensor.dims.push_back(in.number<std::int64_t>());
        if (tensor.dims.back() < 1 || tensor.dims.back() > longest_row)
            throw in.error("dimension out of range", std::to_string(tensor.dims.back()), "1 to 2^40");
    }
    if (tensor.weights() > most_weights)
        throw in.error("the tensor is larger than any model", fmt::format("{:.3g} weights", tensor.weights()));
    const auto type = in.number<std::uint32_t>();
    tensor.format = weight_tables().of_ggml_type(type);
    if (tensor.format == nullptr)
        throw in.error("unknown tensor type", std::to_string(type), "a ggml_type of software/weight-formats.toml");
    if (tensor.dims.front() % tensor.format->block_weights != 0)
        throw in.error("rows are not whole blocks", std::to_string(tensor.dims.front()),
                       fmt::format("a multiple of {} for {}", tensor.format->block_weights, tensor.format->format.label));
    static_cast<void>(in.number<std::uint64_t>());  // where its data begins
    return tensor;
}

void check_version(GgufStream& in) {
    constexpr std::uint32_t oldest = 2, newest = 3, byte_bits = 8;
    const auto version = in.number<std::uint32_t>();
    std::uint32_t swapped = 0;
    for (std::uint32_t i = 0, rest = version; i < sizeof version; ++i, rest >>= byte_bits) swapped = swapped << byte_bits | (rest & 0xffU);
    if (swapped >= 1 && swapped <= newest)
        throw in.error("the file is big-endian", {}, "a little-endian GGUF file: gguf_convert_endian.py of llama.cpp makes one");
    if (version < oldest || version > newest) throw in.error("this version of GGUF is not supported", std::to_string(version), "2 or 3");
}

/// One file, with the tensors that it holds itself.
GgufFile read_part(const std::filesystem::path& file) {
    GgufStream in(file);
    constexpr std::string_view magic = "GGUF";
    for (const char c : magic) {
        if (in.left() == 0 || in.number<char>() != c) throw in.error("not a GGUF file", {}, "a file that begins with the letters GGUF");
    }
    check_version(in);
    GgufFile gguf;
    gguf.path = file;
    constexpr std::uint64_t least_tensor = 32, least_key = 13;
    const std::uint64_t tensors = in.length(least_tensor, most_tensors, "tensors"), keys = in.length(least_key, most_keys, "keys");
    for (std::uint64_t i = 0; i < keys; ++i) {
        in.about({});
        std::string key = in.text(longest_name, "characters of a key");
        in.about(key);
        nlohmann::json value = read_value(in);
        if (!gguf.values.emplace(std::move(key), std::move(value)).second) throw in.error("the key is there twice");
    }
    gguf.tensors.reserve(tensors);
    for (std::uint64_t i = 0; i < tensors; ++i) {
        in.about({});
        gguf.tensors.push_back(read_tensor_info(in));
        in.keep(sizeof(GgufTensor));
    }
    return gguf;
}

std::int64_t split_value(const GgufFile& gguf, std::string_view key) {
    const auto found = gguf.values.find(key);
    return found != gguf.values.end() && found->second.is_number_integer() ? found->second.get<std::int64_t>() : 0;
}

/// Names of all parts end alike: "-00001-of-00003.gguf".
std::string part_ending(std::int64_t number, std::int64_t parts) {
    return fmt::format("-{:05}-of-{:05}.gguf", number, parts);
}

}  // namespace

double GgufTensor::weights() const {
    double product = 1;
    for (const std::int64_t dim : dims) product *= static_cast<double>(dim);
    return product;
}

Bytes GgufTensor::bytes() const {
    return weights() / static_cast<double>(format->block_weights) * static_cast<double>(format->block_bytes) * byte;
}

const GgufTensor* GgufFile::tensor(std::string_view name) const {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const GgufTensor& t) { return t.name == name; });
    return found == tensors.end() ? nullptr : &*found;
}

GgufFile read_gguf(const std::filesystem::path& file) {
    GgufFile first = read_part(file);
    constexpr std::int64_t most_parts = 65'535;
    const std::int64_t parts = split_value(first, "split.count"), number = split_value(first, "split.no");
    if (parts <= 1) return first;
    const std::string name = file.filename().string();
    const bool plausible = parts <= most_parts && number >= 0 && number < parts;
    const std::string ending = plausible ? part_ending(number + 1, parts) : std::string();
    if (!plausible || !name.ends_with(ending))
        throw Error({.what = fmt::format("split.no {} and split.count {} do not fit the file's name", number, parts),
                     .file = file.string(),
                     .key = "split.count",
                     .found = {},
                     .expected = "a name that ends in -00001-of-00003.gguf or alike"});
    const std::string stem = name.substr(0, name.size() - ending.size());
    if (number != 0)
        throw Error({.what = fmt::format("this is part {} of {}", number + 1, parts),
                     .file = file.string(),
                     .suggestion = fmt::format("name the first part: {}{}", stem, part_ending(1, parts))});
    for (std::int64_t i = 2; i <= parts; ++i) {
        GgufFile part = read_part(file.parent_path() / (stem + part_ending(i, parts)));
        std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(first.tensors));
        if (first.tensors.size() > most_tensors) throw Error({.what = "too many tensors", .file = part.path.string()});
    }
    return first;
}

}  // namespace roofcast
