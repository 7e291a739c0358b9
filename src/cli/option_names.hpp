#pragma once
/// The library names fields of its structs, between backquotes in running text; users of the command line know options.

#include <span>
#include <string>
#include <string_view>

#include "document/table.hpp"
#include "roofcast/error.hpp"

namespace CLI {
class App;
}

namespace roofcast::cli {

/// A field, or a parameter of a function, and the option that sets it in every command that has this option.
struct FieldOption {
    std::string_view field, option;
};

/// All that texts of the library name.
std::span<const FieldOption> field_options();

/// `text` with options in place of the fields that `command` has options for. Others stay, between their backquotes.
std::string with_options(std::string_view text, const CLI::App& command);

/// The same of an error: its key, unless it is one of a file, and its texts.
ErrorDetail with_options(ErrorDetail detail, const CLI::App& command);

/// The same of all cells that are text.
Table with_options(Table table, const CLI::App& command);

/// The same of all lines, tables and strings of the document; its keys stay.
Report with_options(Report report, const CLI::App& command);

}  // namespace roofcast::cli
