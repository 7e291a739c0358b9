#include "cli/help_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "cli/help_text.hpp"
#include "cli/output.hpp"
#include "roofcast/error.hpp"
#include "roofcast/software.hpp"
#include "roofcast/version.hpp"
#include "roofcast/workload.hpp"

namespace roofcast::cli {

namespace {

struct HelpOptions {
    std::vector<std::string> command;
    std::string man_folder;
    bool markdown = false;
};

/// The command that `words` name, below `app`.
const CLI::App& named_command(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* command = &app;
    for (const std::string& word : words) {
        std::vector<std::string> names;
        const CLI::App* found = nullptr;
        for (const CLI::App* inner : shown_subcommands(*command)) {
            names.push_back(inner->get_name());
            if (inner->get_name() == word) found = inner;
        }
        if (found == nullptr)
            throw Error({.what = names.empty() ? fmt::format("{} has no subcommands", command_name(*command)) : "unknown command",
                         .key = "help",
                         .found = word,
                         .expected = fmt::format("{}", fmt::join(names, ", ")),
                         .suggestion = did_you_mean(word, names)});
        command = found;
    }
    return *command;
}

void write_man_pages(const CLI::App& app, const std::filesystem::path& folder) {
    std::error_code ec;  // writing says what is wrong
    std::filesystem::create_directories(folder, ec);
    for (const CLI::App* command : all_commands(app)) {
        const HelpPage page = help_page(*command);
        write_file(folder / man_file(page), man_page(page, named_version()));
    }
}

void show_help(const CLI::App& app, const HelpOptions& options) {
    if (!options.man_folder.empty()) return write_man_pages(app, options.man_folder);
    if (options.markdown) return print(commands_markdown(app));
    print(help_text(help_page(named_command(app, options.command))));
}

struct CompletionOptions {
    std::string shell, list;
    CommonOptions common;
};

std::string lines(const std::vector<std::string>& words) {
    return fmt::format("{}\n", fmt::join(words, "\n"));
}

/// What completion scripts ask for, a word a line.
std::string words_of(const CLI::App& app, const CompletionOptions& options) {
    std::vector<std::string> words;
    if (options.list == "gpus") {
        for (const GpuProfile& gpu : load_gpu_catalogue(options.common.gpus())) words.push_back(gpu.id);
    } else if (options.list == "models") {
        for (const Workload& model : load_workload_catalogue(options.common.models())) words.push_back(model.id);
    } else if (options.list == "engines") {
        // A name with a version has a space, which shells would take for two words.
        for (const Engine& engine : load_software(options.common.software()).engines) {
            if (engine.stack.name.find(' ') == std::string::npos) words.push_back(engine.stack.name);
        }
    } else {
        const bool paths = options.list == "paths";  // "gpu show" too
        for (const CLI::App* command : paths ? all_commands(app) : shown_subcommands(app)) {
            if (command != &app) words.push_back(command_name(*command));
        }
    }
    return lines(words);
}

void show_completion(const CLI::App& app, const CompletionOptions& options) {
    if (!options.list.empty()) return print(words_of(app, options));
    const auto script = completion_script(app, options.shell);
    if (!script)
        throw Error({.what = options.shell.empty() ? "the shell is missing" : "unknown shell",
                     .key = "completion",
                     .found = options.shell,
                     .expected = "bash, zsh or fish"});
    print(*script);
}

}  // namespace

void set_help_format(CLI::App& app) {
    app.formatter_fn([](const CLI::App* command, const std::string&, CLI::AppFormatMode) { return help_text(help_page(*command)); });
    app.set_help_flag("-h,--help", "Print this help and exit");
}

void print_overview(const CLI::App& app) {
    print(help_text(help_page(app)));
}

void add_help_commands(CLI::App& app) {
    auto of_help = std::make_shared<HelpOptions>();
    CLI::App* help = app.add_subcommand("help");
    help->add_option("command", of_help->command, "Command, and its subcommand (default: the overview)");
    help->add_flag("--markdown", of_help->markdown, "Print docs/reference/commands.md")->group("");
    help->add_option("--man", of_help->man_folder, "Write all man pages into this folder")->group("");
    help->callback([&app, of_help] { show_help(app, *of_help); });

    auto of_completion = std::make_shared<CompletionOptions>();
    CLI::App* completion = app.add_subcommand("completion");
    completion->add_option("shell", of_completion->shell, "Shell: bash, zsh or fish");
    completion->add_option("--list", of_completion->list, "Print ids")
        ->check(CLI::IsMember({"gpus", "models", "engines", "commands", "paths"}))
        ->group("");
    completion->callback([&app, of_completion] { show_completion(app, *of_completion); });
}

}  // namespace roofcast::cli
