#include "document/table.hpp"

#include <doctest/doctest.h>

#include "document/text_table.hpp"

using namespace roofcast;

namespace {

Table example() {
    return {.title = "title",
            .columns = {{"name", "name"}, {"time_ms", "time ms", 3}},
            .rows = {{std::string("a, b"), 1.23456}, {std::string("é"), 12.0}}};
}

}  // namespace

TEST_CASE("a text table aligns text to the left and numbers to the right, counting characters and not bytes") {
    CHECK(as_text(example()) == "title\nname  time ms\n----  -------\na, b     1.23\né          12\n");
}

TEST_CASE("CSV quotes fields with commas and keeps numbers in full") {
    CHECK(as_csv(example()) == "name,time_ms\n\"a, b\",1.23456\né,12\n");
}

TEST_CASE("JSON carries the schema version first") {
    Report report;
    report.document["rows"] = as_json(example());
    const std::string text = json_text(report);
    CHECK(text.find("\"schema_version\": 2") < text.find("\"rows\""));
}

TEST_CASE("a number that is not finite is null in JSON and empty in CSV") {
    const Table table{.columns = {{"x", "x"}}, .rows = {{std::numeric_limits<double>::quiet_NaN()}}};
    CHECK(as_json(table).dump() == "[{\"x\":null}]");
    CHECK(as_csv(table) == "x\n\n");
}

TEST_CASE("cells that a terminal or a spreadsheet would obey are shown as text") {
    CHECK(csv_field("=1+2") == "'=1+2");
    CHECK(csv_field("=HYPERLINK(\"x\",\"y\")") == "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
    CHECK(csv_field("+cmd") == "'+cmd");
    CHECK(csv_field("-cmd") == "'-cmd");
    CHECK(csv_field("@SUM(A1)") == "'@SUM(A1)");
    for (const char* number : {"-1.5", "+2", "-1e-3", "1"}) CHECK(csv_field(number) == number);
    CHECK(csv_field("a=b") == "a=b");
    CHECK(csv_field("red \x1b[31m") == "red \\x1b[31m");
    const Table table{.title = "t\x1b[2J", .columns = {{"name", "name"}}, .rows = {{std::string("a\nb\x1b[31m")}, {-1.5}}};
    CHECK(as_csv(table) == "name\n\"a\nb\\x1b[31m\"\n-1.5\n");
    CHECK(as_text(table).find("a\\x0ab\\x1b[31m") != std::string::npos);
    CHECK(as_text(table).find('\x1b') == std::string::npos);
    Report report{.document = {{"name", "\xc2\x9b"}}, .tables = {}, .before = {"note \x1b[1m"}, .after = {}};
    CHECK(as_text(report) == "note \\x1b[1m\n");
    CHECK(json_text(report).find("\\u009b") != std::string::npos);
}
