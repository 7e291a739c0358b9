#pragma once
/// What all commands share: the options that every one takes, and where results go.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "document/table.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast::cli {

/// Options of every command. Filled by CLI11 before a command runs.
struct CommonOptions {
    std::string format = "table";
    std::string output;                ///< file; empty: standard output
    std::vector<std::string> columns;  ///< keys of those to print; empty: as they fit
    bool wide = false, no_headers = false, no_pager = false;
    std::string color = "auto";
    std::string plot;                   ///< SVG file of the first chart; empty: none
    std::string data_dir;               ///< empty: found beside the program
    const CLI::App* command = nullptr;  ///< whose options these are

    [[nodiscard]] std::filesystem::path data() const;
    [[nodiscard]] std::filesystem::path gpus() const { return data() / "gpus"; }
    [[nodiscard]] std::filesystem::path software() const { return data() / "software"; }
    [[nodiscard]] std::filesystem::path models() const { return data() / "models"; }
    /// Folder of the user's own fits, which stand in place of shipped ones; empty with --data-dir, whose gpus/ holds them.
    [[nodiscard]] std::filesystem::path user_fits() const;
};

/// Adds --format, --output, how tables are drawn, and --data-dir to `command`.
void add_common_options(CLI::App& command, CommonOptions& options);

/// Of `--format`.
Format format_of(const CommonOptions& options);

/// What `--columns` and `--no-headers` leave of a table; the whole without them.
Table chosen_columns(Table table, const CommonOptions& options);

/// Writes `report` where the options say: standard output, or a file that is replaced as a whole. Fields that it names become options of
/// the command.
void write(Report report, const CommonOptions& options);

/// Throws Error where `file`, which `option` names for what is printed, is one that the command line names to be read, or a TOML file: only
/// what is edited by hand, or fitted, is one.
void require_output(std::string_view option, const std::string& file, const CommonOptions& options);

/// Throws Error where the file that `option` names is one of those that the command reads, or writes besides: it would be lost.
void require_apart(std::string_view option, const std::string& file, const std::vector<std::filesystem::path>& others);

/// A note for the user: on standard error, or in the answer that the program leaves to its caller.
void note(const std::string& text, const CommonOptions& options);

/// Notes that wait until all went well: an error is to be the only message.
class Notes {
public:
    void add(const std::string& text) {
        if (!text.empty()) texts_.push_back(text);
    }
    /// What the user should know of how `gpu` was chosen and read: a name of several GPUs, an architecture without facts.
    void add(const GpuChoice& choice, const GpuProfile& gpu);
    [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }
    void print(const CommonOptions& options) const {
        for (const auto& text : texts_) note(text, options);
    }

private:
    std::vector<std::string> texts_;
};

/// Resolves and reads a profile, with notes of how it was chosen.
GpuProfile chosen_gpu(const std::filesystem::path& gpus_folder, const std::string& id_or_file, Notes& notes);
/// The same, with notes of what contradicts what in it.
GpuProfile load_chosen_gpu(const std::filesystem::path& gpus_folder, const std::string& id_or_file, Notes& notes);

// One function a command, each in a file of its own: registers the command and what runs when it is chosen.
void add_gpu_command(CLI::App& app);
void add_model_command(CLI::App& app);
void add_software_command(CLI::App& app);
void add_predict_command(CLI::App& app);
void add_memory_command(CLI::App& app);
void add_validate_command(CLI::App& app);
void add_calibrate_command(CLI::App& app);
void add_accuracy_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_sweep_command(CLI::App& app);
void add_pipeline_command(CLI::App& app);
void add_cost_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_serve_sim_command(CLI::App& app);
void add_recommend_command(CLI::App& app);

}  // namespace roofcast::cli
