#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "io/toml_reader.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

namespace {

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
    ParameterFile(std::filesystem::path file, const SpecIndex& specs, ParameterSet& set, Origins& hand, std::optional<Provenance> fit,
                  bool without_models = false, bool of_user = false)
        : file_(std::move(file)),
          specs_(specs),
          set_(set),
          hand_(hand),
          fit_(fit),
          without_models_(without_models),
          name_((of_user ? "your " : "") + file_.filename().string()) {}

    /// Returns the number of parameters.
    std::size_t read() { return read(parse_toml_file(file_)); }
    std::size_t read(const toml::table& document) {
        read_table(document, "", "");
        return count_;
    }

private:
    static bool is_leaf(const toml::node& node) { return node.is_number() || (node.is_table() && node.as_table()->contains("value")); }

    /// Tables at the top that hold no parameters: architecture facts, and what a fit says about itself.
    [[nodiscard]] bool is_skipped(std::string_view dotted) const {
        return fit_ ? dotted == "fit" : dotted == "typical" || dotted == "interval";
    }

    void read_table(const toml::table& table, const std::string& prefix, std::string source) {
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

    void read_leaf(const toml::node& node, const std::string& dotted, std::string source) {
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
                throw error(node, dotted, "outside the bounds that stand beside it", fmt::format("{} to {}", own.lower, own.upper));
        }
        if (!(value >= spec.lower && value <= spec.upper))
            throw error(node, dotted, "outside its physical bounds", fmt::format("{} to {} {}", spec.lower, spec.upper, spec.unit));
        if (source.empty() && !fit_) throw error(node, dotted, "a source is missing", "source = \"a citation\" or \"assumed: reason\"");
        ++count_;
        if (without_models_ && source.starts_with(told_by_models)) return;
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

    void trace_hand(std::size_t spec) {
        set_.provenance[spec] = hand_.provenance[spec];
        set_.source[spec] = hand_.source[spec];
    }

    /// What a fit kept was told by no row of its GPUs: it is as good as where it comes from, a less specific fit or values by hand.
    void trace_fit(std::size_t spec, const std::string& source) {
        if (source.starts_with(kept_from_others)) return;
        if (source.starts_with(kept_source)) return trace_hand(spec);
        const bool unchanged = source.starts_with(unchanged_from_shipped);
        set_.provenance[spec] = unchanged ? Provenance::gpu_fit : *fit_;
        set_.source[spec] = source.empty() ? name_ : source;
    }

    [[nodiscard]] Error unknown(const toml::node& node, const std::string& dotted) const {
        if (dotted.starts_with("compute.") || dotted.starts_with("memory.") || dotted.starts_with("power."))
            return error(node, dotted, "a fact of the data sheet cannot be set here", "a parameter of the cost model",
                         "facts stand in gpus/<id>.toml");
        std::vector<std::string> known;
        for (const auto& spec : parameter_specs()) known.push_back(spec.name);
        return error(node, dotted, "unknown parameter", {}, did_you_mean(dotted, known));
    }

    [[nodiscard]] Error error(const toml::node& node, const std::string& dotted, std::string what, std::string expected,
                              std::string suggestion = {}) const {
        const auto value = node.is_table() ? node.as_table()->get("value")->value<double>() : node.value<double>();
        return Error({.what = std::move(what),
                      .file = file_.string(),
                      .line = static_cast<int>(node.source().begin.line),
                      .key = dotted,
                      .found = value ? fmt::format("{}", *value) : "",
                      .expected = std::move(expected),
                      .suggestion = std::move(suggestion)});
    }

    std::filesystem::path file_;
    const SpecIndex& specs_;
    ParameterSet& set_;
    Origins& hand_;  ///< of values by hand, whatever fits say
    std::optional<Provenance> fit_;
    bool without_models_;  ///< passes over what whole models told
    std::string name_;     ///< of the file, as sources say it
    std::size_t count_ = 0;
};

std::vector<ResidualInterval> read_intervals(TableReader intervals, Provenance provenance, const std::string& basis) {
    std::vector<ResidualInterval> result;
    for (const std::string& op : intervals.keys()) {
        if (op == "source") continue;
        TableReader interval = intervals.table(op);
        const double lower = interval.number("lower");
        result.push_back({.op = op,
                          .rows = interval.count_if("rows").value_or(0),
                          .lower = lower,
                          .upper = interval.number("upper", {lower}),
                          .provenance = provenance,
                          .basis = basis});
        interval.finish();
    }
    return result;
}

/// "turing" of turing.fit.toml.
std::string stem(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return name.substr(0, name.find(".fit."));
}

/// Intervals of `[fit.intervals]`, or of `[interval]` among hand values.
std::vector<ResidualInterval> read_intervals(const toml::table& document, const std::filesystem::path& file, std::optional<Provenance> fit,
                                             bool of_user = false) {
    TableReader root(document, file.string());
    if (!fit) return read_intervals(root.table("interval"), Provenance::assumed, "defaults");
    const std::string whose = of_user ? "your fit of " : "fit of ";
    const std::string of = whose + (stem(file) == default_architecture ? "all architectures" : stem(file));
    return read_intervals(root.table("fit").table("intervals"), *fit, of);
}

bool is_refined(const toml::table& document) {
    return document["fit"]["refines"].is_string();
}

SpecIndex spec_index() {
    const auto& specs = parameter_specs();
    SpecIndex by_name;
    for (std::size_t i = 0; i < specs.size(); ++i) by_name.emplace(specs[i].name, i);
    return by_name;
}

ParameterSet built_in() {
    ParameterSet set;
    set.provenance.assign(parameter_specs().size(), Provenance::assumed);
    set.source.assign(parameter_specs().size(), "assumed: built-in default");
    return set;
}

/// Which fit files are read.
enum class Fits { none, architecture, all };

/// Where fits of users lie; empty: none.
struct UserFits {
    std::filesystem::path folder{};   ///< laid out as the folder of profiles
    std::filesystem::path own_fit{};  ///< a file in place of the GPU's fit, whoever made it
};

bool is_file(const std::filesystem::path& file) {
    std::error_code ec;
    return std::filesystem::is_regular_file(file, ec);
}

/// In the order of their names; none without the folder.
std::vector<std::filesystem::path> family_fits(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    std::error_code ec;
    for (std::filesystem::directory_iterator entry(folder, ec), end; !ec && entry != end; entry.increment(ec)) {
        if (entry->path().filename().string().ends_with(".fit.toml")) files.push_back(entry->path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

bool has_family(const ParameterSet& set, const std::string& family) {
    return std::any_of(set.families.begin(), set.families.end(), [&family](const FamilyParameters& f) { return f.family == family; });
}

/// Reads what lies in the folder for `profile`, least specific first, each over the one before. Fits of users stand in place of others.
ParameterSet load(const std::filesystem::path& gpus_folder, const GpuProfile& profile, Fits fits, const UserFits& users = {}) {
    const SpecIndex by_name = spec_index();
    ParameterSet set = built_in();
    Origins hand{set.provenance, set.source};
    const auto read = [&](const std::filesystem::path& file, std::optional<Provenance> fit, bool of_user = false) {
        if (!is_file(file)) return;
        const toml::table document = parse_toml_file(file);
        of_user = of_user || (fit && is_refined(document));
        if (of_user && fit == Provenance::gpu_fit) fit = Provenance::user_fit;
        ParameterFile(file, by_name, set, hand, fit, fits == Fits::architecture, of_user).read(document);
        for (ResidualInterval& interval : read_intervals(document, file, fit, of_user)) set.intervals.push_back(std::move(interval));
    };
    const auto read_fit = [&](const std::filesystem::path& relative, Provenance fit) {
        const bool of_user = !users.folder.empty() && is_file(users.folder / relative);
        read((of_user ? users.folder : gpus_folder) / relative, fit, of_user);
    };
    const auto hand_values = [&](std::string_view of) { return architecture_file(gpus_folder, of); };
    const auto fit_of = [&](std::string_view of) { return architecture_fit_file({}, of); };
    const std::string& kernels = profile.facts.kernels_of.empty() ? profile.architecture : profile.facts.kernels_of;
    read(hand_values(default_architecture), std::nullopt);
    if (fits != Fits::none && profile.vendor == "NVIDIA") read_fit(fit_of(default_architecture), Provenance::pooled_fit);
    if (kernels != default_architecture) read(hand_values(kernels), std::nullopt);
    if (fits != Fits::none) read_fit(fit_of(kernels), Provenance::architecture_fit);
    if (fits == Fits::all && !users.own_fit.empty()) read(users.own_fit, Provenance::gpu_fit);
    if (fits == Fits::all && users.own_fit.empty()) read_fit(gpu_fit_file({}, profile.id), Provenance::gpu_fit);
    if (fits != Fits::all || profile.id.empty()) return set;
    // Each over the values of the GPU itself; those of the GPU before those of its architecture.
    for (const std::string& of : {profile.id, "arch/" + kernels}) {
        for (const std::filesystem::path& file : family_fits(family_fit_file(gpus_folder, of, "").parent_path())) {
            if (has_family(set, stem(file))) continue;
            ParameterSet own = set;
            Origins own_hand = hand;
            const toml::table document = parse_toml_file(file);
            ParameterFile(file, by_name, own, own_hand, Provenance::gpu_fit).read(document);
            set.families.push_back({stem(file), own.values, read_intervals(document, file, Provenance::gpu_fit)});
        }
    }
    return set;
}

}  // namespace

ParameterSet load_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile, const std::filesystem::path& user_fits) {
    return load(gpus_folder, profile, Fits::all, {.folder = user_fits});
}

ParameterSet load_parameters_with(const std::filesystem::path& gpus_folder, const GpuProfile& profile,
                                  const std::filesystem::path& own_fit) {
    return load(gpus_folder, profile, Fits::all, {.own_fit = own_fit});
}

bool is_refined_fit(const std::filesystem::path& fit_file) {
    return is_refined(parse_toml_file(fit_file));
}

ParameterSet load_architecture_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile) {
    return load(gpus_folder, profile, Fits::architecture);
}

ParameterSet load_unfitted_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile) {
    return load(gpus_folder, profile, Fits::none);
}

