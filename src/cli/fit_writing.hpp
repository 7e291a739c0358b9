#pragma once
/// Putting a fit in its place: what it would replace is asked about and kept.

#include <string>

#include "cli/calibration_jobs.hpp"

namespace roofcast::cli {

/// Throws Error where the job's file is a shipped fit that nobody allows to be replaced: no --yes, and no terminal to ask on.
void require_may_write(const CalibrationJob& job, const CalibrateOptions& options);

/// Asks on the terminal where the job's file is a shipped fit and --yes was not given. `comparison`: shown before the question.
bool may_replace(const CalibrationJob& job, const CalibrateOptions& options, const std::string& comparison);

/// Writes `fit` once what is to be written has been read back; keeps the file that it replaces as <name>.previous, and a shipped one, which
/// later rows start from, as <name>.shipped too.
void write_fit(const CalibrationJob& job, const Fit& fit, const FitFileHeader& header);

}  // namespace roofcast::cli
