#pragma once
/// Which parameters are fitted on which rows, in which order.

#include <span>
#include <string_view>
#include <vector>

#include "calibration/samples.hpp"

namespace roofcast {

/// One step of a fit.
struct Stage {
    std::string_view name;
    std::vector<std::string_view> parameters;  ///< prefixes of parameter names
    std::vector<std::string_view> otherwise;   ///< prefixes fitted here too when no earlier stage had rows for them
    bool (*takes)(const Sample&, const GpuProfile&);
    bool of_models = false;     ///< rows are whole models
    std::string_view factor{};  ///< time factor of its rows, where that is not named as the stage
};

/// All stages in order. A parameter belongs to the first stage that names it and has rows, and is fitted there if these depend on it.
std::span<const Stage> stages();

/// The stage in which whole models tell how much slower or faster the user's machine is.
bool is_of_machine(const Stage& stage);

/// Index of the time factor that the stage's rows have in common.
std::size_t factor_of(const Stage& stage);

/// Whether the rows of the stage of this name are whole models.
bool is_of_models(std::string_view stage_name);

}  // namespace roofcast
