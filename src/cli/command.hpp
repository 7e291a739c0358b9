#pragma once
/// What all commands share: the options that every one takes, and where results go.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "report/table.hpp"

namespace roofcast::cli {

/// Options of every command. Filled by CLI11 before a command runs.
struct CommonOptions {
    std::string format = "table";
    std::string output;    ///< file; empty: standard output
    std::string data_dir;  ///< empty: found beside the program

    [[nodiscard]] std::filesystem::path data() const;
    [[nodiscard]] std::filesystem::path gpus() const { return data() / "gpus"; }
    [[nodiscard]] std::filesystem::path models() const { return data() / "models"; }
};

/// Adds --format, --output and --data-dir to `command`.
void add_common_options(CLI::App& command, CommonOptions& options);

/// Writes `report` where the options say: standard output, or a file that is replaced as a whole.
void write(const Report& report, const CommonOptions& options);

/// A note for the user on standard error.
void note(const std::string& text);

// One function a command, each in a file of its own: registers the command and what runs when it is chosen.
void add_gpu_command(CLI::App& app);
void add_model_command(CLI::App& app);
void add_predict_command(CLI::App& app);
void add_memory_command(CLI::App& app);
void add_validate_command(CLI::App& app);
void add_calibrate_command(CLI::App& app);

}  // namespace roofcast::cli
