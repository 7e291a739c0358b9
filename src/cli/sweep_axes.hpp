#pragma once
/// Run options as lists: what a sweep varies.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/run_options.hpp"

namespace roofcast::cli {

/// One option with all its values.
struct SweepAxis {
    std::string option;               ///< "--batch"
    std::string key;                  ///< its column
    std::vector<std::string> words;   ///< as the parser got them
    std::vector<std::string> values;  ///< words cut at commas and checked; empty: not given
    void (*set)(RunOptions& options, const std::string& value, const char* option) = nullptr;
    bool whole_numbers = false;  ///< ranges may stand for its values
    bool technique = false;      ///< a way of serving that docs/model/serving.md describes
    bool scales = false;         ///< degrees of parallelism and streams: points that differ in these alone are compared

    /// Values there are to choose from: one, the default, where none is given.
    [[nodiscard]] std::int64_t length() const { return values.empty() ? 1 : static_cast<std::int64_t>(values.size()); }
};

/// All run options, those that scale last.
std::vector<SweepAxis> sweep_axes();

/// Adds an option for each of `axes`, which must stay where they are.
void add_sweep_options(CLI::App& command, std::vector<SweepAxis>& axes);

/// `words` cut at commas, with the values of ranges where they are `whole_numbers`. Throws Error for an empty value, one that is given
/// twice and a wrong range.
std::vector<std::string> list_values(const std::vector<std::string>& words, const std::string& option, bool whole_numbers = false);

/// Fills in `values` of all axes. Throws Error for a value that no point could use.
void read_values(std::vector<SweepAxis>& axes);

}  // namespace roofcast::cli
