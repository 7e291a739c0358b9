#pragma once
/// What `roofcast calibrate` prints.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/calibration.hpp"

namespace roofcast {

/// A fit and the file that it is for.
struct NamedFit {
    std::string title;  ///< "v100-pcie-32gb", "architecture volta"
    std::string file;
    bool written = false;
    Fit fit;
    std::string how_to_write{};  ///< how the user gets it into `file`, said where it is not written; empty: nothing is said
};

/// Accuracy, stages, parameters and what was dropped, of each fit.
Report calibration_report(const std::vector<NamedFit>& fits);

/// Accuracy on GPUs that a fit did not see.
Report left_out_report(const std::vector<LeftOutGpu>& left_out);

/// Accuracy by GPU and operator class as fit files state it: GPUs measured and GPUs never measured apart.
Report fit_summary_report(const std::vector<FitSummary>& fits);

/// The same in one row a kind of work, weighted by rows: cross-validated where the GPU was measured, and with each GPU left out.
Report accuracy_by_kind_report(const std::vector<FitSummary>& fits);

}  // namespace roofcast
