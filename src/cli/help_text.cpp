#include "cli/help_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace roofcast::cli {

namespace {

constexpr std::size_t page_width = 80, left_width = 26, margin = 2;

/// `text` in lines of at most 80 columns, the first after `column` columns of what stands there already, others indented by as many.
/// Width is counted in bytes: help is ASCII.
std::string wrapped(const std::string& text, std::size_t column) {
    std::string out;
    std::size_t at = column;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (at > column && at + 1 + word.size() > page_width) {
            out += '\n' + std::string(column, ' ');
            at = column;
        }
        if (at > column) {
            out += ' ';
            ++at;
        }
        out += word;
        at += word.size();
    }
    return out + '\n';
}

/// What is named on the left, what is said of it on the right.
std::string two_columns(const std::string& left, const std::string& right, std::size_t width) {
    std::string line = std::string(margin, ' ') + left;
    if (line.size() + margin > width) {
        line += '\n' + std::string(width, ' ');
    } else {
        line += std::string(width - line.size(), ' ');
    }
    return line + wrapped(right, width);
}

std::string commands_text(const HelpPage& page) {
    std::size_t longest = 0;
    for (const HelpCommands& group : page.commands) {
        for (const HelpCommand& command : group.commands) longest = std::max(longest, command.name.size());
    }
    std::string text;
    for (const HelpCommands& group : page.commands) {
        text += '\n' + group.title + ":\n";
        for (const HelpCommand& command : group.commands) text += two_columns(command.name, command.summary, longest + 2 * margin);
    }
    return text;
}

}  // namespace

std::string help_text(const HelpPage& page) {
    std::string text = "Usage: " + wrapped(page.usage, 7) + '\n' + wrapped(page.summary + ".", 0);
    if (!page.description.empty()) text += '\n' + wrapped(page.description, 0);
    text += commands_text(page);
    for (const HelpGroup& group : page.groups) {
        text += fmt::format("\n{}:\n", group.title);
        for (const HelpOption& option : group.options)
            text += two_columns((option.names.starts_with("--") ? "    " : "") + option.left(), option.description, left_width);
    }
    if (!page.examples.empty()) text += "\nExamples:\n";
    for (const CommandExample& example : page.examples) text += fmt::format("  # {}\n  {}\n", example.shows, example.command);
    if (page.name.empty()) text += "\n`roofcast help COMMAND` prints the options of a command.\n";
    return text;
}

}  // namespace roofcast::cli
