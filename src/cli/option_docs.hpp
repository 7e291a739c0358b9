#pragma once
/// How options are shown and completed: their group, the word for their value, and what values there are.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast::cli {

/// What a shell completes after an option.
enum class ValueKind { free, words, file, gpus, models, engines, commands };

struct OptionDoc {
    std::string_view name;                          ///< "--batch", or a positional: "file"
    std::string_view value;                         ///< "TOKENS"; empty: a flag
    std::string_view group;                         ///< title in help
    ValueKind kind = ValueKind::free;               ///< words: those of `words`, or what the parser accepts
    std::vector<std::string> (*words)() = nullptr;  ///< what is known of the choices, where the parser takes any text
    std::string_view command{};                     ///< the row is about the option of this command alone
};

/// The row about `option` of the command called `command` ("gpu list"): first one of that command alone. nullptr: there is none.
const OptionDoc* find_option_doc(const CLI::Option& option, std::string_view command);

/// The group of options without a row.
inline constexpr std::string_view other_options = "Other";

/// Titles of groups, in the order of help.
std::vector<std::string_view> option_groups();

/// The choices of an option, from its row or from the parser; empty: any text.
std::vector<std::string> choices_of(const CLI::Option& option, const OptionDoc* doc);

}  // namespace roofcast::cli
