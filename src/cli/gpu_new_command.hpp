#pragma once
/// `roofcast gpu new`: a profile to fill in.

#include <CLI/CLI.hpp>

namespace roofcast::cli {

void add_gpu_new_command(CLI::App& gpu);

}  // namespace roofcast::cli
