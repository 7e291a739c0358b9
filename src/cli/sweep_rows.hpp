#pragma once
/// What a sweep is made of, and its rows.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/sweep_axes.hpp"
#include "report/run_reports.hpp"

namespace roofcast::cli {

/// All that points refer to, loaded once.
struct SweepInputs {
    SoftwareStacks software;
    std::vector<Gpu> gpus;
    std::vector<Workload> models;
    std::vector<SweepAxis> axes;
    std::map<std::string, std::shared_ptr<const Workload>> drafts;
    std::function<ErrorDetail(ErrorDetail)> worded;  ///< errors in the words that reasons are to have
    std::vector<std::string> extra;                  ///< columns of settings that were given beyond the usual ones
};

/// Loads what `gpus`, `models` and `axes` name. Throws Error for values that no point could use.
SweepInputs load_sweep(const std::vector<std::string>& gpus, const std::vector<std::string>& models, std::vector<SweepAxis> axes,
                       const CommonOptions& common, Notes& notes);

/// Fills in all but GPUs and models, from axes whose `words` are set. Throws Error for values that no point could use.
void prepare_sweep(SweepInputs& inputs, const std::filesystem::path& models_folder, Notes& notes);

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
    /// Rows of points `first` to `end` − 1, on all cores, or on at most `threads` where that is not 0.
    [[nodiscard]] std::vector<SweepRow> rows_between(std::int64_t first, std::int64_t end, std::size_t threads = 0) const;

private:
    [[nodiscard]] SweepRow row(const std::vector<std::size_t>& at) const;

    const SweepInputs& inputs_;
    Grid grid_;
    std::int64_t group_ = 1;
};

}  // namespace roofcast::cli
