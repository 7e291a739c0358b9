#pragma once
/// The run: case after case, rows as they come, errors that end one case only.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/case_error.hpp"
#include "host/plan.hpp"
#include "host/row_file.hpp"

namespace roofcast::microbench {

/// Samples of one kernel, in microseconds, in the order they were taken.
struct KernelTiming {
    std::vector<double> samples_us;
    bool drift = false;  ///< time or clock moved while it was measured
};

/// A figure that is no kernel time, in the unit that its quantity's name ends in.
struct DeviceFigure {
    std::string quantity;
    std::optional<double> time_s;  ///< since the load began
    std::vector<double> samples;
};

struct Outcome {
    std::optional<KernelTiming> kernel;
    std::vector<DeviceFigure> device;
    std::string software;  ///< library that ran, and its version
    bool launch_included = false;
    int gpus = 1;
};

/// Measures one case. Throws CaseError or DeviceLost.
using Measurer = std::function<Outcome(const Case&)>;

/// What the run depends on, so that it can be tested without a clock or a GPU.
struct Surroundings {
    std::function<double()> seconds;                  ///< a clock that never goes back
    std::function<void(const std::string&)> message;  ///< standard error
    std::function<void(std::size_t done, std::size_t of, double spent_s)> progress;
};

struct CampaignResult {
    std::size_t measured = 0, failed = 0, already_done = 0;
    bool out_of_budget = false;
};

/// Runs `cases` in order until they are done or the budget is. `gpu` is written to every row.
CampaignResult run_campaign(const std::vector<PlannedCase>& cases, std::optional<double> budget_s, const std::string& gpu,
                            const Measurer& measure, RowFile& kernels, RowFile& device, const Surroundings& surroundings);

}  // namespace roofcast::microbench
