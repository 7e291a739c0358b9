#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "io/atomic_file.hpp"
#include "io/data_folder.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

Format parsed_format(const std::string& text) {
    if (text == "table") return Format::table;
    if (text == "json") return Format::json;
    return Format::csv;
}

/// The complaint about a bare number: who gives one to --output means tokens.
std::string no_count(const std::string& file) {
    const bool count = std::all_of(file.begin(), file.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    return count ? fmt::format("a file is needed, found \"{}\"; output tokens are --generate", file) : std::string();
}

}  // namespace

std::filesystem::path CommonOptions::data() const {
    return data_folder(data_dir.empty() ? std::nullopt : std::optional<std::filesystem::path>(data_dir));
}

void add_common_options(CLI::App& command, CommonOptions& options) {
    command.add_option("--format", options.format, "How to print: table, json or csv")
        ->check(CLI::IsMember({"table", "json", "csv"}))
        ->capture_default_str();
    command.add_option("--output", options.output, "Write to this file instead of standard output")->check(no_count);
    command.add_option("--data-dir", options.data_dir, "Folder that holds gpus/ and models/ (else ROOFCAST_DATA, else beside the program)");
}

void write(const Report& report, const CommonOptions& options) {
    const std::string text = rendered(report, parsed_format(options.format));
    if (!options.output.empty()) {
        require_no_toml("--output", options.output);
        write_file_atomically(options.output, text);
        return;
    }
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw std::runtime_error("standard output cannot be written");
    }
}

void require_no_toml(std::string_view option, const std::string& file) {
    if (!file.ends_with(".toml")) return;
    throw Error({.what = "what is printed is no TOML, and profiles, models and fits are",
                 .key = std::string(option),
                 .found = file,
                 .suggestion = "name a .txt, .json or .csv file"});
}

void require_apart(std::string_view option, const std::string& file, const std::vector<std::filesystem::path>& others) {
    if (file.empty()) return;
    const auto place = [](const std::filesystem::path& path) {
        std::error_code ec;
        const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path, ec), ec);
        return ec ? path : whole;
    };
    for (const auto& other : others) {
        if (other.empty() || place(file) != place(other)) continue;
        throw Error({.what = "the same file is to be written and to be read, or to be written twice",
                     .key = std::string(option),
                     .found = file,
                     .suggestion = "name another file"});
    }
}

void note(const std::string& text) {
    fmt::print(stderr, "{}\n", text);
}

void Notes::add(const GpuChoice& choice, const GpuProfile& gpu) {
    add(choice.note);
    for (const Assumption& a : gpu.assumed) {
        if (a.key == "architecture") add(fmt::format("{}: unknown architecture, taken for a {}: {}", gpu.id, a.value, a.reason));
    }
}

GpuProfile load_chosen_gpu(const std::filesystem::path& gpus_folder, const std::string& id_or_file, Notes& notes) {
    const GpuChoice choice = choose_gpu(gpus_folder, id_or_file);
    GpuProfile gpu = load_gpu_profile(choice.file, gpus_folder);
    notes.add(choice, gpu);
    return gpu;
}

}  // namespace roofcast::cli
