#include "profile/parameter_file.hpp"

#include <fmt/format.h>

#include <utility>

namespace roofcast {

namespace {

bool is_leaf(const toml::node& node) {
    return node.is_number() || (node.is_table() && node.as_table()->contains("value"));
}

}  // namespace

ParameterFile::ParameterFile(std::filesystem::path file, const SpecIndex& specs, ParameterSet& set, Origins& hand,
                             std::optional<Provenance> fit, bool without_models, bool of_user)
    : file_(std::move(file)),
      specs_(specs),
      set_(set),
      hand_(hand),
      fit_(fit),
      without_models_(without_models),
      name_((of_user ? "your " : "") + file_.filename().string()) {}

std::size_t ParameterFile::read(const toml::table& document) {
    read_table(document, "", "");
    return count_;
}

/// Tables at the top that hold no parameters: architecture facts, and what a fit says about itself.
bool ParameterFile::is_skipped(std::string_view dotted) const {
    return fit_ ? dotted == "fit" : dotted == "typical" || dotted == "interval";
}

void ParameterFile::read_table(const toml::table& table, const std::string& prefix, std::string source) {
    if (const auto own = table["source"].value<std::string>()) source = *own;
    for (const auto& [key, node] : table) {
        const std::string dotted = prefix.empty() ? std::string(key.str()) : fmt::format("{}.{}", prefix, key.str());
        if (key.str() == "source" && node.is_string()) continue;
        if (is_skipped(dotted)) continue;
        if (is_leaf(node)) {
            read_leaf(node, dotted, source);
        } else if (node.is_table()) {
            read_table(*node.as_table(), dotted, source);
        } else {
            throw error(node, dotted, "not a parameter", "a number or {value = …, source = …}");
        }
    }
}

void ParameterFile::read_leaf(const toml::node& node, const std::string& dotted, std::string source) {
    const auto place = specs_.find(dotted);
    if (place == specs_.end()) throw unknown(node, dotted);
    const ParameterSpec& spec = parameter_specs()[place->second];
    double value = 0;
    std::string interval;
    if (node.is_number()) {
        value = number_of(node);
    } else {
        TableReader reader(*node.as_table(), file_.string(), dotted);
        value = reader.number("value");
        source = reader.text_if("source").value_or(source);
        if (const auto unit = reader.text_if("unit"); unit && *unit != spec.unit)
            throw reader.error("unit", "wrong unit", {}, fmt::format("\"{}\"", spec.unit));
        static_cast<void>(reader.number_if("standard_error", non_negative));
        static_cast<void>(reader.text_if("at_bound"));
        const auto low = reader.number_if("interval_low", non_negative), high = reader.number_if("interval_high", non_negative);
        if (low && high) interval = fmt::format(", 80 % within {:.3g} to {:.3g}", *low, *high);
        const Range own{reader.number_if("lower").value_or(spec.lower), reader.number_if("upper").value_or(spec.upper)};
        reader.finish();
        if (value < own.lower || value > own.upper)
            throw error(node, dotted, "outside the bounds given with it", fmt::format("{} to {}", own.lower, own.upper));
    }
    if (!(value >= spec.lower && value <= spec.upper))
        throw error(node, dotted, "outside its physical bounds", fmt::format("{} to {} {}", spec.lower, spec.upper, spec.unit));
    if (source.empty() && !fit_) throw error(node, dotted, "a source is missing", "source = \"a citation\" or \"assumed: reason\"");
    ++count_;
    if (without_models_ && source.starts_with(fitted_to_models)) return;
    spec.set(set_.values, value);
    if (fit_) {
        trace_fit(place->second, source);
        set_.source[place->second] += interval;
    } else {
        hand_.provenance[place->second] = source.starts_with("assumed") ? Provenance::assumed : Provenance::cited;
        hand_.source[place->second] = source;
        trace_hand(place->second);
    }
}

void ParameterFile::trace_hand(std::size_t spec) {
    set_.provenance[spec] = hand_.provenance[spec];
    set_.source[spec] = hand_.source[spec];
}

/// What a fit kept was told by no row of its GPUs: it is as good as where it comes from, a less specific fit or values by hand.
void ParameterFile::trace_fit(std::size_t spec, const std::string& source) {
    if (source.starts_with(kept_from_others)) return;
    if (source.starts_with(kept_source)) return trace_hand(spec);
    const bool unchanged = source.starts_with(unchanged_from_shipped);
    set_.provenance[spec] = unchanged ? Provenance::gpu_fit : *fit_;
    set_.source[spec] = source.empty() ? name_ : source;
}

Error ParameterFile::unknown(const toml::node& node, const std::string& dotted) const {
    if (dotted.starts_with("compute.") || dotted.starts_with("memory.") || dotted.starts_with("power."))
        return error(node, dotted, "data-sheet values cannot be set here", "a parameter of the cost model",
                     "set data-sheet values in gpus/<id>.toml");
    std::vector<std::string> known;
    for (const auto& spec : parameter_specs()) known.push_back(spec.name);
    return error(node, dotted, "unknown parameter", {}, did_you_mean(dotted, known));
}

Error ParameterFile::error(const toml::node& node, const std::string& dotted, std::string what, std::string expected,
                           std::string suggestion) const {
    const auto value = node.is_table() ? node.as_table()->get("value")->value<double>() : node.value<double>();
    return Error({.what = std::move(what),
                  .file = file_.string(),
                  .line = static_cast<int>(node.source().begin.line),
                  .key = dotted,
                  .found = value ? fmt::format("{}", *value) : "",
                  .expected = std::move(expected),
                  .suggestion = std::move(suggestion)});
}

}  // namespace roofcast
