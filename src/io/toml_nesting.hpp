#pragma once
/// TOML of many levels. toml++ bounds lists and inline tables but not the parts of dotted keys, each of which becomes a table in a table,
/// and it walks over tables by recursion: a key of enough parts would exhaust the stack.

#include <toml++/toml.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace roofcast {

/// An upper bound of the levels of tables and lists in `text`: each takes a '.', a '[' or a '{' of its own, wherever these stand.
std::size_t most_levels(std::string_view text);

/// Calls `work` where the stack suffices for recursion of toml++ over `levels`: on a thread of its own where they are many. Passes on what
/// `work` throws. Throws std::bad_alloc when there is no memory for the stack.
void with_stack_for(std::size_t levels, const std::function<void()>& work);

/// The line on which a table or list begins that lies `deepest` or more levels below `root`; nullopt: none does.
std::optional<int> line_deeper_than(std::size_t deepest, const toml::table& root);

}  // namespace roofcast
