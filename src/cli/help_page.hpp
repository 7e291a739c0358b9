#pragma once
/// The help of one command as data, for all that shows it: terminals, man pages, Markdown and completion scripts.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command_docs.hpp"
#include "cli/option_docs.hpp"

namespace roofcast::cli {

struct HelpOption {
    std::string names;        ///< "-g, --gpu"; of a positional: empty
    std::string value;        ///< "GPU...": several may follow; of a flag: empty
    std::string description;  ///< a sentence with its unit and default
    std::vector<std::string> choices;
    ValueKind kind = ValueKind::free;
    bool required = false;
    const CLI::Option* option = nullptr;

    [[nodiscard]] bool positional() const { return names.empty(); }
    [[nodiscard]] bool repeats() const { return option->get_items_expected_max() > 1; }
    /// "-g, --gpu GPU..."
    [[nodiscard]] std::string left() const { return names + (names.empty() || value.empty() ? "" : " ") + value; }
};

struct HelpGroup {
    std::string title;
    std::vector<HelpOption> options;
};

struct HelpCommand {
    std::string name, summary;
};

struct HelpCommands {
    std::string title;
    std::vector<HelpCommand> commands;
};

struct HelpPage {
    std::string name;  ///< "gpu show"; empty: the program
    std::string usage, summary, description;
    std::vector<HelpCommands> commands;
    std::vector<HelpGroup> groups;
    std::vector<CommandExample> examples;
};

/// "gpu show": without the name of the program.
std::string command_name(const CLI::App& command);

/// "-b" and "--batch".
std::vector<std::string> flags_of(const CLI::Option& option);

/// Subcommands in the order of the documentation, then those without one. Hidden ones are left out.
std::vector<const CLI::App*> shown_subcommands(const CLI::App& command);

/// `command` and all below it.
std::vector<const CLI::App*> all_commands(const CLI::App& command);

HelpPage help_page(const CLI::App& command);

}  // namespace roofcast::cli
