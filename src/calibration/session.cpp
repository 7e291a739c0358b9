#include "calibration/session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t evaluations_between_reports = 50;

void require_valid(const CalibrationOptions& options) {
    if (options.holdout < 0 || options.holdout >= 1)
        throw Error(
            {.what = "not a fraction of rows", .key = "holdout", .found = fmt::format("{}", options.holdout), .expected = "0 to below 1"});
    const auto known = stage_names();
    for (const auto& name : options.stages) {
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw Error({.what = "no such stage",
                         .key = "stage",
                         .found = name,
                         .expected = fmt::format("{}", fmt::join(known, ", ")),
                         .suggestion = did_you_mean(name, known)});
    }
}

}  // namespace

Session::Session(const CalibrationOptions& options) : options_(options) {
    require_valid(options);
    if (!options.budget) return;
    const std::chrono::duration<double> budget(options.budget->in(s));
    deadline_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(budget);
}

StagedFit Session::fit(const CalibrationInput& input, const Samples& rows, const std::string& activity, StagedFitOptions with) {
    CalibrationProgress progress{.activity = activity};
    with.options = &options_;
    with.solver.seed = options_.seed;
    with.solver.deadline = deadline_;
    with.begin = [&](const Stage& stage) {
        progress.stage = stage.name;
        tick(progress);
    };
    with.solver.tick = [&] {
        if (++progress.evaluations % evaluations_between_reports == 0) tick(progress);
    };
    return fit_stages(input, rows, with);
}

void Session::tick(const CalibrationProgress& progress) {
    if (!options_.progress) return;
    const std::lock_guard lock(mutex_);
    if (!cancelled_ && !options_.progress(progress)) cancelled_ = true;
    if (cancelled_) throw Cancelled();
}

}  // namespace roofcast
