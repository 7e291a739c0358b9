#pragma once
/// Reading of files that hold parameters: hand values of architectures, and fits.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/toml_reader.hpp"
#include "roofcast/cost_parameters.hpp"

namespace roofcast {

using SpecIndex = std::unordered_map<std::string_view, std::size_t>;

/// Where values came from, by spec index.
struct Origins {
    std::vector<Provenance> provenance;
    std::vector<std::string> source;
};

/// Reads the parameters of one file into a set. A leaf is `key = 0.9` or `key = {value = 0.9, source = "…"}`; a leaf without a source
/// takes that of its table, or of the nearest table around it.
class ParameterFile {
public:
    /// `fit`: the file is one, of that provenance. `without_models`: what whole models told is passed over.
    ParameterFile(std::filesystem::path file, const SpecIndex& specs, ParameterSet& set, Origins& hand, std::optional<Provenance> fit,
                  bool without_models = false, bool of_user = false);

    /// Returns the number of parameters. Throws Error naming file, line and key.
    std::size_t read(const toml::table& document);

private:
    [[nodiscard]] bool is_skipped(std::string_view dotted) const;
    void read_table(const toml::table& table, const std::string& prefix, std::string source);
    void read_leaf(const toml::node& node, const std::string& dotted, std::string source);
    void trace_hand(std::size_t spec);
    void trace_fit(std::size_t spec, const std::string& source);
    [[nodiscard]] Error unknown(const toml::node& node, const std::string& dotted) const;
    [[nodiscard]] Error error(const toml::node& node, const std::string& dotted, std::string what, std::string expected,
                              std::string suggestion = {}) const;

    std::filesystem::path file_;
    const SpecIndex& specs_;
    ParameterSet& set_;
    Origins& hand_;  ///< of values by hand, whatever fits say
    std::optional<Provenance> fit_;
    bool without_models_;
    std::string name_;  ///< of the file, as sources say it
    std::size_t count_ = 0;
};

}  // namespace roofcast
