#include "cli/calibration_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/measured_rows.hpp"
#include "io/shell_word.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast::cli {

namespace {

constexpr const char* all_architectures = "all";

std::set<std::string> gpus_with_rows(const Measurements& data, const CalibrateOptions& options) {
    std::set<std::string> ids;
    for (const auto& row : data.kernels) ids.insert(row.gpu);
    if (options.without_models) return ids;
    for (const auto& row : data.models) ids.insert(row.gpu);
    return ids;
}

/// The GPUs that `asked` may stand for and that were measured: itself, else all whose id continues it ("v100" → v100-sxm2-16gb, …).
std::vector<std::string> measured_variants(const CommonOptions& common, const std::string& asked, const std::set<std::string>& measured) {
    const std::filesystem::path folder = common.gpus();
    const GpuChoice choice = choose_gpu(folder, asked);
    const GpuProfile chosen = load_gpu_profile(choice.file, folder);
    if (chosen.id == asked || choice.file == std::filesystem::path(asked)) return {chosen.id};
    std::vector<std::string> variants;
    for (const auto& id : measured) {
        if (id == chosen.id || id.starts_with(asked + "-")) variants.push_back(id);
    }
    if (variants.empty()) variants.push_back(chosen.id);
    note(fmt::format("{} means the measured {}", asked, fmt::join(variants, ", ")), common);
    return variants;
}

/// Without a description of hosts their launch cost is estimated from the rows.
MeasuringHosts known_hosts(const CalibrateOptions& options) {
    const auto file = options.common.software() / "hosts.toml";
    return std::filesystem::exists(file) ? load_measuring_hosts(file) : MeasuringHosts{};
}

/// Kernels of a family are fitted by themselves, all others together.
bool is_wanted(const KernelRow& row, const std::string& family) {
    if (family.empty()) return !row.family;
    return row.family && row.family->name == family;
}

const KernelFamily& family_named(const std::string& name, const SoftwareStacks& software) {
    std::vector<std::string> names;
    for (const auto& family : software.families) {
        if (family->name == name) return *family;
        names.push_back(family->name);
    }
    throw Error({.what = "unknown kernel family",
                 .key = "--family",
                 .found = name,
                 .expected = "a family of software/libraries",
                 .suggestion = did_you_mean(name, names)});
}

/// The one of `gpus` that a row was measured on.
GpuOfRow among(const std::vector<GpuProfile>& gpus) {
    return [&gpus](const std::string& id) -> const GpuProfile* {
        const auto found = std::find_if(gpus.begin(), gpus.end(), [&id](const GpuProfile& gpu) { return gpu.id == id; });
        return found == gpus.end() ? nullptr : &*found;
    };
}

void see_as_family(CalibrationInput& input, const KernelFamily& family) {
    for (GpuProfile& gpu : input.gpus) gpu = as_family_sees({gpu, {}}, family).profile;
}

CalibrationInput input_of(const CalibrateOptions& options, const Measurements& data, std::vector<GpuProfile> gpus, ParameterSet start) {
    CalibrationInput input;
    input.gpus = std::move(gpus);
    input.start = std::move(start);
    input.left_out_start = load_neutral_parameters(options.common.gpus());
    input.kernels = data.kernels;
    const MeasuringHosts hosts = known_hosts(options);
    const SoftwareStacks software = load_software(options.common.software());
    for (GpuProfile& gpu : input.gpus) gpu = with_libraries(std::move(gpu), software);
    mark_rows(software, hosts, input.kernels, among(input.gpus));
    const std::size_t left = std::erase_if(input.kernels, [&](const KernelRow& row) { return !is_wanted(row, options.family); });
    if (options.family.empty() && left > 0)
        note(fmt::format("{} rows of kernel families were left out; --family fits them", left), options.common);
    if (!options.family.empty()) see_as_family(input, family_named(options.family, software));
    input.host_launch = [hosts](const KernelRow& row) { return host_launch(hosts, row); };
    if (options.without_models || !options.family.empty()) return input;
    input.models = data.models;
    input.model = model_planner(workloads_of(input.models, options.common.models()), software, hosts);
    return input;
}

/// The last part of the path, of "rows/" and "rows/." as well.
std::string name_alone(const std::filesystem::path& path) {
    const auto whole = std::filesystem::absolute(path).lexically_normal();
    return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

/// Where a fit goes: into the folder that --data-dir names, else into the user's own, never over what was installed.
std::filesystem::path fit_folder(const CalibrateOptions& options) {
    if (!options.common.data_dir.empty()) return options.common.gpus();
    const auto folder = options.common.user_fits();
    if (folder.empty() && options.write)
        throw Error(
            {.what = "no folder for your own fits is known", .key = "--write", .suggestion = "set XDG_DATA_HOME, or give --data-dir"});
    return folder;
}

/// The fit of a GPU that rows refine: what shipped, never what earlier rows of the user made of it.
PriorFit shipped_prior(const std::filesystem::path& folder, const GpuProfile& profile) {
    std::filesystem::path file = gpu_fit_file(folder, profile.id);
    if (std::filesystem::exists(file) && is_refined_fit(file)) file += ".shipped";
    const bool is_there = std::filesystem::exists(file);
    return prior_fit(load_parameters_with(folder, profile, file), profile, is_there ? std::optional(file) : std::nullopt);
}

std::string settings(const CalibrateOptions& options) {
    std::string text;
    const CalibrationOptions defaults;
    if (options.calibration.folds != defaults.folds) text += fmt::format(" --folds {}", options.calibration.folds);
    if (options.calibration.seed != defaults.seed) text += fmt::format(" --seed {}", options.calibration.seed);
    if (options.calibration.holdout > 0) text += fmt::format(" --holdout {}", options.calibration.holdout);
    if (options.calibration.evaluations_per_parameter != defaults.evaluations_per_parameter)
        text += fmt::format(" --evaluations {}", options.calibration.evaluations_per_parameter);
    if (!options.family.empty()) text += " --family " + options.family;
    if (options.neutral) text += " --neutral-start";
    if (options.without_models) text += " --kernels-only";
    if (options.from_scratch && !options.data.empty()) text += " --from-scratch";  // without --data that is what happens
    // Files by their names alone, as the fit file lists them: where they lie is this machine's affair.
    for (const auto& path : options.data) text += fmt::format(" --data {}", shell_word(name_alone(path)));
    if (options.budget_seconds > 0) text += fmt::format(" --budget {}", options.budget_seconds);
    if (!options.date.empty()) text += " --date " + options.date;
    return text;
}

/// Profiles of the measured GPUs named, or of an architecture, or of all.
std::vector<GpuProfile> pooled_profiles(const CalibrateOptions& options, const std::set<std::string>& measured) {
    std::set<std::string> wanted;
    for (const auto& gpu : options.gpus) {
        for (auto& id : measured_variants(options.common, gpu, measured)) wanted.insert(std::move(id));
    }
    std::vector<GpuProfile> profiles;
    std::vector<std::string> architectures{all_architectures};
    for (GpuProfile& profile : load_gpu_catalogue(options.common.gpus())) {
        architectures.push_back(profile.architecture);
        const bool by_name = !wanted.empty() && wanted.contains(profile.id);
        const bool by_architecture = wanted.empty() && profile.vendor == "NVIDIA" &&
                                     (options.architecture == all_architectures || options.architecture == profile.architecture);
        if (measured.contains(profile.id) && (by_name || by_architecture)) profiles.push_back(std::move(profile));
    }
    if (std::find(architectures.begin(), architectures.end(), options.architecture) == architectures.end())
        throw Error({.what = "no GPU of this architecture is known",
                     .key = "--architecture",
                     .found = options.architecture,
                     .suggestion = did_you_mean(options.architecture, architectures)});
    for (const GpuProfile& profile : profiles) {
        if (options.architecture == all_architectures || profile.architecture == options.architecture) continue;
        throw Error({.what = fmt::format("{} is a GPU of architecture {}", profile.id, profile.architecture),
                     .key = "--architecture",
                     .found = options.architecture,
                     .suggestion = fmt::format("--architecture {}, or all", profile.architecture)});
    }
    if (profiles.empty())
        throw Error({.what = "no GPU of this architecture has measurements", .key = "--architecture", .found = options.architecture});
    return profiles;
}

/// What fits of architectures may learn of the others.
std::vector<GpuProfile> profiles_with_kernels(const CalibrateOptions& options, const Measurements& data) {
    std::set<std::string> measured;
    for (const auto& row : data.kernels) measured.insert(row.gpu);
    std::vector<GpuProfile> profiles = load_gpu_catalogue(options.common.gpus());
    std::erase_if(profiles, [&](const GpuProfile& gpu) { return !measured.contains(gpu.id); });
    return profiles;
}

}  // namespace

void require_data_files(const CommonOptions& common) {
    const std::filesystem::path data = common.data();
    std::vector<std::string> missing;
    for (const char* file : {"gpus/arch/_default.toml", "software/execution.toml"}) {
        if (!std::filesystem::exists(data / file)) missing.emplace_back(file);
    }
    if (missing.empty()) return;
    throw Error({.what = fmt::format("the data folder lacks {}", fmt::join(missing, " and ")),
                 .file = data.string(),
                 .key = common.data_dir.empty() ? "" : "--data-dir",
                 .expected = "gpus/ with profiles and arch/_default.toml, software/ and models/",
                 .suggestion = "copy the shipped gpus/, software/ and models/ there"});
}

CalibrationJob pooled_job(const CalibrateOptions& options, const Measurements& data) {
    const auto folder = options.common.gpus();
    std::vector<GpuProfile> profiles = pooled_profiles(options, gpus_with_rows(data, options));
    const bool all = options.architecture == all_architectures;
    GpuProfile nobody;
    nobody.architecture = all ? std::string(default_architecture) : options.architecture;
    std::vector<std::string> ids;
    for (const auto& profile : profiles) ids.push_back(profile.id);
    note(fmt::format("fitting {} together", fmt::join(ids, ", ")), options.common);
    const bool of_family = !options.family.empty();
    if (of_family) nobody.vendor = profiles.front().vendor;
    ParameterSet start = of_family         ? load_parameters(folder, nobody)
                         : options.neutral ? load_neutral_parameters(folder)
                                           : load_unfitted_parameters(folder, nobody);
    CalibrationInput input = input_of(options, data, std::move(profiles), std::move(start));
    if (!all && !of_family) input.pool = profiles_with_kernels(options, data);
    std::string chosen;
    if (options.pooled) chosen = " --arch-fit";
    for (const auto& gpu : options.gpus) chosen += fmt::format(" --gpu {}", is_profile_file(gpu) ? shell_word(name_alone(gpu)) : gpu);
    return {.title = all ? "all architectures" : "architecture " + options.architecture,
            .command = fmt::format("roofcast calibrate --architecture {}{}{} --write", options.architecture, chosen, settings(options)),
            .file = of_family ? family_fit_file(fit_folder(options), "arch/" + nobody.architecture, options.family)
                              : architecture_fit_file(fit_folder(options), nobody.architecture),
            .input = std::move(input)};
}

std::optional<CalibrationInput> with_shipped_rows(const CalibrationJob& job, const CalibrateOptions& options) {
    std::vector<std::filesystem::path> paths = data_paths({}, options.common);
    std::erase_if(paths, [](const auto& path) { return !std::filesystem::exists(path); });
    if (paths.empty()) return std::nullopt;
    const GpuProfile& gpu = job.input.gpus.front();
    Measurements shipped = read_measurements(paths);
    GpuNames names(options.common.gpus());
    names.add(gpu);
    name_by_profiles(shipped, names);
    const auto of_others = [&](const auto& row) { return row.gpu != gpu.id; };
    std::erase_if(shipped.kernels, of_others);
    std::erase_if(shipped.models, of_others);
    const SoftwareStacks software = load_software(options.common.software());
    mark_rows(software, known_hosts(options), shipped.kernels, among(job.input.gpus));
    std::erase_if(shipped.kernels, [](const KernelRow& row) { return !is_wanted(row, ""); });
    CalibrationInput input = job.input;
    input.kernels = std::move(shipped.kernels);
    input.models = std::move(shipped.models);
    return input;
}

std::vector<CalibrationJob> single_jobs(const CalibrateOptions& options, const Measurements& data) {
    const auto folder = options.common.gpus();
    const auto measured = gpus_with_rows(data, options);
    std::vector<CalibrationJob> jobs;
    for (const auto& asked : options.gpus) {
        for (const auto& id : measured_variants(options.common, asked, measured)) {
            const bool is_file = is_profile_file(asked);
            GpuProfile profile = load_gpu_profile(choose_gpu(folder, is_file ? asked : id).file, folder);
            const bool of_family = !options.family.empty();
            ParameterSet start = of_family         ? load_parameters(folder, profile)
                                 : options.neutral ? load_neutral_parameters(folder)
                                                   : load_unfitted_parameters(folder, profile);
            std::optional<ParameterSet> architecture;
            if (!options.neutral && !of_family) architecture = load_architecture_parameters(folder, profile);
            std::optional<PriorFit> prior;
            if (options.refines() && !of_family) prior = shipped_prior(folder, profile);
            CalibrationInput input = input_of(options, data, {std::move(profile)}, std::move(start));
            input.architecture = std::move(architecture);
            input.prior = std::move(prior);
            jobs.push_back(
                {.title = id,
                 .command =
                     fmt::format("roofcast calibrate --gpu {}{} --write", is_file ? shell_word(name_alone(asked)) : id, settings(options)),
                 .file = of_family ? family_fit_file(fit_folder(options), id, options.family) : gpu_fit_file(fit_folder(options), id),
                 .input = std::move(input)});
        }
    }
    return jobs;
}

}  // namespace roofcast::cli
