#pragma once
/// `roofcast help` and `roofcast completion`, and help as --help prints it.

#include <CLI/CLI.hpp>

namespace roofcast::cli {

/// Makes --help of `app`, and of all commands that are added to it afterwards, print pages of 80 columns.
void set_help_format(CLI::App& app);

/// What `roofcast` alone prints: commands by task, and examples.
void print_overview(const CLI::App& app);

/// Adds `help` and `completion`. Both look at the tree of commands when they run.
void add_help_commands(CLI::App& app);

}  // namespace roofcast::cli
