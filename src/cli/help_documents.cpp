// The same pages for man and for docs/.
#include <fmt/format.h>

#include <algorithm>

#include "cli/help_text.hpp"

namespace roofcast::cli {

namespace {

/// As roff reads it back: a backslash and a hyphen are said by name, and no line begins with a request.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
            out += std::string("\\&") + c;
        else
            out += c;
    }
    return out;
}

std::string roff_option(const HelpOption& option) {
    std::string text = ".TP\n";
    if (!option.names.empty()) text += fmt::format("\\fB{}\\fR", roff(option.names));
    if (!option.value.empty()) text += fmt::format("{}\\fI{}\\fR", option.names.empty() ? "" : " ", roff(option.value));
    return text + '\n' + roff(option.description) + ".\n";
}

/// A pipe ends a cell of a Markdown table, and an asterisk or angle bracket begins what no reader of help means.
std::string markdown(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '|' || c == '*' || c == '<' || c == '[') out += '\\';
        out += c;
    }
    return out;
}

std::string example_block(const HelpPage& page) {
    std::string text = "```sh\n";
    for (const CommandExample& example : page.examples) text += fmt::format("{}  # {}\n", example.command, example.shows);
    return text + "```\n";
}

std::string title_of(const HelpPage& page) {
    return page.name.empty() ? "roofcast" : "roofcast " + page.name;
}

std::string hyphenated(std::string text) {
    std::replace(text.begin(), text.end(), ' ', '-');
    return text;
}

std::string markdown_section(const HelpPage& page) {
    std::string text = fmt::format("\n{} {}\n\n{}. {}\n\n", page.name.find(' ') == std::string::npos ? "##" : "###", title_of(page),
                                   markdown(page.summary), markdown(page.description));
    text += "```\n" + page.usage + "\n```\n";
    for (const HelpGroup& group : page.groups) {
        const bool only_help = group.options.size() == 1 && group.options.front().option->get_name() == "--help";
        if (only_help) continue;
        text += fmt::format("\n| {} | |\n|---|---|\n", group.title);
        for (const HelpOption& option : group.options) {
            if (option.option->get_name() == "--help") continue;
            text += fmt::format("| `{}` | {} |\n", option.left(), markdown(option.description));
        }
    }
    return page.examples.empty() ? text : text + '\n' + example_block(page);
}

}  // namespace

std::string man_file(const HelpPage& page) {
    return hyphenated(title_of(page)) + ".1";
}

std::string man_page(const HelpPage& page, std::string_view version) {
    std::string text = fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n.nh\n.ad l\n", hyphenated(title_of(page)), version);
    text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR\n", roff(hyphenated(title_of(page))), roff(page.summary),
                        roff(page.usage));
    if (!page.description.empty()) text += ".SH DESCRIPTION\n" + roff(page.description) + '\n';
    if (!page.commands.empty()) text += ".SH COMMANDS\n";
    for (const HelpCommands& group : page.commands) {
        if (page.name.empty()) text += ".SS " + group.title + '\n';
        for (const HelpCommand& command : group.commands)
            text += fmt::format(".TP\n\\fB{}\\fR\n{}.\n", roff(command.name), roff(command.summary));
    }
    if (!page.groups.empty()) text += ".SH OPTIONS\n";
    for (const HelpGroup& group : page.groups) {
        text += ".SS " + group.title + '\n';
        for (const HelpOption& option : group.options) text += roff_option(option);
    }
    if (!page.examples.empty()) text += ".SH EXAMPLES\n";
    for (const CommandExample& example : page.examples)
        text += fmt::format(".TP\n{}:\n.nf\n{}\n.fi\n", roff(example.shows), roff(example.command));
    text +=
        ".SH EXIT STATUS\n.TP\n0\nThe question was answered.\n.TP\n1\nThe answer is no: nothing fits, runs or meets the limits.\n"
        ".TP\n2\nAn option or a file is wrong.\n";
    if (page.name.empty()) return text + ".SH SEE ALSO\nEach command has a page of its own, such as \\fBroofcast\\-predict\\fR(1).\n";
    return text + ".SH SEE ALSO\n\\fBroofcast\\fR(1)\n";
}

std::string commands_markdown(const CLI::App& app) {
    std::string text =
        "# Commands\n\nMade by `roofcast help --markdown`; do not edit. `roofcast COMMAND --help` prints the same.\n\n"
        "The exit code is 0 when the question was answered, 1 when the answer is no (nothing fits, runs or meets the limits), "
        "and 2 when an option or a file is wrong.\n";
    for (const HelpCommands& group : help_page(app).commands) {
        text += fmt::format("\n**{}**\n\n| command | it does |\n|---|---|\n", group.title);
        for (const HelpCommand& command : group.commands)
            text += fmt::format("| [{0}](#roofcast-{0}) | {1} |\n", command.name, markdown(command.summary));
    }
    for (const CLI::App* command : all_commands(app)) {
        if (command != &app) text += markdown_section(help_page(*command));
    }
    return text;
}

}  // namespace roofcast::cli
