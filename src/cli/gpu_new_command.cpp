#include "cli/gpu_new_command.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "cli/command.hpp"
#include "io/atomic_file.hpp"
#include "profile/profile_skeleton.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

struct NewGpuOptions : CommonOptions {
    std::string name;
};

void write_skeleton(const NewGpuOptions& options) {
    const std::string text = profile_skeleton(options.name, options.gpus());
    if (options.output.empty()) {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw std::runtime_error("standard output cannot be written");
        return;
    }
    std::error_code ec;
    if (std::filesystem::exists(std::filesystem::symlink_status(options.output, ec)))
        throw Error(
            {.what = "the file exists", .key = "--output", .found = options.output, .suggestion = "name a new file, or remove this one"});
    write_file_atomically(options.output, text);
}

}  // namespace

void add_gpu_new_command(CLI::App& gpu) {
    auto options = std::make_shared<NewGpuOptions>();
    auto* command = gpu.add_subcommand("new");
    command->add_option("name", options->name, "Name of the GPU, such as \"GeForce RTX 4070 SUPER\"")->required()->expected(1);
    command->add_option("--output", options->output, "New file to write instead of standard output");
    command->add_option("--data-dir", options->data_dir,
                        "Folder of gpus/, software/ and models/ (default: $ROOFCAST_DATA, else beside the program)");
    command->callback([options] { write_skeleton(*options); });
}

}  // namespace roofcast::cli
