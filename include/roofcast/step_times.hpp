#pragma once
/// Times of steps for simulators of serving: the table of roofcast/step_time.hpp, with its limits checked.
///
/// Interpolated times differ from those of `step_time` without a table by at most 0.2 % in the mean, by at most 1.5 % where a step has
/// decodes or prompts alone, and by at most 4 % where it has both. That was tested for one prompt that has nothing in the cache, and for
/// contexts of up to 16384 tokens (tests/scenario/step_times_test.cpp). Several prompts, and chunks of prompts with long caches, can differ
/// by tens of percent. For steps of decodes alone, `step_time` is the time that `predict` gives.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "roofcast/catalogue.hpp"
#include "roofcast/run_settings.hpp"
#include "roofcast/step_time.hpp"

namespace roofcast {

/// One model on one GPU under one software. Any number of threads may ask for times.
class StepTimes {
public:
    /// Of a completed `request`. Throws Error as `step_model` does.
    StepTimes(const Workload& workload, const Gpu& gpu, const Run& request, const SoftwareStacks& software, const StepRange& range);

    /// Throws Error for a step without a token, with a negative size, or beyond the range.
    [[nodiscard]] Seconds time(const StepMix& mix) const;
    /// From graphs, without the table: some hundred times slower.
    [[nodiscard]] Seconds exact(const StepMix& mix) const;
    /// Computes the table ahead, on all cores, where steps with at most one prompt need it. Others are computed when first asked for.
    void prepare() const;

    [[nodiscard]] const StepRange& range() const { return range_; }

private:
    void check(const StepMix& mix) const;

    StepRange range_;
    StepModel model_;
    StepTable table_;
};

/// What the settings of step times make: those of a run (`RunSetting`), and `max_sequences`, `max_tokens` and `max_context`, the largest
/// step. Throws Error for an unknown name or a wrong value.
StepTimes step_times(const Workload& workload, const Gpu& gpu, const SoftwareStacks& software,
                     const std::vector<std::pair<std::string, std::string>>& settings, const std::filesystem::path& models_folder = {});

}  // namespace roofcast
