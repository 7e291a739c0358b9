#pragma once
/// Which fits a command line of `roofcast calibrate` asks for, and what each is made from.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "roofcast/calibration.hpp"

namespace roofcast::cli {

struct CalibrateOptions {
    CommonOptions common;
    std::vector<std::string> gpus, data;
    std::string architecture, family, date;
    CalibrationOptions calibration{};
    double budget_seconds = 0;
    bool pooled = false, leave_one_out = false, by_architecture = false, without_models = false, neutral = false, summary = false,
         by_kind = false;
    bool write = false, dry_run = false, from_scratch = false, yes = false;

    /// Whether rows refine the fit in force: a user's own rows of single GPUs do.
    [[nodiscard]] bool refines() const { return !pooled && architecture.empty() && !data.empty() && !from_scratch && !neutral; }
};

/// Whether what `--gpu` names is a profile of the user's own.
inline bool is_profile_file(const std::string& gpu) {
    return gpu.ends_with(".toml");
}

/// Throws Error unless the data folder holds the files that any calibration needs, naming those that are missing.
void require_data_files(const CommonOptions& common);

/// One fit to make.
struct CalibrationJob {
    std::string title, command;
    std::filesystem::path file;
    CalibrationInput input;
};

/// The job's input with the rows of its GPU that ship with the program in place of its own; nullopt: they are not installed.
std::optional<CalibrationInput> with_shipped_rows(const CalibrationJob& job, const CalibrateOptions& options);

/// One fit of all GPUs that the options name, or of their architecture.
CalibrationJob pooled_job(const CalibrateOptions& options, const Measurements& data);

/// A fit for each GPU that the options name; an alias stands for its measured variants.
std::vector<CalibrationJob> single_jobs(const CalibrateOptions& options, const Measurements& data);

}  // namespace roofcast::cli
