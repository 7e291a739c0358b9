#pragma once
/// Completion scripts of shells, made from the tree of commands.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/option_docs.hpp"

namespace roofcast::cli {

/// The script for "bash", "zsh" or "fish"; nullopt: another shell.
std::optional<std::string> completion_script(const CLI::App& app, std::string_view shell);

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

/// "gpus", "models", "engines" or "commands": what the scripts give to `roofcast completion --list`. Empty for values that need no such
/// list.
std::string_view listed(ValueKind kind);

}  // namespace roofcast::cli
