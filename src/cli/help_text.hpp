#pragma once
/// Help as text of 80 columns, as man pages and as Markdown.

#include <string>
#include <string_view>

#include "cli/help_page.hpp"

namespace roofcast::cli {

/// What `--help` prints.
std::string help_text(const HelpPage& page);

/// A man page in roff, section 1. `pages` names the pages of all commands, which each refers to.
std::string man_page(const HelpPage& page, std::string_view version);

/// "roofcast-gpu-show.1"
std::string man_file(const HelpPage& page);

/// docs/reference/commands.md: a section for each command of the program `app`.
std::string commands_markdown(const CLI::App& app);

}  // namespace roofcast::cli
