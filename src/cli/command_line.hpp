#pragma once
/// Words of the command line before the parser sees them, and errors of the parser in words that a user can act on.

#include <CLI/CLI.hpp>
#include <string>

#include "roofcast/error.hpp"

namespace roofcast::cli {

/// The innermost command that the user named.
const CLI::App& chosen_command(const CLI::App& app);

/// Throws Error for an empty value, which the parser would take for an absent or a zero one, and for a number with a leading zero: "010"
/// is ten to people and eight to the parser.
void check_words(int argc, char** argv);

/// What is wrong with a command line.
ErrorDetail parse_error_detail(const CLI::App& app, const CLI::ParseError& e);

/// One message for it, which names the help.
std::string parse_error_text(const CLI::App& app, const CLI::ParseError& e);

/// The option that other tools of the field call `word`; empty: none.
std::string usual_option(const std::string& word);

}  // namespace roofcast::cli
