#pragma once
/// The program's help, read as a user sees it.

#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace roofcast::test {

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// "predict", "gpu", "gpu show": all commands and subcommands.
inline std::vector<std::string> command_paths() {
    return lines_of(printed("completion --list paths"));
}

/// The lines of options in a page of help: "-g, --gpu GPU...        GPU id, ..." without the spaces before them.
inline std::vector<std::string> option_lines(const std::string& page) {
    std::vector<std::string> options;
    for (const std::string& line : lines_of(page)) {
        if (line == "Examples:") break;
        const auto start = line.find_first_not_of(' ');
        const bool indented = line.starts_with("  -") || line.starts_with("      --");
        if (indented && start != std::string::npos) options.push_back(line.substr(start));
    }
    return options;
}

/// Names of the options in a page: "-g", "--gpu".
inline std::vector<std::string> option_names(const std::string& page) {
    std::vector<std::string> names;
    for (const std::string& line : option_lines(page)) {
        std::istringstream words(line);
        for (std::string word; words >> word && word.starts_with('-');) {
            const bool more = word.ends_with(',');
            names.push_back(more ? word.substr(0, word.size() - 1) : word);
            if (!more) break;
        }
    }
    return names;
}

/// What a page says of each of its options, as one line.
inline std::vector<std::string> option_texts(const std::string& page) {
    constexpr std::size_t left_width = 26;
    std::vector<std::string> texts;
    bool inside = false;
    for (const std::string& line : lines_of(page)) {
        if (line == "Examples:") break;
        const bool option = line.starts_with("  -") || line.starts_with("      --");
        if (option) texts.emplace_back();
        inside = option || (inside && line.starts_with(std::string(left_width, ' ')));
        if (!inside) continue;
        // A long name has its text on the next line.
        const bool beside = line.size() > left_width && (!option || line.substr(left_width - 2, 2) == "  ");
        if (beside) texts.back() += (texts.back().empty() ? "" : " ") + line.substr(left_width);
    }
    return texts;
}

/// The command lines under "Examples:", each as one line.
inline std::vector<std::string> example_lines(const std::string& page) {
    std::vector<std::string> examples;
    bool inside = false, continued = false;
    for (const std::string& line : lines_of(page)) {
        if (line == "Examples:") inside = true;
        if (!inside || line.starts_with("  #")) continue;
        const bool more = line.ends_with('\\');
        const std::string text = more ? line.substr(0, line.size() - 1) : line;
        if (continued)
            examples.back() += text;
        else if (line.starts_with("  roofcast "))
            examples.push_back(text.substr(2));
        continued = more;
    }
    return examples;
}

}  // namespace roofcast::test
