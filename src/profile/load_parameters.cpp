#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "io/files_in.hpp"
#include "io/text_file.hpp"
#include "io/toml_reader.hpp"
#include "profile/parameter_file.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

namespace {

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

/// `text` of a fit file with what it says of its own making and accuracy, most of it, left blank. Lines keep their numbers.
std::string without_report(std::string text) {
    bool report = false;
    for (std::size_t line = 0; line < text.size();) {
        const std::size_t end = std::min(text.find('\n', line), text.size());
        const std::string_view written = std::string_view(text).substr(line, end - line);
        if (written.starts_with('['))
            report = (written.starts_with("[fit.") || written.starts_with("[[fit.")) && !written.starts_with("[fit.intervals]");
        if (report) std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(line), written.size(), ' ');
        line = end + 1;
    }
    return text;
}

/// What a prediction needs of a file of parameters. A report that is not laid out as the program writes it is read with the rest.
toml::table parameter_document(const std::filesystem::path& file) {
    std::string text = read_text_file(file);
    const bool has_long_texts = text.find("\"\"\"") != std::string::npos || text.find("'''") != std::string::npos;
    if (has_long_texts) return parse_toml(text, file.string());
    try {
        return parse_toml(without_report(text), file.string());
    } catch (const Error&) {
        return parse_toml(text, file.string());
    }
}

bool is_file(const std::filesystem::path& file) {
    std::error_code ec;
    return std::filesystem::is_regular_file(file, ec);
}

/// Throws Error at the line of `changed_from` when no profile and no fit has this id.
void require_known_origin(const std::filesystem::path& gpus_folder, const std::filesystem::path& user_fits, const GpuProfile& profile) {
    if (profile.changed_from.empty() || is_known_origin(gpus_folder, user_fits, profile.changed_from)) return;
    const toml::table document = parse_toml_file(profile.file);
    throw TableReader(document, profile.file)
        .error("changed_from", "unknown GPU", fmt::format("\"{}\"", profile.changed_from), "an id of `roofcast gpu list`",
               did_you_mean(profile.changed_from, gpu_ids(gpus_folder)));
}

/// Id of the GPU whose fits `profile` has: its own, or those of the GPU that it was changed from.
const std::string& fitted_id(const std::filesystem::path& gpus_folder, const std::filesystem::path& user_fits, const GpuProfile& profile) {
    const auto has_fit = [&profile](const std::filesystem::path& folder) {
        return !folder.empty() && is_file(gpu_fit_file(folder, profile.id));
    };
    const bool other = !profile.changed_from.empty() && !has_fit(gpus_folder) && !has_fit(user_fits);
    return other ? profile.changed_from : profile.id;
}

/// Which fit files are read.
enum class Fits { none, architecture, all };

/// Where fits of users lie; empty: none.
struct UserFits {
    std::filesystem::path folder{};   ///< laid out as the folder of profiles
    std::filesystem::path own_fit{};  ///< a file in place of the GPU's fit, whoever made it
};

bool has_family(const ParameterSet& set, const std::string& family) {
    return std::any_of(set.families.begin(), set.families.end(), [&family](const FamilyParameters& f) { return f.family == family; });
}

/// Reads what lies in the folder for `profile`, least specific first, each over the one before. Fits of users stand in place of others.
/// `wanted_families`: those whose fits are read; absent: all.
ParameterSet load(const std::filesystem::path& gpus_folder, const GpuProfile& profile, Fits fits, const UserFits& users = {},
                  const std::optional<std::vector<std::string>>& wanted_families = std::nullopt) {
    require_known_origin(gpus_folder, users.folder, profile);
    const SpecIndex by_name = spec_index();
    ParameterSet set = built_in();
    Origins hand{set.provenance, set.source};
    const auto read = [&](const std::filesystem::path& file, std::optional<Provenance> fit, bool of_user = false) {
        if (!is_file(file)) return;
        const toml::table document = parameter_document(file);
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
    const std::string &kernels = profile.kernel_architecture(), &id = fitted_id(gpus_folder, users.folder, profile);
    read(hand_values(default_architecture), std::nullopt);
    if (fits != Fits::none && profile.vendor == "NVIDIA") read_fit(fit_of(default_architecture), Provenance::pooled_fit);
    if (kernels != default_architecture) read(hand_values(kernels), std::nullopt);
    if (fits != Fits::none) read_fit(fit_of(kernels), Provenance::architecture_fit);
    if (fits == Fits::all && !users.own_fit.empty()) read(users.own_fit, Provenance::gpu_fit);
    if (fits == Fits::all && users.own_fit.empty()) read_fit(gpu_fit_file({}, id), Provenance::gpu_fit);
    if (fits != Fits::all || profile.id.empty()) return set;
    // Each over the values of the GPU itself; those of the GPU before those of its architecture, and these before those of all.
    std::vector<std::pair<std::filesystem::path, bool>> files;
    std::vector<std::string> of_families{id, "arch/" + kernels};
    if (profile.vendor == "NVIDIA") of_families.push_back(fmt::format("arch/{}", default_architecture));
    for (const std::string& of : of_families) {
        for (const bool of_user : {true, false}) {
            const std::filesystem::path& root = of_user ? users.folder : gpus_folder;
            if (root.empty()) continue;
            for (auto& file : files_in(family_fit_file(root, of, "").parent_path(), ".fit.toml"))
                files.emplace_back(std::move(file), of_user);
        }
    }
    const auto wanted = [&wanted_families](const std::string& family) {
        return !wanted_families || std::find(wanted_families->begin(), wanted_families->end(), family) != wanted_families->end();
    };
    ParameterSet own = set;
    for (const auto& [file, of_user] : files) {
        if (has_family(set, stem(file)) || !wanted(stem(file))) continue;
        own.values = set.values;
        const toml::table document = parameter_document(file);
        ParameterFile(file, by_name, own, hand, Provenance::gpu_fit, false, of_user).read(document);
        set.families.push_back({stem(file), own.values, read_intervals(document, file, Provenance::gpu_fit, of_user)});
    }
    return set;
}

}  // namespace

bool is_known_origin(const std::filesystem::path& gpus_folder, const std::filesystem::path& user_fits, const std::string& id) {
    if (is_file(gpus_folder / (id + ".toml")) || is_file(gpu_fit_file(gpus_folder, id))) return true;
    if (!user_fits.empty() && is_file(gpu_fit_file(user_fits, id))) return true;
    const std::vector<std::string> ids = gpu_ids(gpus_folder);
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

ParameterSet load_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile, const std::filesystem::path& user_fits,
                             const std::optional<std::vector<std::string>>& families) {
    return load(gpus_folder, profile, Fits::all, {.folder = user_fits}, families);
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
