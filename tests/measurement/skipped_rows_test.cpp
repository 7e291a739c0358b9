#include "roofcast/skipped_rows.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/measurement.hpp"

using namespace roofcast;

TEST_CASE("equal reasons are one, with the number of rows and the place of the first") {
    SkippedRows skipped;
    skipped.add("a.csv", 3, "n is missing");
    skipped.add("a.csv", 4, "m is missing");
    skipped.add("b.csv", 9, "n is missing");
    CHECK(skipped.rows() == 3);
    REQUIRE(skipped.reasons().size() == 2);
    CHECK(skipped_text(skipped.reasons()[0]) == "2 rows (first: a.csv:3): n is missing");
    CHECK(skipped_text(skipped.reasons()[1]) == "1 row (a.csv:4): m is missing");
    SkippedRows others;
    others.add("c.csv", 1, "m is missing", 5);
    skipped.add(others);
    CHECK(skipped.rows() == 8);
    CHECK(skipped.by_rows().front().reason == "m is missing");
    CHECK(skipped.by_rows().front().rows == 6);
}

TEST_CASE("what is kept of reasons is bounded in number and length, and no row is lost") {
    SkippedRows skipped;
    for (int i = 0; i < 5000; ++i) skipped.add("a.csv", i, "value " + std::to_string(i) + std::string(10'000, 'x'));
    CHECK(skipped.rows() == 5000);
    CHECK(skipped.reasons().size() == SkippedRows::most_reasons + 1);
    CHECK(skipped.reasons().back().rows == 5000 - static_cast<std::int64_t>(SkippedRows::most_reasons));
    for (const SkippedReason& reason : skipped.reasons()) CHECK(reason.reason.size() <= 303);  // and an ellipsis of three bytes
}

TEST_CASE("a million bad rows of a file are counted in seconds") {
    std::string text = "gpu,op,precision,m,n,k,latency_us\n";
    for (int i = 0; i < 1'000'000; ++i) text += "x\n";
    const Measurements found = read_measurements_text(text, "bad.csv");
    REQUIRE(found.skipped.reasons().size() == 1);
    CHECK(skipped_text(found.skipped.reasons()[0]) == "1000000 rows (first: bad.csv:2): the row has 1 fields, the header 7");
}

TEST_CASE("a long file of nothing but bad rows is given up, one with a row that can be used is not") {
    const std::string header = "gpu,op,precision,m,n,k,latency_us\n", bad = "t4,gemm,fp16,,64,64,9\n";
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += bad;
    CHECK_THROWS_WITH_AS(read_measurements_text(header + text, "bad.csv"),
                         doctest::Contains("bad.csv:100001: none of the first 100000 rows can be used; found m is missing"), Error);
    const Measurements found = read_measurements_text(header + "t4,gemm,fp16,64,64,64,9\n" + text, "long.csv");
    CHECK(found.kernels.size() == 1);
    CHECK(found.skipped.rows() == 100'000);
}
