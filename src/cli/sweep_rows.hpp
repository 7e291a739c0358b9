#pragma once
/// What a sweep is made of, and its rows.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/sweep_axes.hpp"
#include "report/sweep_report.hpp"

namespace roofcast::cli {

/// All that points refer to, loaded once.
struct SweepInputs {
    SoftwareStacks software;
    std::vector<Gpu> gpus;
    std::vector<Workload> models;
    std::vector<SweepAxis> axes;
    std::map<std::string, std::shared_ptr<const Workload>> drafts;
    const CLI::App* command = nullptr;  ///< whose options reasons name
    std::vector<std::string> extra;     ///< columns of settings that were given beyond the usual ones
};

/// Loads what `gpus`, `models` and `axes` name. Throws Error for values that no point could use.
SweepInputs load_sweep(const std::vector<std::string>& gpus, const std::vector<std::string>& models, std::vector<SweepAxis> axes,
                       const CommonOptions& common, Notes& notes);

/// The grid of models, GPUs, then axes.
class Sweep {
public:
    /// `inputs` must outlive it.
    explicit Sweep(const SweepInputs& inputs);
    [[nodiscard]] const Grid& grid() const { return grid_; }
    /// Points that differ in degrees of parallelism and streams alone lie side by side, this many.
    [[nodiscard]] std::int64_t group() const { return group_; }
    /// Rows of the group that begins at point `first`.
    [[nodiscard]] std::vector<SweepRow> rows(std::int64_t first) const;

private:
    [[nodiscard]] SweepRow row(const std::vector<std::size_t>& at) const;

    const SweepInputs& inputs_;
    Grid grid_;
    std::int64_t group_ = 1;
};

}  // namespace roofcast::cli
