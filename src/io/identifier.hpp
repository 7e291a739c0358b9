#pragma once
/// Ids of profiles, models and engines: `[a-z0-9][a-z0-9._-]*`. Files are named after them, so that they can be no path.

#include <string>
#include <string_view>

#include "roofcast/error.hpp"

namespace roofcast {

class TableReader;

/// `text` with ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// `name` as look-ups compare it: lower case, without spaces, hyphens and underscores.
std::string folded_name(std::string_view name);

bool is_identifier(std::string_view text);

/// `text`, which stands at `key` of `table`. Throws Error with file, line and key when it is no id.
std::string required_identifier(const TableReader& table, std::string_view key, std::string text);

/// An id made of a name: lower case, a hyphen for each run of other characters. Empty where nothing is left.
std::string identifier_of(std::string_view name);

}  // namespace roofcast
