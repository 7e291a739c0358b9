#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>

#include "cli/calibration_jobs.hpp"
#include "cli/command.hpp"
#include "cli/fit_writing.hpp"
#include "cli/measured_rows.hpp"
#include "cli/output.hpp"
#include "io/number_text.hpp"
#include "report/calibration_report.hpp"
#include "roofcast/accuracy.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/price.hpp"

namespace roofcast::cli {

namespace {

/// Set by the signal handler; the threads of a fit look at it between two evaluations.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// Turns Ctrl-C into the end of the fit for as long as it lives.
class InterruptGuard {
public:
    InterruptGuard() : previous_(std::signal(SIGINT, [](int) { interrupted = true; })) {}
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
        if (shown_) draw("\r\033[K");
    }
    bool show(const CalibrationProgress& p) {
        const auto now = std::chrono::steady_clock::now();
        if (terminal_ && now - last_ > std::chrono::milliseconds(100)) {
            draw(fmt::format("\r\033[K{}: {}, {}, {} evaluations", title_, p.activity, p.stage, p.evaluations));
            last_ = now;
            shown_ = true;
        }
        return !interrupted;
    }

private:
    std::string title_;
    bool terminal_, shown_ = false;
    std::chrono::steady_clock::time_point last_{};
};

/// What the options ask of a fit, which shows its progress on `line`.
CalibrationOptions calibration_of(const CalibrateOptions& options, ProgressLine& line) {
    CalibrationOptions calibration = options.calibration;
    if (options.budget_seconds > 0) calibration.budget = options.budget_seconds * s;
    calibration.progress = [&line](const CalibrationProgress& p) { return line.show(p); };
    return calibration;
}

/// The shipped rows of the job's GPU under the fit that was refined, and under the new one. Nothing where these rows are not installed.
void compare_on_shipped_rows(Fit& fit, const CalibrationJob& job, const CalibrateOptions& options) {
    const std::optional<CalibrationInput> shipped = with_shipped_rows(job, options);
    if (!shipped) return;
    fit.refinement->shipped_before = accuracy_on(*shipped, job.input.prior->parameters.values);
    fit.refinement->shipped_after = accuracy_on(*shipped, fit.parameters.values);
}

NamedFit fitted(const CalibrationJob& job, const CalibrateOptions& options) {
    NamedFit named{.title = job.title, .file = job.file.string(), .fit = {}};
    named.how_to_write = fmt::format("--write puts the fit into {}", named.file);
    {
        ProgressLine line(job.title);
        named.fit = calibrate(job.input, calibration_of(options, line));
        if (named.fit.refinement) compare_on_shipped_rows(named.fit, job, options);
    }
    const bool worth_it = !named.fit.refinement || named.fit.refinement->better();
    if (!options.write || named.fit.stages.empty() || !worth_it) return named;
    if (!may_replace(job, options, comparison_line(named.fit))) return named;
    write_fit(job, named.fit, {.command = job.command, .date = options.date, .data_folder = options.common.data() / "validation_data"});
    named.written = true;
    return named;
}

/// Throws for the first fit that was to be written and was not: Error where rows are too few for any fit, and the answer "no" where they
/// are enough and do not help.
void require_written(const std::vector<NamedFit>& fits) {
    for (const NamedFit& named : fits) {
        if (named.written) continue;
        if (named.fit.refinement)
            throw std::runtime_error(fmt::format("{}: nothing is written: {}", named.title, why_not_written(named.fit)));
        const auto& warnings = named.fit.warnings;
        throw Error({.what = fmt::format("no stage of {} is fitted: its file is not written", named.title),
                     .file = named.file,
                     .found = warnings.empty() ? "too few rows" : warnings.front(),
                     .suggestion = "roofcast validate shows the rows and lists those that cannot be used"});
    }
}

Report left_out(const CalibrationJob& job, const CalibrateOptions& options) {
    ProgressLine line(job.title);
    return left_out_report(leave_one_out(job.input, calibration_of(options, line), options.by_architecture));
}

/// Rows that no fit can have, by reason.
void note_skipped(const SkippedRows& skipped) {
    constexpr std::size_t listed = 20;
    const std::vector<SkippedReason> reasons = skipped.by_rows();
    for (std::size_t i = 0; i < std::min(listed, reasons.size()); ++i) note("not used: " + skipped_text(reasons[i]));
    if (reasons.size() > listed) note(fmt::format("{} reasons more; roofcast validate lists all", reasons.size() - listed));
}

/// Throws Error where no row is of a GPU to fit: the names that rows have say why.
void require_rows(const Measurements& data, GpuNames& names, const CalibrateOptions& options) {
    std::set<std::string> measured;
    for (const auto& row : data.kernels) measured.insert(row.gpu);
    for (const auto& row : data.models) measured.insert(row.gpu);
    for (const auto& asked : options.gpus) {
        const auto id = is_profile_file(asked) ? load_gpu_profile(asked, options.common.gpus()).id : names.id(asked).value_or(asked);
        const bool any =
            std::any_of(measured.begin(), measured.end(), [&](const std::string& of) { return of == id || of.starts_with(asked + "-"); });
        if (any || options.data.empty()) continue;
        throw Error({.what = fmt::format("no row is of {}", id),
                     .key = "--gpu",
                     .found = measured.empty() ? "no row of any known GPU" : fmt::format("rows of {}", fmt::join(measured, ", ")),
                     .expected = "its id, name or an alias in the column gpu"});
    }
}

void run(const CalibrateOptions& options) {
    if (options.summary) {
        const auto fits = load_fit_summaries(options.common.gpus());
        Report report = options.by_kind ? accuracy_by_kind_report(fits) : fit_summary_report(fits);
        if (report.tables.front().rows.empty())
            report.after.emplace_back("No fit file was found. `roofcast calibrate --write` or tools/refit makes them.");
        return write(report, options.common);
    }
    const bool pooled = options.pooled || !options.architecture.empty();
    if (options.gpus.empty() && !pooled)
        throw Error({.what = "nothing to calibrate", .key = "--gpu", .expected = "--gpu ID or --architecture NAME"});
    if (pooled && options.architecture.empty())
        throw Error({.what = "a pooled fit needs the name of its architecture", .key = "--architecture", .expected = "ampere, …, or all"});
    if (!options.gpus.empty() && !options.architecture.empty() && !options.pooled)
        throw Error({.what = "one fit cannot be of a GPU and of an architecture",
                     .key = "--architecture",
                     .found = options.architecture,
                     .suggestion = "leave one out, or add --arch-fit to pool the GPUs named for the architecture"});
    if (options.write && !options.calibration.stages.empty())
        throw Error({.what = "a fit file holds all stages",
                     .key = "--stage",
                     .found = fmt::format("{}", fmt::join(options.calibration.stages, ", ")),
                     .suggestion = "leave out --stage or --write"});
    if (options.write && options.refines() && options.calibration.folds < 2)
        throw Error({.what = "--write keeps only a fit that cross-validation shows to be better",
                     .key = "--folds",
                     .found = fmt::format("{}", options.calibration.folds),
                     .expected = "at least 2"});
    require_data_files(options.common);
    if (!options.date.empty() && !parse_date(options.date))
        throw Error({.what = "not a date", .key = "--date", .found = options.date, .expected = "YYYY-MM-DD, YYYY-MM or YYYY"});
    const bool shipped_families = options.data.empty() && !options.family.empty();
    const auto paths = shipped_families ? std::vector{options.common.data() / "validation_data" / "kernels_by_family"}
                                        : data_paths(options.data, options.common);
    require_apart("--output", options.common.output, measurement_files(paths));
    const InterruptGuard guard;
    Measurements data = read_measurements(paths);
    GpuNames names(options.common.gpus());
    for (const auto& gpu : options.gpus) {
        if (is_profile_file(gpu)) names.add(load_gpu_profile(gpu, options.common.gpus()));
    }
    name_by_profiles(data, names);
    for (const auto& text : names.notes()) note(text);
    note_skipped(data.skipped);
    if (!pooled) require_rows(data, names, options);
    const std::vector<CalibrationJob> jobs = pooled ? std::vector{pooled_job(options, data)} : single_jobs(options, data);
    if (options.leave_one_out || options.by_architecture) {
        if (!pooled)
            throw Error({.what = "leaving GPUs out needs a pooled fit", .key = "--leave-one-out", .expected = "--architecture NAME"});
        return write(left_out(jobs.front(), options), options.common);
    }
    for (const CalibrationJob& job : jobs) require_may_write(job, options);
    std::vector<NamedFit> fits;
    for (const CalibrationJob& job : jobs) fits.push_back(fitted(job, options));
    write(calibration_report(fits), options.common);
    if (options.write) require_written(fits);
}

/// The complaint about what is no share that can be held out: "nan" lies within any range for the parser.
std::string share_to_hold_out(const std::string& text) {
    constexpr double most = 0.9;
    const auto share = parsed_number(text);
    return share && *share >= 0 && *share <= most ? std::string() : fmt::format("a share from 0 to {} is needed, found {}", most, text);
}

std::string above_zero(const std::string& text) {
    const auto seconds = parsed_number(text);
    return seconds && *seconds > 0 ? std::string() : fmt::format("a number of seconds above 0 is needed, found {}", text);
}

void add_fit_options(CLI::App& command, const std::shared_ptr<CalibrateOptions>& options) {
    command.add_option("--folds", options->calibration.folds, "Folds of cross-validation, grouped by shape; 0: none")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    command.add_option("--holdout", options->calibration.holdout, "Share of shapes that no fit sees")->check(share_to_hold_out);
    command.add_option("--seed", options->calibration.seed, "Of the solver, the folds and the held-out rows")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        .add_option("--evaluations", options->calibration.evaluations_per_parameter,
                    "Of the local solver for each parameter of a stage; of kernels as many again go to the global one")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command
        .add_option("--budget", options->budget_seconds,
                    "Stop after this many seconds with the best found; results then depend on the machine")
        ->check(above_zero);
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
    command->add_option("--family", options->family,
                        "Fit the kernels of this family alone (software/libraries), over what the GPU or architecture was fitted to; "
                        "default of --data: validation_data/kernels_by_family");
    command->add_option("--data", options->data, "Measurement files or folders (default: the shipped validation_data)");
    add_fit_options(*command, options);
    command->add_flag("--leave-one-out", options->leave_one_out, "Fit on all but one GPU at a time and judge on that one; writes nothing");
    command->add_flag("--leave-architecture-out", options->by_architecture, "The same with a whole architecture left out");
    auto* write_flag = command->add_flag("--write", options->write,
                                         "Write the fit where predictions find it: into gpus/ of --data-dir, else into your own folder "
                                         "($XDG_DATA_HOME/roofcast, else ~/.local/share/roofcast)");
    command->add_flag("--yes", options->yes, "Replace a shipped fit without asking")->needs(write_flag);
    command->add_flag("--from-scratch", options->from_scratch,
                      "Ignore the fit in force, and fit all parameters to the rows given alone (default without --data)");
    command->add_flag("--dry-run", options->dry_run, "Only report (the default)")->excludes(write_flag);
    command->add_flag("--neutral-start", options->neutral,
                      "Start from the hand values of arch/_default.toml alone: those of an architecture may know the rows already");
    auto* summary = command->add_flag("--summary", options->summary, "Fit nothing: the accuracy table of all fit files");
    command->add_flag("--by-kind", options->by_kind, "With --summary: one row a kind of work")->needs(summary);
    for (const char* judging : {"--leave-one-out", "--leave-architecture-out", "--summary"})
        write_flag->excludes(command->get_option(judging));
    for (const char* of_a_fit : {"--gpu", "--architecture", "--data"})
        command->get_option("--summary")->excludes(command->get_option(of_a_fit));
    command->add_option("--date", options->date, "Date to state in the fit file, ISO 8601");
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
