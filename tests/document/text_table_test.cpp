#include "document/text_table.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "document/condensed.hpp"
#include "document/markdown.hpp"
#include "roofcast/error.hpp"

using namespace roofcast;

namespace {

std::size_t widest_line(const std::string& text) {
    std::istringstream lines(text);
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, text_width(line));
    return widest;
}

/// Three columns of 10 and one of 40 characters.
Table wide_table(std::size_t rows) {
    Table table{.title = "Figures",
                .columns = {{"name", "name", Show::always},
                            {"first", "first"},
                            {"second", "second", Show::wide},
                            {"why", "why", Show::usual, true}},
                .rows = {}};
    for (std::size_t r = 0; r < rows; ++r)
        table.rows.push_back({std::string("abcdefghi") + std::to_string(r), 1234567890.0 + static_cast<double>(r), 1.5,
                              std::string("ten words of five letters each make a long text")});
    return table;
}

}  // namespace

TEST_CASE("a table without a width prints every column in one line a row") {
    const std::string text = as_text(wide_table(2));
    CHECK(text.find("second") != std::string::npos);
    CHECK(text.find("+ ") == std::string::npos);
}

TEST_CASE("a table that does not fit wraps long text first, then folds the columns of least priority and says so") {
    // name 10, first 10, second 6, why 16 with three gaps of two: 48.
    const std::string wrapped_text = as_text(wide_table(2), {.width = 48});
    CHECK(widest_line(wrapped_text) <= 48);
    CHECK(wrapped_text.find("second") != std::string::npos);
    CHECK(wrapped_text.find("+ ") == std::string::npos);
    // One column less: `second` goes, as Show::wide does before Show::usual.
    const std::string folded = as_text(wide_table(2), {.width = 46, .more = ": more"});
    CHECK(widest_line(folded) <= 46);
    CHECK(folded.find("second") == std::string::npos);
    CHECK(folded.find("first") != std::string::npos);
    CHECK(folded.find("+ 1 column: more") != std::string::npos);
}

TEST_CASE("no width from 40 to 120 is exceeded") {
    for (std::size_t width = 40; width <= 120; ++width) {
        CAPTURE(width);
        CHECK(widest_line(as_text(wide_table(3), {.width = width})) <= width);
        CHECK(widest_line(as_text(wide_table(1), {.width = width})) <= width);
    }
}

TEST_CASE("a single row that does not fit becomes a card with all its columns") {
    const std::string text = as_text(wide_table(1), {.width = 40});
    CHECK(text.find("second  1.5") != std::string::npos);
    CHECK(text.find("+ ") == std::string::npos);
}

TEST_CASE("settings that all rows share are said once, and empty columns are left out") {
    const Table table{.title = {},
                      .columns = {{"gpu", "GPU"}, {"batch", "batch", Show::setting}, {"none", "none"}, {"key", "key", Show::data}},
                      .rows = {{std::string("a"), std::int64_t{8}, {}, 1.0}, {std::string("b"), std::int64_t{8}, {}, 2.0}}};
    CHECK(as_text(table) == "in every row: batch 8\nGPU\n---\na\nb\n");
    CHECK(as_markdown(table) == "In every row: batch 8.\n\n| GPU |\n| --- |\n| a |\n| b |\n");
    CHECK(as_csv(table) == "gpu,batch,none,key\na,8,,1\nb,8,,2\n");
}

TEST_CASE("colors mark cells by what they say") {
    const auto tone = [](const Cell& cell) { return std::get<bool>(cell) ? Tone::plain : Tone::bad; };
    const Table table{.title = {}, .columns = {{"fits", "fits", Show::always, false, tone}}, .rows = {{true}, {false}}};
    CHECK(as_text(table, {.color = true}) == "fits\n----\nyes\n\x1b[31mno\x1b[0m\n");
    CHECK(as_text(table).find('\x1b') == std::string::npos);
}

TEST_CASE("text wraps between words, and within words that are too long") {
    CHECK(wrapped("one two three", 8, 2) == "one two\n  three");
    CHECK(wrapped("abcdefghij", 4, 0) == "abcd\nefgh\nij");
    CHECK(wrapped("short", 0, 2) == "short");
    CHECK(wrapped("one two three four", 6, 30) == "one\n   two\n   thr\n   ee\n   fou\n   r");
    CHECK(wrapped("caf\u00e9 au lait", 7, 0) == "caf\u00e9 au\nlait");
}

TEST_CASE("columns are chosen by key, and an unknown one names those that there are") {
    CHECK(as_csv(with_columns(wide_table(1), {"second", "name"})) == "second,name\n1.5,abcdefghi0\n");
    CHECK_THROWS_WITH_AS(static_cast<void>(with_columns(wide_table(1), {"secnd"})), doctest::Contains("did you mean second?"), Error);
}

TEST_CASE("facts stand between the lines before and the tables, values in a column of their own") {
    Report report;
    report.before = {"headline"};
    report.facts = {{"latency", "2 s"}, {"bound by", "dram"}};
    CHECK(as_text(report) == "headline\n\nlatency   2 s\nbound by  dram\n");
    CHECK(as_markdown(report) == "## headline\n\n- **latency**: 2 s\n- **bound by**: dram\n");
}

TEST_CASE("Markdown keeps what its own marks would change") {
    const Table table{.title = {}, .columns = {{"shape", "a|b"}}, .rows = {{std::string("x*y_z")}}};
    CHECK(as_markdown(table) == "| a\\|b |\n| --- |\n| x\\*y\\_z |\n");
}
