#pragma once
/// Strict reading of TOML tables: every key is asked for by type and range, and a key that nobody asked for is an error.

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/error.hpp"

namespace roofcast {

/// Parses a TOML file. Throws Error with the parser's line and message.
toml::table parse_toml_file(const std::filesystem::path& file);

/// The same for text; `file` is the name that errors carry.
toml::table parse_toml(std::string_view text, const std::string& file);

/// The value of a node that is a number; of whole numbers beyond 2^53, which the parser does not convert, the nearest.
double number_of(const toml::node& number);

/// Inclusive bounds of a number; both finite.
struct Range {
    double lower = -std::numeric_limits<double>::max(), upper = std::numeric_limits<double>::max();
    bool lower_is_open = false;  ///< lower itself is excluded
};
inline constexpr Range positive{0, std::numeric_limits<double>::max(), true};
inline constexpr Range non_negative{0};

/// Default upper bound of counts.
inline constexpr std::int64_t largest_whole = std::int64_t{1} << 40;

/// A view of one table. `base` (optional) is a second table whose keys stand in for those that `table` lacks: a variant over its
/// architecture.
class TableReader {
public:
    TableReader(const toml::table& table, std::string file, std::string prefix = {}, const toml::table* base = nullptr);

    [[nodiscard]] bool has(std::string_view key) const;

    /// Keys that will be asked for later: none of them is a misspelling of another. Only needed for names that differ by a letter or two.
    void expect(std::initializer_list<std::string_view> keys);

    // Required values: throw Error when absent, of another type or out of range. A key that nobody has asked for and that looks like the
    // absent one is taken for a misspelling of it.
    std::string text(std::string_view key);
    double number(std::string_view key, Range range = {});
    std::int64_t count(std::string_view key, std::int64_t lower = 1, std::int64_t upper = largest_whole);

    // Optional values: throw only when present and wrong.
    std::optional<std::string> text_if(std::string_view key);
    std::optional<double> number_if(std::string_view key, Range range = {});
    std::optional<std::int64_t> count_if(std::string_view key, std::int64_t lower = 1, std::int64_t upper = largest_whole);
    std::optional<bool> flag_if(std::string_view key);
    std::vector<std::string> texts_if(std::string_view key);
    std::vector<std::int64_t> counts_if(std::string_view key, std::int64_t lower, std::int64_t upper = largest_whole);
    std::vector<double> numbers_if(std::string_view key, Range range = {});

    /// Sub-table; an absent one reads as empty, unless its name is misspelt. `[key]` of `base` stands behind it.
    TableReader table(std::string_view key);
    /// Array of tables `[[key]]`; absent: none. Each must be finished by the caller.
    std::vector<TableReader> tables(std::string_view key);
    /// The same, each over this table: keys that it lacks are this one's.
    std::vector<TableReader> variants(std::string_view key);
    /// Array of strings or tables, mixed, for compact layer lists: the raw node, or nullptr.
    const toml::node* node(std::string_view key);

    /// Names of all keys of this table (not of base), for tables with free keys.
    [[nodiscard]] std::vector<std::string> keys() const;

    /// Throws Error when the table has a key that was never asked for, with the nearest known key.
    void finish() const;
    /// As finish, and the same for the keys of `base`: when every key of both was meant for this reader.
    void finish_with_base() const;

    /// An error about `key` of this table, with its line.
    [[nodiscard]] Error error(std::string_view key, std::string what, std::string found = {}, std::string expected = {},
                              std::string suggestion = {}) const;
    /// Error for a missing required `key`, or for a misspelt one if an unread key resembles it.
    [[nodiscard]] Error missing(std::string_view key, std::string expected = {}, std::string suggestion = {}) const;
    /// An error about a key not asked for so far that looks like `key`; nullopt when there is none.
    [[nodiscard]] std::optional<Error> misspelt(std::string_view key) const;
    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] int line() const;  ///< of the table's header

private:
    const toml::node* find(std::string_view key);
    void finish(const toml::table& table) const;
    [[nodiscard]] const toml::node& require(std::string_view key);
    [[nodiscard]] Error unknown_key(const toml::key& written, std::string_view meant) const;
    void refuse_misspelt_table(std::string_view key) const;
    [[nodiscard]] std::string dotted(std::string_view key) const;

    const toml::table* table_;
    const toml::table* base_;
    std::string file_, prefix_;
    std::set<std::string, std::less<>> asked_;
};

}  // namespace roofcast
