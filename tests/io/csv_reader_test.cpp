#include "io/csv_reader.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"

using namespace roofcast;

namespace {

struct ReadRecord {
    int line;
    std::vector<std::string> fields;
    friend bool operator==(const ReadRecord&, const ReadRecord&) = default;
};

std::vector<ReadRecord> records(std::string_view text) {
    std::vector<ReadRecord> result;
    read_csv(text, "x.csv", [&](const CsvRecord& record) {
        result.push_back({record.line, {record.fields.begin(), record.fields.end()}});
    });
    return result;
}

}  // namespace

TEST_CASE("CSV records carry the line they begin on") {
    const std::vector<ReadRecord> expected{{1, {"a", "b"}}, {2, {"1", "2"}}, {4, {"3", "4"}}};
    CHECK(records("a,b\n1,2\n\n3,4\n") == expected);
    CHECK(records("a,b\r\n1,2\r\n\r\n3,4") == expected);
}

TEST_CASE("quoted fields hold commas, quotes and line ends") {
    const auto found = records("a,b\n\"x, y\",\"say \"\"so\"\"\"\n\"two\nlines\",2\nlast,3\n");
    REQUIRE(found.size() == 4);
    CHECK(found[1].fields == std::vector<std::string>{"x, y", "say \"so\""});
    CHECK(found[2].fields[0] == "two\nlines");
    CHECK(found[2].line == 3);
    CHECK(found[3].line == 5);
}

TEST_CASE("a byte order mark and comments at the top are passed over") {
    const auto found = records("\xEF\xBB\xBF# measured by \"someone\"\r\n# twice\na,b\n1,2\n");
    REQUIRE(found.size() == 2);
    CHECK(found[0] == ReadRecord{3, {"a", "b"}});
    CHECK(found[1] == ReadRecord{4, {"1", "2"}});
}

TEST_CASE("an open quote is an error with its line") {
    try {
        records("a,b\n1,\"2\n3,4\n");
        FAIL("no error");
    } catch (const Error& e) {
        CHECK(e.detail().file == "x.csv");
        CHECK(e.detail().line > 0);
    }
}

TEST_CASE("what the receiver throws reaches the caller") {
    CHECK_THROWS_AS(read_csv("a\n1\n", "x.csv", [](const CsvRecord&) { throw Error({.what = "enough"}); }), Error);
}

TEST_CASE("text in UTF-16 is refused by its name") {
    using namespace std::string_view_literals;
    for (const std::string_view text : {"\xFF\xFE\x61\x00"sv, "\xFE\xFF\x00\x61"sv}) {
        CHECK_THROWS_WITH_AS(static_cast<void>(records(text)), doctest::Contains("UTF-16"), Error);
    }
}
