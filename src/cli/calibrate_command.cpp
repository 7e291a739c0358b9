#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>

#include "cli/command.hpp"
#include "io/atomic_file.hpp"
#include "report/calibration_report.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast::cli {

namespace {

constexpr const char* all_architectures = "all";

struct CalibrateOptions {
    CommonOptions common;
    std::vector<std::string> gpus, data, stages;
    std::string architecture, date;
    CalibrationOptions calibration{};
    double budget_seconds = 0;
    bool pooled = false, leave_one_out = false, by_architecture = false, without_models = false, neutral = false, summary = false;
    bool write = false, dry_run = false;
};

/// Set by the signal handler; the fit looks at it between two evaluations.
volatile std::sig_atomic_t interrupted = 0;

/// Turns Ctrl-C into the end of the fit for as long as it lives.
class InterruptGuard {
public:
    InterruptGuard() : previous_(std::signal(SIGINT, [](int) { interrupted = 1; })) {}
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
    ~InterruptGuard() { std::signal(SIGINT, previous_); }

private:
    void (*previous_)(int);
};

/// One line on a terminal that is overwritten; nothing elsewhere.
class ProgressLine {
public:
    explicit ProgressLine(std::string title) : title_(std::move(title)), terminal_(isatty(fileno(stderr)) != 0) {}
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine() {
        if (shown_) fmt::print(stderr, "\r\033[K");
    }
    bool show(const CalibrationProgress& p) {
        const auto now = std::chrono::steady_clock::now();
        if (terminal_ && now - last_ > std::chrono::milliseconds(100)) {
            fmt::print(stderr, "\r\033[K{}: {}, {}, {} evaluations", title_, p.activity, p.stage, p.evaluations);
            std::fflush(stderr);
            last_ = now;
            shown_ = true;
        }
        return interrupted == 0;
    }

private:
    std::string title_;
    bool terminal_, shown_ = false;
    std::chrono::steady_clock::time_point last_{};
};

/// One fit to make.
struct Job {
    std::string title, command;
    std::filesystem::path file;
    CalibrationInput input;
};

std::set<std::string> gpus_with_rows(const Measurements& data, const CalibrateOptions& options) {
    std::set<std::string> ids;
    for (const auto& row : data.kernels) ids.insert(row.gpu);
    if (options.without_models) return ids;
    for (const auto& row : data.models) ids.insert(row.gpu);
    return ids;
}

/// The GPUs that `asked` may stand for and that were measured: itself, else all whose id continues it ("v100" → v100-sxm2-16gb, …).
std::vector<std::string> measured_variants(const std::filesystem::path& folder, const std::string& asked,
                                           const std::set<std::string>& measured) {
    const GpuChoice choice = choose_gpu(folder, asked);
    const GpuProfile chosen = load_gpu_profile(choice.file);
    if (chosen.id == asked || choice.file == std::filesystem::path(asked)) return {chosen.id};
    std::vector<std::string> variants;
    for (const auto& id : measured) {
        if (id == chosen.id || id.starts_with(asked + "-")) variants.push_back(id);
    }
    if (variants.empty()) variants.push_back(chosen.id);
    note(fmt::format("{} stands for the measured {}", asked, fmt::join(variants, ", ")));
    return variants;
}

CalibrationInput input_of(const CalibrateOptions& options, const Measurements& data, std::vector<GpuProfile> gpus, ParameterSet start) {
    CalibrationInput input;
    input.gpus = std::move(gpus);
    input.start = std::move(start);
    input.left_out_start = load_neutral_parameters(options.common.gpus());
    input.kernels = data.kernels;
    const auto stacks = load_host_stacks(options.common.data() / "validation_data" / "host_launch.toml");
    mark_habits(stacks, input.kernels);
    input.host_launch = [stacks](const KernelRow& row) { return host_launch(stacks, row); };
    if (options.without_models) return input;
    input.models = data.models;
    input.model = model_predictor(load_workload_catalogue(options.common.models()), load_software(options.common.gpus()));
    return input;
}

std::string settings(const CalibrateOptions& options) {
    std::string text;
    const CalibrationOptions defaults;
    if (options.calibration.folds != defaults.folds) text += fmt::format(" --folds {}", options.calibration.folds);
    if (options.calibration.seed != defaults.seed) text += fmt::format(" --seed {}", options.calibration.seed);
    if (options.calibration.holdout > 0) text += fmt::format(" --holdout {}", options.calibration.holdout);
    if (options.calibration.evaluations_per_parameter != defaults.evaluations_per_parameter)
        text += fmt::format(" --evaluations {}", options.calibration.evaluations_per_parameter);
    if (options.neutral) text += " --neutral-start";
    if (options.without_models) text += " --kernels-only";
    for (const auto& stage : options.calibration.stages) text += " --stage " + stage;
    if (!options.date.empty()) text += " --date " + options.date;
    return text;
}

/// Profiles of the measured GPUs named, or of an architecture, or of all.
std::vector<GpuProfile> pooled_profiles(const CalibrateOptions& options, const std::set<std::string>& measured) {
    std::set<std::string> wanted;
    for (const auto& gpu : options.gpus) {
        for (auto& id : measured_variants(options.common.gpus(), gpu, measured)) wanted.insert(std::move(id));
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
    if (profiles.empty())
        throw Error({.what = "no GPU of this architecture was measured", .key = "--architecture", .found = options.architecture});
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

Job pooled_job(const CalibrateOptions& options, const Measurements& data) {
    const auto folder = options.common.gpus();
    std::vector<GpuProfile> profiles = pooled_profiles(options, gpus_with_rows(data, options));
    const bool all = options.architecture == all_architectures;
    GpuProfile nobody;
    nobody.architecture = all ? "_default" : options.architecture;
    std::vector<std::string> ids;
    for (const auto& profile : profiles) ids.push_back(profile.id);
    note(fmt::format("fitting together: {}", fmt::join(ids, ", ")));
    ParameterSet start = options.neutral ? load_neutral_parameters(folder) : load_unfitted_parameters(folder, nobody);
    CalibrationInput input = input_of(options, data, std::move(profiles), std::move(start));
    if (!all) input.pool = profiles_with_kernels(options, data);
    return {.title = all ? "all architectures" : "architecture " + options.architecture,
            .command = fmt::format("roofcast calibrate --architecture {}{} --write", options.architecture, settings(options)),
            .file = folder / "arch" / (nobody.architecture + ".fit.toml"),
            .input = std::move(input)};
}

std::vector<Job> single_jobs(const CalibrateOptions& options, const Measurements& data) {
    const auto folder = options.common.gpus();
    const auto measured = gpus_with_rows(data, options);
    std::vector<Job> jobs;
    for (const auto& asked : options.gpus) {
        for (const auto& id : measured_variants(folder, asked, measured)) {
            const bool is_file = asked.ends_with(".toml");
            GpuProfile profile = load_gpu_profile(choose_gpu(folder, is_file ? asked : id).file);
            ParameterSet start = options.neutral ? load_neutral_parameters(folder) : load_unfitted_parameters(folder, profile);
            jobs.push_back({.title = id,
                            .command = fmt::format("roofcast calibrate --gpu {}{} --write", id, settings(options)),
                            .file = folder / (id + ".fit.toml"),
                            .input = input_of(options, data, {std::move(profile)}, std::move(start))});
        }
    }
    return jobs;
}

std::vector<std::filesystem::path> data_paths(const CalibrateOptions& options) {
    if (!options.data.empty()) return {options.data.begin(), options.data.end()};
    const auto folder = options.common.data() / "validation_data";
    return {folder / "kernels", folder / "models"};
}

NamedFit fitted(const Job& job, const CalibrateOptions& options) {
    ProgressLine line(job.title);
    CalibrationOptions calibration = options.calibration;
    if (options.budget_seconds > 0) calibration.budget = options.budget_seconds * s;
    calibration.progress = [&line](const CalibrationProgress& p) { return line.show(p); };
    NamedFit named{.title = job.title, .file = job.file.string(), .fit = calibrate(job.input, calibration)};
    if (!options.write) return named;
    const FitFileHeader header{.command = job.command, .date = options.date, .data_folder = options.common.data() / "validation_data"};
    write_file_atomically(job.file, fit_file_text(named.fit, header));
    named.written = true;
    return named;
}

Report left_out(const Job& job, const CalibrateOptions& options) {
    ProgressLine line(job.title);
    CalibrationOptions calibration = options.calibration;
    calibration.progress = [&line](const CalibrationProgress& p) { return line.show(p); };
    return left_out_report(leave_one_out(job.input, calibration, options.by_architecture));
}

/// Summaries of all fit files, GPUs before architectures, each in the order of their names.
std::vector<FitSummary> fit_summaries(const std::filesystem::path& gpus_folder) {
    std::vector<FitSummary> summaries;
    for (const auto& folder : {gpus_folder, gpus_folder / "arch"}) {
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            if (entry.path().filename().string().ends_with(".fit.toml")) files.push_back(entry.path());
        }
        std::sort(files.begin(), files.end());
        for (const auto& file : files) summaries.push_back(load_fit_summary(file));
    }
    return summaries;
}

void run(const CalibrateOptions& options) {
    if (options.summary) return write(fit_summary_report(fit_summaries(options.common.gpus())), options.common);
    const bool pooled = options.pooled || !options.architecture.empty();
    if (options.gpus.empty() && !pooled)
        throw Error({.what = "nothing to calibrate", .key = "--gpu", .expected = "--gpu ID or --architecture NAME"});
    if (pooled && options.architecture.empty())
        throw Error({.what = "a pooled fit needs the name of its architecture", .key = "--architecture", .expected = "ampere, …, or all"});
    const InterruptGuard guard;
    const Measurements data = read_measurements(data_paths(options));
    const std::vector<Job> jobs = pooled ? std::vector<Job>{pooled_job(options, data)} : single_jobs(options, data);
    if (options.leave_one_out || options.by_architecture) {
        if (!pooled)
            throw Error({.what = "leaving GPUs out needs a pooled fit", .key = "--leave-one-out", .expected = "--architecture NAME"});
        return write(left_out(jobs.front(), options), options.common);
    }
    std::vector<NamedFit> fits;
    for (const Job& job : jobs) fits.push_back(fitted(job, options));
    write(calibration_report(fits), options.common);
}

void add_fit_options(CLI::App& command, const std::shared_ptr<CalibrateOptions>& options) {
    command.add_option("--folds", options->calibration.folds, "Folds of cross-validation, grouped by shape; 0: none")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    command.add_option("--holdout", options->calibration.holdout, "Share of shapes that no fit sees")->check(CLI::Range(0.0, 0.9));
    command.add_option("--seed", options->calibration.seed, "Of the solver, the folds and the held-out rows")->capture_default_str();
    command
        .add_option("--evaluations", options->calibration.evaluations_per_parameter,
                    "Of the local solver for each parameter of a stage; as many again go to the global one")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command
        .add_option("--budget", options->budget_seconds,
                    "Stop after this many seconds with the best found; results then depend on the machine")
        ->check(CLI::PositiveNumber);
    command.add_option("--stage", options->calibration.stages, fmt::format("Fit only these stages: {}", fmt::join(stage_names(), ", ")))
        ->delimiter(',');
    command.add_flag("--kernels-only", options->without_models, "Leave whole-model rows out of the fit");
}

}  // namespace

void add_calibrate_command(CLI::App& app) {
    auto options = std::make_shared<CalibrateOptions>();
    CLI::App* command = app.add_subcommand(
        "calibrate", "Fit the model's parameters to measured rows, and say what accuracy to expect on rows that the fit has not seen");
    command->add_option("--gpu", options->gpus,
                        "GPU to fit: id, alias or profile file; repeatable. An alias stands for its measured variants");
    command->add_option("--architecture", options->architecture,
                        "Fit all measured GPUs of an architecture together; 'all' pools every one");
    command->add_flag("--arch-fit", options->pooled, "Fit the GPUs named by --gpu together, for --architecture");
    command->add_option("--data", options->data, "Measurement files or folders (default: the shipped validation_data)");
    add_fit_options(*command, options);
    command->add_flag("--leave-one-out", options->leave_one_out, "Fit on all but one GPU at a time and judge on that one; writes nothing");
    command->add_flag("--leave-architecture-out", options->by_architecture, "The same with a whole architecture left out");
    auto* write_flag = command->add_flag("--write", options->write, "Write gpus/<id>.fit.toml or gpus/arch/<architecture>.fit.toml");
    command->add_flag("--dry-run", options->dry_run, "Only report (the default)")->excludes(write_flag);
    command->add_flag("--neutral-start", options->neutral,
                      "Start from the hand values of arch/_default.toml alone: those of an architecture may know the rows already");
    command->add_flag("--summary", options->summary, "Fit nothing: the accuracy table of all fit files");
    command->add_option("--date", options->date, "Date to state in the fit file, ISO 8601");
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
