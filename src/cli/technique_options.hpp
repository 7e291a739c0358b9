#pragma once
/// Options of serving techniques, part of the run options.

#include <CLI/CLI.hpp>

#include "roofcast/run_settings.hpp"

namespace roofcast::cli {

void add_technique_options(CLI::App& command, TechniqueSettings& options);

}  // namespace roofcast::cli
