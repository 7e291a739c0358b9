#include "workload/gguf_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/printable.hpp"

namespace roofcast {

Error GgufKeys::error(std::string_view key, std::string what, std::string found, std::string expected) const {
    return Error({.what = std::move(what),
                  .file = gguf_.path.string(),
                  .key = printable(fmt::format("{}.{}", prefix_, key)),
                  .found = std::move(found),
                  .expected = std::move(expected)});
}

std::int64_t GgufKeys::count_or_zero(std::string_view key) const {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return 0;
    if (!value->is_array()) return whole(key, *value);
    std::int64_t all = 0;
    for (const nlohmann::json& item : *value) {
        const std::int64_t one = whole(key, item);
        if (one != 0 && all != 0 && one != all) throw error(key, "differs from layer to layer, which is not supported");
        all = std::max(all, one);
    }
    return all;
}

std::int64_t GgufKeys::count(std::string_view key) const {
    const std::int64_t value = count_or_zero(key);
    if (value == 0) throw error(key, "a required key is missing", {}, "a whole number above 0");
    return value;
}

bool GgufKeys::flag(std::string_view key, bool standard) const {
    const nlohmann::json* value = find(key);
    return value != nullptr && value->is_boolean() ? value->get<bool>() : standard;
}

const nlohmann::json* GgufKeys::find(std::string_view key) const {
    const auto found = gguf_.values.find(fmt::format("{}.{}", prefix_, key));
    return found == gguf_.values.end() || found->second.is_null() ? nullptr : &found->second;
}

std::int64_t GgufKeys::length(std::string_view tensor, std::size_t dim) const {
    const std::string ending = fmt::format(".{}", tensor);
    for (const GgufTensor& t : gguf_.tensors) {
        if (t.name.starts_with("blk.") && t.name.ends_with(ending) && dim < t.dims.size()) return t.dims[dim];
    }
    return 0;
}

std::int64_t GgufKeys::whole(std::string_view key, const nlohmann::json& value) const {
    constexpr std::int64_t largest = std::int64_t{1} << 40;
    const bool number = value.is_number_integer();
    const bool fits = number && (value.is_number_unsigned() ? value.get<std::uint64_t>() <= largest : value.get<std::int64_t>() >= 0);
    if (!fits) throw error(key, number ? "out of range" : "wrong type", {}, "a whole number from 0 to 2^40");
    return value.get<std::int64_t>();
}

}  // namespace roofcast
