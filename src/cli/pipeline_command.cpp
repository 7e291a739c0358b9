#include "cli/command.hpp"

namespace roofcast::cli {

void add_pipeline_command(CLI::App&) {}

}  // namespace roofcast::cli
