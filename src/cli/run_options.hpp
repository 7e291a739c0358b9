#pragma once
/// Options that describe one run, shared by the commands that predict.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/technique_options.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/run_settings.hpp"

namespace roofcast::cli {

using RunOptions = RunSettings;

void add_run_options(CLI::App& command, RunOptions& options);

/// --host-time, for commands that say in their answer what host it is for.
void add_host_option(CLI::App& command, RunOptions& options);

/// --pcie, for commands that predict times.
void add_pcie_option(CLI::App& command, RunOptions& options);

/// `require_software`; `notes` gets which entry stands for the engine's version where that has no data of its own.
void require_software(const RunOptions& options, const SoftwareStacks& software, Notes& notes);

}  // namespace roofcast::cli
