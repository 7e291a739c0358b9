#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/option_names.hpp"
#include "cli/output.hpp"
#include "io/data_folder.hpp"
#include "io/printable.hpp"
#include "report/html.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

/// The complaint about what is no file: who gives a bare number to --output means tokens, and who gives a dash standard output.
std::string no_file(const std::string& file) {
    if (file == "-") return "standard output is where results go without --output";
    const bool count = std::all_of(file.begin(), file.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    return count ? fmt::format("a file is needed, found \"{}\"; output tokens are --generate", file) : std::string();
}

/// What an option's value may name: itself, and where it is a list each entry.
std::vector<std::string> names_in(const std::string& value) {
    std::vector<std::string> names{value};
    std::istringstream list(value);
    for (std::string entry; std::getline(list, entry, ',');) names.push_back(entry);
    return names;
}

/// Adds the files that are read where `name` is given: a folder stands for the config in it, "file#id" for one model of the file.
void add_files_of(const std::string& name, std::vector<std::filesystem::path>& files) {
    const std::filesystem::path path = name, file = name.substr(0, name.rfind('#'));
    for (const std::filesystem::path& input : {path, path / "config.json", file}) {
        std::error_code ec;
        if (std::filesystem::is_regular_file(input, ec)) files.push_back(input);
    }
}

/// "roofcast gpu list".
std::string title_of(const CLI::App& command) {
    std::string title = command.get_name();
    for (const CLI::App* above = command.get_parent(); above != nullptr; above = above->get_parent())
        title = above->get_name() + (above->get_name().empty() ? "" : " ") + title;
    return title.starts_with("roofcast") ? title : "roofcast " + title;
}

}  // namespace

std::filesystem::path CommonOptions::data() const {
    return data_folder(data_dir.empty() ? std::nullopt : std::optional<std::filesystem::path>(data_dir));
}

std::filesystem::path CommonOptions::user_fits() const {
    const auto folder = data_dir.empty() ? user_data_folder() : std::filesystem::path();
    return folder;
}

void add_common_options(CLI::App& command, CommonOptions& options) {
    options.command = &command;
    const CLI::Option* format = command
                                    .add_option("--format", options.format,
                                                "How to print: table, json, csv or html (default: by the ending of --output, else table)")
                                    ->check(CLI::IsMember({"table", "json", "csv", "html"}));
    command.add_option("--output", options.output, "Write to this file instead of standard output")->check(no_file);
    command.parse_complete_callback([&options, format] {
        if (format->count() > 0) return;
        if (options.output.ends_with(".json")) options.format = "json";
        if (options.output.ends_with(".csv")) options.format = "csv";
        if (options.output.ends_with(".html")) options.format = "html";
    });
    command.add_option("--data-dir", options.data_dir,
                       "Folder that holds gpus/, software/ and models/ (else ROOFCAST_DATA, else beside the program)");
}

Format format_of(const CommonOptions& options) {
    if (options.format == "table") return Format::table;
    if (options.format == "html") return Format::html;
    return options.format == "json" ? Format::json : Format::csv;
}

void write(const Report& report, const CommonOptions& options) {
    const Report named = with_options(report, *options.command);
    const Format format = format_of(options);
    const std::string text = format == Format::html ? as_html(named, title_of(*options.command)) : rendered(named, format);
    if (!options.output.empty()) {
        require_output("--output", options.output, options);
        write_file(options.output, text);
        return;
    }
    print(text);
}

void require_output(std::string_view option, const std::string& file, const CommonOptions& options) {
    if (file.ends_with(".toml"))
        throw Error({.what = "what is printed is no TOML, and profiles, models and fits are",
                     .key = std::string(option),
                     .found = file,
                     .suggestion = "name a .txt, .json or .csv file"});
    std::vector<std::filesystem::path> read;
    for (const CLI::Option* given : options.command->get_options()) {
        if (given->get_name() == "--output" || given->get_name() == "--rows") continue;
        for (const std::string& value : given->results()) {
            for (const std::string& name : names_in(value)) add_files_of(name, read);
        }
    }
    require_apart(option, file, read);
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

void end_with(ExitCode code) {
    // The parser hands this code through to `main`.
    if (code != ExitCode::answered) throw CLI::RuntimeError(static_cast<int>(code));
}

void note(const std::string& text) {
    message(printable(text));  // a note is one line
}

void Notes::add(const GpuChoice& choice, const GpuProfile& gpu) {
    add(choice.note);
    for (const Assumption& a : gpu.assumed) {
        if (a.key == "architecture") add(fmt::format("{}: unknown architecture, taken for a {}: {}", gpu.id, a.value, a.reason));
    }
}

GpuProfile chosen_gpu(const std::filesystem::path& gpus_folder, const std::string& id_or_file, Notes& notes) {
    const GpuChoice choice = choose_gpu(gpus_folder, id_or_file);
    GpuProfile gpu = load_gpu_profile(choice.file, gpus_folder);
    notes.add(choice, gpu);
    return gpu;
}

GpuProfile load_chosen_gpu(const std::filesystem::path& gpus_folder, const std::string& id_or_file, Notes& notes) {
    GpuProfile gpu = chosen_gpu(gpus_folder, id_or_file, notes);
    for (const ProfileFinding& f : check_gpu_profile(gpu)) {
        if (!f.explained) notes.add(fmt::format("{}: {} is {}, expected {} ({})", gpu.id, f.key, f.found, f.expected, f.rule));
    }
    return gpu;
}

}  // namespace roofcast::cli
