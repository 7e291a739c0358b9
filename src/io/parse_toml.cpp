#include <fmt/format.h>

#include "io/text_file.hpp"
#include "io/toml_nesting.hpp"
#include "io/toml_reader.hpp"
#include "io/within_memory.hpp"

namespace roofcast {

namespace {

/// The text as a table that all may walk over by recursion. What nests deeper is freed where it was read.
toml::table parsed_toml(std::string_view text, const std::string& file) {
    constexpr std::size_t deepest = 32;
    try {
        toml::table root = toml::parse(text, file);
        if (const auto line = line_deeper_than(deepest, root))
            throw Error({.what = "tables and lists are nested too deeply", .file = file, .line = *line, .expected = "at most 32 levels"});
        return root;
    } catch (const toml::parse_error& e) {
        throw Error(
            {.what = fmt::format("not valid TOML: {}", e.description()), .file = file, .line = static_cast<int>(e.source().begin.line)});
    }
}

}  // namespace

toml::table parse_toml_file(const std::filesystem::path& file) {
    return parse_toml(read_text_file(file), file.string());
}

toml::table parse_toml(std::string_view text, const std::string& file) {
    constexpr std::size_t most = 1'000'000;  // of dots and brackets: the stack that they might need is reserved
    const std::size_t levels = most_levels(text);
    if (levels > most)
        throw Error({.what = "too many dots and brackets",
                     .file = file,
                     .found = std::to_string(levels),
                     .expected = fmt::format("at most {} of '.', '[' and '{{'", most),
                     .suggestion = "split the file"});
    toml::table root;
    within_memory(file, [&] { with_stack_for(levels, [&] { root = parsed_toml(text, file); }); });
    return root;
}

}  // namespace roofcast
