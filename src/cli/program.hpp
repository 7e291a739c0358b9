#pragma once
/// The program as a function.

namespace CLI {
class App;
}

namespace roofcast::cli {

/// Registers every command. A row of src/cli/command_docs.cpp describes each command and subcommand.
void add_commands(CLI::App& app);

/// Runs the command line. Prints; returns the exit status.
int program(int argc, char** argv);

}  // namespace roofcast::cli
