#pragma once
/// `--emit ENGINE`: a launch script in place of the report.

#include <string>

#include "cli/command.hpp"
#include "roofcast/launch_commands.hpp"
#include "roofcast/workload.hpp"

namespace roofcast::cli {

void add_emit_option(CLI::App& command, std::string& engine);

/// Prints the script that starts `engine` with the deployment of `request`, or writes it to --output. `request` lacks its model and
/// scheduler. Engines that reserve the context of every sequence get as many as fit `gpu`. Throws Error where the model generates no text,
/// the engine is unknown, or --format asks for something else.
void emit(const std::string& engine, const Workload& workload, const GpuProfile& gpu, LaunchRequest request, const SoftwareStacks& software,
          const CommonOptions& options);

}  // namespace roofcast::cli
