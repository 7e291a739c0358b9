#pragma once
/// Keys of a GGUF file by architecture.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "roofcast/error.hpp"
#include "workload/gguf_file.hpp"

namespace roofcast {

/// The keys that begin with `prefix` and a dot.
class GgufKeys {
public:
    /// `gguf` must outlive this.
    GgufKeys(const GgufFile& gguf, std::string prefix) : gguf_(gguf), prefix_(std::move(prefix)) {}

    [[nodiscard]] Error error(std::string_view key, std::string what, std::string found = {}, std::string expected = {}) const;
    /// A whole number. Throws Error when it is absent or 0.
    [[nodiscard]] std::int64_t count(std::string_view key) const;
    /// 0 where the key is absent. Of a list with one value a layer, that of all layers that have one.
    [[nodiscard]] std::int64_t count_or_zero(std::string_view key) const;
    [[nodiscard]] bool flag(std::string_view key, bool standard) const;
    /// Null where the key is absent.
    [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
    /// Length number `dim` of the tensor of that name in the first layer that has it; 0: none has.
    [[nodiscard]] std::int64_t length(std::string_view tensor, std::size_t dim) const;

private:
    [[nodiscard]] std::int64_t whole(std::string_view key, const nlohmann::json& value) const;

    const GgufFile& gguf_;
    std::string prefix_;
};

}  // namespace roofcast
