#pragma once
/// The program as a function.

namespace roofcast::cli {

/// Runs the command line. Prints; returns the exit status.
int program(int argc, char** argv);

}  // namespace roofcast::cli