ParameterSet load_neutral_parameters(const std::filesystem::path& gpus_folder) {
    GpuProfile nobody;
    nobody.architecture = default_architecture;
    return load(gpus_folder, nobody, Fits::none);
}

std::size_t check_parameter_file(const std::filesystem::path& file) {
    const bool is_fit = file.filename().string().ends_with(".fit.toml");
    const auto fit = is_fit ? std::optional(Provenance::gpu_fit) : std::nullopt;
    const SpecIndex by_name = spec_index();
    ParameterSet set = built_in();
    Origins hand{set.provenance, set.source};
    const toml::table document = parse_toml_file(file);
    const std::size_t count = ParameterFile(file, by_name, set, hand, fit).read(document);
    static_cast<void>(read_intervals(document, file, fit));
    return count;
}

ParameterSet parameters_in_fit(std::string_view text, const std::filesystem::path& file) {
    const SpecIndex by_name = spec_index();
    ParameterSet set = built_in();
    Origins hand{set.provenance, set.source};
    const toml::table document = parse_toml(text, file.string());
    ParameterFile(file, by_name, set, hand, Provenance::gpu_fit).read(document);
    set.intervals = read_intervals(document, file, Provenance::gpu_fit);
    return set;
}

std::vector<ResidualInterval> load_residual_intervals(const std::filesystem::path& fit_file) {
    return read_intervals(parse_toml_file(fit_file), fit_file, Provenance::gpu_fit);
}

}  // namespace roofcast
