#pragma once
/// What fields of public structs are called where their values come from: options of a command line, keys of a file.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "roofcast/error.hpp"

namespace roofcast {

/// Another name of a field such as "parallel.tensor"; nullopt: it has none.
using FieldName = std::function<std::optional<std::string>(std::string_view field)>;

/// Whether other names stand between backquotes, as fields do.
enum class Backquotes { kept, dropped };

/// `text` with the other names of the fields that stand between backquotes in it. What has no other name stays as it is.
std::string with_field_names(std::string_view text, const FieldName& other_name, Backquotes backquotes);

/// The same for an error's texts, and the other name of its key unless it is one of a file. What was found stays: the user wrote it.
ErrorDetail with_field_names(ErrorDetail detail, const FieldName& other_name, Backquotes backquotes);

}  // namespace roofcast
