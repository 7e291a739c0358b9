#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>

#include "calibration/refinement_text.hpp"
#include "charts/charts.hpp"
#include "cli/calibration_jobs.hpp"
#include "cli/command.hpp"
#include "cli/fit_writing.hpp"
#include "cli/measured_rows.hpp"
#include "cli/output.hpp"
#include "io/number_text.hpp"
#include "report/data_reports.hpp"
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
    named.how_to_write = fmt::format("--write saves the fit as {}", named.file);
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
            throw std::runtime_error(fmt::format("{}: nothing was written: {}", named.title, why_not_written(named.fit)));
        const auto& warnings = named.fit.warnings;
        throw Error({.what = fmt::format("no stage of {} was fitted, and its file was not written", named.title),
                     .file = named.file,
                     .found = warnings.empty() ? "too few rows" : warnings.front(),
                     .suggestion = "roofcast validate lists the rows that cannot be used"});
    }
}

Report left_out(const CalibrationJob& job, const CalibrateOptions& options) {
    ProgressLine line(job.title);
    return left_out_report(leave_one_out(job.input, calibration_of(options, line), options.by_architecture));
}

/// Rows that no fit can have, by reason.
void note_skipped(const SkippedRows& skipped, const CommonOptions& options) {
    constexpr std::size_t listed = 20;
    const std::vector<SkippedReason> reasons = skipped.by_rows();
    for (std::size_t i = 0; i < std::min(listed, reasons.size()); ++i) note("rows not used: " + skipped_text(reasons[i]), options);
    if (reasons.size() > listed) note(fmt::format("{} more reasons; roofcast validate lists all", reasons.size() - listed), options);
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
        throw Error({.what = fmt::format("no row was measured on {}", id),
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
            report.after.emplace_back("No fit file was found. `roofcast calibrate --write` or tools/refit makes one.");
        return write(report, options.common);
    }
    const bool pooled = options.pooled || !options.architecture.empty();
    if (options.gpus.empty() && !pooled)
        throw Error({.what = "no GPU or architecture is named", .key = "--gpu", .expected = "--gpu ID or --architecture NAME"});
    if (pooled && options.architecture.empty())
        throw Error({.what = "--arch-fit needs the architecture to fit",
                     .key = "--architecture",
                     .expected = "an architecture such as ampere, or all"});
    if (!options.gpus.empty() && !options.architecture.empty() && !options.pooled)
        throw Error({.what = "a fit is for a GPU or for an architecture, not for both",
                     .key = "--architecture",
                     .found = options.architecture,
                     .suggestion = "leave one out, or add --arch-fit to fit the architecture to these GPUs"});
    if (options.write && !options.calibration.stages.empty())
        throw Error({.what = "a fit file needs all stages",
                     .key = "--stage",
                     .found = fmt::format("{}", fmt::join(options.calibration.stages, ", ")),
                     .suggestion = "leave out --stage or --write"});
    if (options.write && options.refines() && options.calibration.folds < 2)
        throw Error({.what = "--write needs cross-validation to show that the fit is better",
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
    for (const auto& text : names.notes()) note(text, options.common);
    note_skipped(data.skipped, options.common);
    if (!pooled) require_rows(data, names, options);
    const std::vector<CalibrationJob> jobs = pooled ? std::vector{pooled_job(options, data)} : single_jobs(options, data);
    if (options.leave_one_out || options.by_architecture) {
        if (!pooled)
            throw Error(
                {.what = "only a fit of several GPUs can leave one out", .key = "--leave-one-out", .expected = "--architecture NAME"});
        return write(left_out(jobs.front(), options), options.common);
    }
    for (const CalibrationJob& job : jobs) require_may_write(job, options);
    std::vector<NamedFit> fits;
    for (const CalibrationJob& job : jobs) fits.push_back(fitted(job, options));
    write(with_charts(calibration_report(fits), calibration_charts(fits)), options.common);
    if (options.write) require_written(fits);
}

/// The complaint about what is no share that can be held out: "nan" lies within any range for the parser.
std::string share_to_hold_out(const std::string& text) {
    constexpr double most = 0.9;
    const auto share = parsed_number(text);
    return share && *share >= 0 && *share <= most ? std::string() : fmt::format("a fraction from 0 to {} is needed; found {}", most, text);
}

std::string above_zero(const std::string& text) {
    const auto seconds = parsed_number(text);
    return seconds && *seconds > 0 ? std::string() : fmt::format("seconds above 0 are needed; found {}", text);
}

void add_fit_options(CLI::App& command, const std::shared_ptr<CalibrateOptions>& options) {
    command.add_option("--folds", options->calibration.folds, "Folds of cross-validation, grouped by shape (0: none)")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    command.add_option("--holdout", options->calibration.holdout, "Fraction of the shapes to hold out of the fit (default: 0)")
        ->check(share_to_hold_out);
    command.add_option("--seed", options->calibration.seed, "Seed of the solver, the folds and the held-out rows")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        .add_option("--evaluations", options->calibration.evaluations_per_parameter,
                    "Evaluations of the local solver for each parameter of a stage. Kernel stages use as many again in the global solver")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command
        .add_option("--budget", options->budget_seconds,
                    "Stop after this time with the best fit so far. Results then depend on the machine")
        ->check(above_zero);
    command
        .add_option("--stage", options->calibration.stages,
                    fmt::format("Fit only these stages: {} (default: all)", fmt::join(stage_names(), ", ")))
        ->delimiter(',');
    command.add_flag("--kernels-only", options->without_models, "Fit to rows of kernels alone, without whole models");
}

}  // namespace

void add_calibrate_command(CLI::App& app) {
    auto options = std::make_shared<CalibrateOptions>();
    CLI::App* command = app.add_subcommand("calibrate");
    command->add_option("-g,--gpu", options->gpus,
                        "GPU to fit: id, alias or profile file. Several are allowed. An alias means all its measured variants");
    command->add_option("--architecture", options->architecture, "Fit all measured GPUs of this architecture together (all: every GPU)");
    command->add_flag("--arch-fit", options->pooled, "Fit the GPUs of --gpu together, for --architecture");
    command->add_option(
        "--family", options->family,
        "Fit only the kernels of this family of software/libraries. --data is then validation_data/kernels_by_family by default");
    command->add_option("--data", options->data, "Measurement files or folders (default: the shipped validation_data)");
    add_fit_options(*command, options);
    command->add_flag("--leave-one-out", options->leave_one_out, "Fit to all but one GPU at a time, and print the error on that one");
    command->add_flag("--leave-architecture-out", options->by_architecture,
                      "Fit to all but one architecture at a time, and print the error on that one");
    auto* write_flag = command->add_flag("--write", options->write,
                                         "Save the fit where predictions find it: in gpus/ of --data-dir, else in your own folder "
                                         "($XDG_DATA_HOME/roofcast, else ~/.local/share/roofcast)");
    command->add_flag("--yes", options->yes, "Replace a shipped fit without asking")->needs(write_flag);
    command->add_flag("--from-scratch", options->from_scratch,
                      "Ignore the fit in force, and fit all parameters to the given rows (default without --data)");
    command->add_flag("--dry-run", options->dry_run, "Only print the fit (default)")->excludes(write_flag);
    command->add_flag("--neutral-start", options->neutral,
                      "Start from gpus/arch/_default.toml alone, because values of an architecture may come from the same rows");
    auto* summary = command->add_flag("--summary", options->summary, "Print the accuracy of all fit files, and fit nothing");
    command->add_flag("--by-kind", options->by_kind, "Group --summary by kind of work")->needs(summary);
    for (const char* judging : {"--leave-one-out", "--leave-architecture-out", "--summary"})
        write_flag->excludes(command->get_option(judging));
    for (const char* of_a_fit : {"--gpu", "--architecture", "--data"})
        command->get_option("--summary")->excludes(command->get_option(of_a_fit));
    command->add_option("--date", options->date, "Date to write into the fit file, YYYY-MM-DD (default: none)");
    add_common_options(*command, options->common);
    command->callback([options] { run(*options); });
}

}  // namespace roofcast::cli
