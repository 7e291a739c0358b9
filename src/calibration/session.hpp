#pragma once
/// What fits that run side by side share.

#include <mutex>
#include <string>

#include "calibration/staged_fit.hpp"

namespace roofcast {

/// The deadline, and the user's callback, which sees one caller at a time.
class Session {
public:
    /// Throws Error where an option is out of range or names no stage.
    explicit Session(const CalibrationOptions& options);

    /// Fits under the session's options and deadline, `with` the start and stages given; tells the callback that `activity` goes on.
    StagedFit fit(const CalibrationInput& input, const Samples& rows, const std::string& activity, StagedFitOptions with);

private:
    void tick(const CalibrationProgress& progress);

    const CalibrationOptions& options_;
    std::optional<std::chrono::steady_clock::time_point> deadline_;
    std::mutex mutex_;
    bool cancelled_ = false;
};

}  // namespace roofcast
