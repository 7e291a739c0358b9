#include <fmt/format.h>

#include "cli/completion.hpp"
#include "cli/help_page.hpp"

namespace roofcast::cli {

namespace {

/// Between single quotes of a shell.
std::string in_quotes(std::string_view text, std::string_view escaped) {
    std::string out;
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else if (escaped.find(c) != std::string_view::npos)
            out += std::string("\\") + c;
        else
            out += c;
    }
    return out;
}

/// Of a specification of _arguments, where colons and brackets have a meaning.
std::string zsh_text(std::string_view text) {
    return in_quotes(text, ":[]\\");
}

std::string zsh_values(const HelpOption& option) {
    const std::string name = zsh_text(option.value);
    if (option.kind == ValueKind::file) return fmt::format(":{}:_files", name);
    if (const auto list = listed(option.kind); !list.empty()) return fmt::format(":{}:_roofcast_{}", name, list);
    if (!option.choices.empty()) return fmt::format(":{}:({})", name, fmt::join(option.choices, " "));
    return fmt::format(":{}: ", name);
}

/// A specification for each name of the option.
std::string zsh_option(const HelpOption& option) {
    const std::string values = option.value.empty() ? "" : zsh_values(option);
    if (option.positional()) return fmt::format("        '{}{}'\n", option.repeats() ? "*" : "", values);
    std::string text;
    const auto add = [&](const std::string& name) {
        text += fmt::format("        '{}{}[{}]{}'\n", option.repeats() ? "*" : "", name, zsh_text(option.description), values);
    };
    for (const std::string& name : option.option->get_snames()) add("-" + name);
    for (const std::string& name : option.option->get_lnames()) add("--" + name);
    return text;
}

/// "_roofcast_gpu_show"
std::string zsh_function(const CLI::App& command) {
    std::string name = command_name(command);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
    return "_roofcast" + (name.empty() ? "" : "_" + name);
}

std::string zsh_command(const CLI::App& command) {
    const HelpPage page = help_page(command);
    std::string specifications, commands, cases;
    for (const HelpGroup& group : page.groups) {
        for (const HelpOption& option : group.options) specifications += zsh_option(option);
    }
    for (const HelpCommands& group : page.commands) {
        for (const HelpCommand& inner : group.commands) commands += fmt::format("        '{}:{}'\n", inner.name, zsh_text(inner.summary));
    }
    std::string text = zsh_function(command) + "() {\n    local -a specifications=(\n" + specifications + "    )\n";
    if (page.commands.empty()) return text + "    _arguments -s $specifications\n}\n\n";
    for (const CLI::App* inner : shown_subcommands(command))
        cases += fmt::format("        {}) {} ;;\n", inner->get_name(), zsh_function(*inner));
    return text + "    local -a commands=(\n" + commands +
           "    )\n    local curcontext=$curcontext state line\n"
           "    _arguments -C $specifications '1: :->command' '*:: :->rest'\n"
           "    case $state in\n        command) _describe command commands ;;\n        rest)\n            case $line[1] in\n" +
           cases + "            esac ;;\n    esac\n}\n\n";
}

/// Whether the command of the line so far is the one named.
constexpr const char* fish_place = R"(

function __roofcast_at
    set -l command ''
    for word in (commandline -opc)
        set -l longer (string trim -- "$command $word")
        if contains -- "$longer" $__roofcast_commands
            set command $longer
        end
    end
    test "$command" = "$argv[1]"
end

)";

std::string fish_values(const HelpOption& option) {
    if (option.value.empty()) return {};
    if (option.kind == ValueKind::file) return " -r -F";
    if (const auto list = listed(option.kind); !list.empty()) return fmt::format(" -x -a '(roofcast completion --list {})'", list);
    return option.choices.empty() ? " -x" : fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
}

std::string fish_command(const CLI::App& command) {
    const HelpPage page = help_page(command);
    const std::string start = fmt::format("complete -c roofcast -n '__roofcast_at \"{}\"'", page.name);
    std::string text;
    for (const HelpCommands& group : page.commands) {
        for (const HelpCommand& inner : group.commands)
            text += fmt::format("{} -f -a {} -d '{}'\n", start, inner.name, in_quotes(inner.summary, "\\"));
    }
    for (const HelpGroup& group : page.groups) {
        for (const HelpOption& option : group.options) {
            std::string names;
            for (const std::string& name : option.option->get_snames()) names += " -s " + name;
            for (const std::string& name : option.option->get_lnames()) names += " -l " + name;
            const std::string values = fish_values(option);
            // A positional that is not a file: no names of files beside its words.
            text += option.positional() ? fmt::format("{}{}\n", start, values.starts_with(" -x") ? " -f" + values.substr(3) : " -F")
                                        : fmt::format("{}{}{} -d '{}'\n", start, names, values, in_quotes(option.description, "\\"));
        }
    }
    return text;
}

}  // namespace

std::string zsh_completion(const CLI::App& app) {
    std::string text =
        "#compdef roofcast\n# zsh completion of roofcast. Save it as _roofcast in a folder of $fpath.\n\n"
        "_roofcast_list() {\n    local list=$1\n    shift\n"
        "    local -a words=(${(f)\"$(roofcast completion --list $list 2>/dev/null)\"})\n    compadd \"$@\" -- $words\n}\n";
    for (const ValueKind kind : {ValueKind::gpus, ValueKind::models, ValueKind::engines, ValueKind::commands})
        text += fmt::format("_roofcast_{0}() {{ _roofcast_list {0} \"$@\" }}\n", listed(kind));
    text += '\n';
    for (const CLI::App* command : all_commands(app)) text += zsh_command(*command);
    return text + "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n    _roofcast \"$@\"\nelse\n    compdef _roofcast roofcast\nfi\n";
}

std::string fish_completion(const CLI::App& app) {
    std::string names, commands;
    for (const CLI::App* command : all_commands(app)) {
        if (command != &app) names += fmt::format(" '{}'", command_name(*command));
        commands += fish_command(*command);
    }
    return "# fish completion of roofcast. Load it by: roofcast completion fish | source\nset -g __roofcast_commands" + names + fish_place +
           commands;
}

}  // namespace roofcast::cli
