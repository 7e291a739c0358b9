#pragma once
/// What names stand for in the options of a list of layers: a net's values, or a block's arguments.

#include <toml++/toml.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/toml_reader.hpp"
#include "workload/expression.hpp"

namespace roofcast {

/// One list of layers: its names, and where errors say that it is.
class Scope {
public:
    /// Of a net, whose `[values]` are `values`.
    explicit Scope(TableReader& values) : values_(&values), file_(values.file()) {}
    /// Of a block in `file`, called at `place`. `values`: those of the net, where the block is of its own file; else null.
    Scope(std::string file, std::string place, TableReader* values) : values_(values), file_(std::move(file)), place_(std::move(place)) {}

    void set(const std::string& name, Value value) { names_.insert_or_assign(name, std::move(value)); }
    /// The same of an argument that the block has, which calls inside may forward.
    void set_argument(const std::string& name, Value value) {
        set(name, std::move(value));
        arguments_.insert(name);
    }
    /// An argument of the block, or null.
    [[nodiscard]] const Value* argument(std::string_view name) const;
    /// "width", or "widths.2" of a list in values.
    [[nodiscard]] std::optional<Value> find(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> names() const;

    /// The value that `node` is, or that its expression has. A text that is one of `words`, and no name, stands for itself.
    [[nodiscard]] Value value(const std::string& key, const toml::node& node, bool words = false) const;

    /// Layer `index` of this list, as errors name it: "layers[3].bottleneck: layers[0]".
    [[nodiscard]] std::string layer(std::size_t index) const;
    [[nodiscard]] const std::string& place() const { return place_; }
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] TableReader* values() const { return values_; }
    /// An error at `node`, which it shows where nothing was `found`.
    [[nodiscard]] Error error(const std::string& key, const toml::node& node, std::string what, std::string found, std::string expected,
                              std::string suggestion = {}) const;

private:
    TableReader* values_;
    std::string file_, place_;
    std::map<std::string, Value, std::less<>> names_;
    std::set<std::string, std::less<>> arguments_;
};

}  // namespace roofcast
