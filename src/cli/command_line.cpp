#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "cli/help_page.hpp"
#include "io/printable.hpp"
#include "io/shell_word.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

/// Names that could have stood in place of `word`: options, or commands.
std::vector<std::string> known_names(const CLI::App& command, const std::string& word) {
    std::vector<std::string> names;
    if (word.starts_with('-')) {
        for (const CLI::Option* option : command.get_options()) names.push_back(option->get_name());
    } else {
        for (const CLI::App* inner : shown_subcommands(command)) names.push_back(inner->get_name());
    }
    return names;
}

/// What was probably meant by `word`, among the options or commands that `command` has.
std::string meant(const CLI::App& command, const std::string& word) {
    const auto names = known_names(command, word);
    const std::string usual = usual_option(word);
    const bool known = std::find(names.begin(), names.end(), usual.substr(0, usual.find(' '))) != names.end();
    return known ? fmt::format("did you mean {}?", usual) : did_you_mean(word, names);
}

/// The option or positional that `name` is about: "--batch", "gpu".
const CLI::Option* option_named(const CLI::App& command, const std::string& name) {
    return name.empty() ? nullptr : command.get_option_no_throw(name);
}

/// "--gpu GPU", or "GPU" for a positional: as help names it.
std::string shown_name(const CLI::App& command, const std::string& name) {
    const CLI::Option* option = option_named(command, name);
    const OptionDoc* doc = option == nullptr ? nullptr : find_option_doc(*option, command_name(command));
    if (doc == nullptr || doc->value.empty()) return name;
    return name.starts_with('-') ? fmt::format("{} {}", name, doc->value) : std::string(doc->value);
}

/// A value that is no number: "1e3" is a whole number to people, though not to an option.
ErrorDetail not_a_number(const CLI::App& command, const std::string& text) {
    const auto equals = text.rfind(" = "), name = std::min(text.find(": "), equals);
    if (equals == std::string::npos || name == equals) return {.what = printable(text)};
    const std::string key = text.substr(name + 2, equals - name - 2), word = text.substr(equals + 3);
    const CLI::Option* option = option_named(command, key);
    const bool fraction = option != nullptr && option->get_type_name().starts_with("FLOAT");
    ErrorDetail detail{.what = fraction ? "a number is needed" : "a whole number is needed", .key = key, .found = word};
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    constexpr double largest = 1e15;
    const bool whole = end != word.c_str() && *end == '\0' && std::abs(value) < largest && value == std::floor(value);
    if (whole && !fraction) detail.suggestion = fmt::format("did you mean {:.0f}?", value);
    return detail;
}

/// A value outside the choices that the parser knows: "--format: xml not in {table,json,csv}".
std::optional<ErrorDetail> not_a_choice(const CLI::App& command, const std::string& text) {
    const auto colon = text.find(": "), outside = text.rfind(" not in {");
    if (colon == std::string::npos || outside == std::string::npos || outside < colon) return std::nullopt;
    const std::string key = text.substr(0, colon), word = text.substr(colon + 2, outside - colon - 2);
    const CLI::Option* option = option_named(command, key);
    if (option == nullptr) return std::nullopt;
    const std::vector<std::string> choices = choices_of(*option, nullptr);
    return ErrorDetail{.what = "unknown value",
                       .key = key,
                       .found = word,
                       .expected = fmt::format("{}", fmt::join(choices, ", ")),
                       .suggestion = did_you_mean(word, choices)};
}

/// A value outside the range that the parser knows: "--folds: Value 300 not in range 0 to 100".
std::optional<ErrorDetail> not_in_range(const std::string& text) {
    const std::string before = ": Value ", after = " not in range ", to = " to ";
    const auto value = text.find(before), range = text.find(after);
    if (value == std::string::npos || range == std::string::npos) return std::nullopt;
    std::string limits = text.substr(range + after.size());
    // The largest number of the type has three hundred digits.
    constexpr std::size_t longest = 40;
    limits = limits.size() > longest ? "0 or more" : "a number from " + limits;
    return ErrorDetail{.what = "out of range",
                       .key = text.substr(0, value),
                       .found = text.substr(value + before.size(), range - value - before.size()),
                       .expected = limits};
}

/// What is missing on the command line.
ErrorDetail missing(const CLI::App& command, const std::string& text) {
    if (text == "A subcommand is required") {
        std::vector<std::string> names;
        for (const CLI::App* inner : shown_subcommands(command)) names.push_back(inner->get_name());
        return {.what = command.get_parent() == nullptr ? "a command is required" : "a subcommand is required",
                .key = command_name(command),
                .expected = fmt::format("{}", fmt::join(names, ", "))};
    }
    const std::string name = text.substr(0, text.find(" is required"));
    return {.what = shown_name(command, name) + " is required"};
}

