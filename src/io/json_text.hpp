#pragma once
/// Parsing of JSON, with every failure as an Error.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/within_memory.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

/// What the parser says, without its name for the error and the place in a line that may be the whole file.
inline std::string parser_message(std::string_view what) {
    for (const std::string_view before : {std::string_view("] "), std::string_view(": ")}) {
        if (const auto at = what.find(before); at != std::string_view::npos) what.remove_prefix(at + before.size());
    }
    return std::string(what);
}

/// `text` as a document: nlohmann::json, or ordered_json where the order of keys matters. `file` is the name that errors carry.
/// Throws Error when it is not JSON, holds a number beyond double, or nests so deep that a walk over it could exhaust the stack.
template <class Json>
Json parse_json(std::string_view text, const std::string& file) {
    constexpr int deepest = 256;  // as the parser of TOML has it
    const auto check_depth = [&file](int depth, typename Json::parse_event_t, const Json&) {
        if (depth > deepest)
            throw Error({.what = "lists and objects are nested too deeply", .file = file, .expected = "at most 256 levels"});
        return true;
    };
    try {
        return within_memory(file, [&] { return Json::parse(text, check_depth); });
    } catch (const typename Json::parse_error& e) {
        const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(e.byte, text.size()));
        const int line = 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
        throw Error({.what = "not valid JSON", .file = file, .line = line, .found = parser_message(e.what())});
    } catch (const typename Json::out_of_range& e) {
        throw Error({.what = "not valid JSON",
                     .file = file,
                     .found = parser_message(e.what()),
                     .expected = "numbers within the range of a double"});
    }
}

}  // namespace roofcast
