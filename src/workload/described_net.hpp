#pragma once
/// Nets that other formats describe, in the words of TOML descriptions: so they are read, expanded and checked as these are.

#include <toml++/toml.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "roofcast/convnet.hpp"

namespace roofcast {

class DescribedNet {
public:
    struct Key {
        std::string_view name;
        std::variant<std::int64_t, double, bool, std::string, std::vector<std::string>> value;
    };

    /// `file`: where the description comes from.
    explicit DescribedNet(std::string file) : file_(std::move(file)) {}

    /// A key of the net: {"image_size", 224}.
    void set(const Key& key) { put(keys_, key); }
    /// One more layer: {{"conv", 64}, {"kernel", 3}}.
    void add(std::initializer_list<Key> layer);
    /// Throws Error where the description is wrong.
    [[nodiscard]] ConvNet read() &&;

private:
    static void put(toml::table& table, const Key& key);

    std::string file_;
    toml::table keys_;
    toml::array layers_;
};

}  // namespace roofcast