/// Too few or too many values.
ErrorDetail mismatch(const CLI::App& command, const std::string& text) {
    const auto colon = text.find(": ");
    const std::string key = text.substr(0, std::min(colon, text.find(" was given")));
    if (text.ends_with(" missing")) return {.what = "a value is missing", .key = key, .expected = shown_name(command, key)};
    if (text.ends_with("disallowed flag override")) return {.what = "this option takes no value", .key = key};
    const auto most = text.find("At Most "), received = text.find(" received ");
    if (colon == std::string::npos || most == std::string::npos || received == std::string::npos) return {.what = printable(text)};
    return {.what = "too many values", .key = shown_name(command, key), .found = text.substr(received + 10), .expected = "one"};
}

/// Options that `word`, which stands alone, may belong behind: `--data` for rows, `--search` of lists, else those that the command needs.
std::string options_for(const CLI::App& command, const std::string& word) {
    if (word.ends_with(".csv") && option_named(command, "--data") != nullptr) return fmt::format("--data {}", shell_word(word));
    if (option_named(command, "--search") != nullptr) return fmt::format("--search {}", shell_word(word));
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_required() && !option->get_positional()) names.push_back(shown_name(command, option->get_name()));
    }
    return names.empty() ? std::string{} : fmt::format("{}", fmt::join(names, " "));
}

/// A word that the parser had no use for.
ErrorDetail unknown_word(const CLI::App& app, const CLI::App& command, const std::string& word) {
    const bool parent = !shown_subcommands(command).empty();
    ErrorDetail detail{.what = word.starts_with('-') ? "unknown option"
                               : &command == &app    ? "unknown command"
                               : parent              ? "unknown subcommand"
                                                     : "unexpected argument",
                       .found = word,
                       .suggestion = meant(command, word)};
    if (word.starts_with('-') || &command == &app) return detail;
    detail.expected = parent ? fmt::format("{}", fmt::join(known_names(command, word), ", ")) : options_for(command, word);
    return detail;
}

ErrorDetail detail_of(const CLI::App& app, const CLI::App& command, const CLI::ParseError& e) {
    const auto left = app.remaining(true);
    const std::string text = e.what();
    if (!left.empty()) return unknown_word(app, command, left.front());
    if (dynamic_cast<const CLI::ConversionError*>(&e) != nullptr) return not_a_number(command, text);
    if (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr && text.ends_with(" is required")) return missing(command, text);
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&e) != nullptr) return mismatch(command, text);
    if (auto detail = not_a_choice(command, text)) return *detail;
    if (auto detail = not_in_range(text)) return *detail;
    return {.what = printable(text)};
}

void refuse_leading_zeros(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool attached = word.size() > 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;  // "-b010"
        std::string value = word.starts_with("--") ? word.substr(std::min(word.size(), word.find('=') + 1))
                            : attached             ? word.substr(2)
                                                   : word;
        if (value.starts_with('+') || value.starts_with('-')) value.erase(0, 1);
        const bool digits = std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
        if (value.size() < 2 || value.front() != '0' || !digits) continue;
        throw Error({.what = "a number has a leading zero",
                     .found = word,
                     .suggestion = fmt::format("write {}", value.substr(std::min(value.find_first_not_of('0'), value.size() - 1)))});
    }
}

void refuse_empty_values(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i], before = argv[i - 1];
        const bool inside = word.starts_with("--") && word.ends_with('=');
        if (!word.empty() && !inside) continue;
        throw Error({.what = "the value is empty",
                     .key = inside                    ? word.substr(0, word.size() - 1)
                            : before.starts_with('-') ? before
                                                      : "",
                     .suggestion = "give a value, or leave the option out"});
    }
}

}  // namespace

const CLI::App& chosen_command(const CLI::App& app) {
    const auto named = app.get_subcommands();
    return named.empty() ? app : chosen_command(*named.front());
}

void check_words(int argc, char** argv) {
    refuse_empty_values(argc, argv);
    refuse_leading_zeros(argc, argv);
}

ErrorDetail parse_error_detail(const CLI::App& app, const CLI::ParseError& e) {
    return detail_of(app, chosen_command(app), e);
}

std::string parse_error_text(const CLI::App& app, const CLI::ParseError& e) {
    const CLI::App& command = chosen_command(app);
    ErrorDetail detail = detail_of(app, command, e);
    if (!detail.suggestion.empty()) detail.suggestion += "; ";
    const std::string name = command_name(command);
    detail.suggestion += fmt::format("see roofcast {}{}--help", name, name.empty() ? "" : " ");
    return Error(detail).what();
}

}  // namespace roofcast::cli
