#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::TemporaryFile;

namespace {

constexpr const char* one_bad_row =
    "gpu,op,precision,rows,cols,latency_us\n"
    "t4,softmax,fp32,1024,1024,60\n"
    "t4,softmax,fp32,1024,,60\n";

}  // namespace

TEST_CASE("validate prints accuracy by the keys asked for") {
    const TemporaryFile file("rows.csv", one_bad_row);
    const auto result = roofcast::test::roofcast("validate --format json --by op,source --data " + file.path().string());
    REQUIRE(result.exit_code == 0);
    const json document = json::parse(result.output);
    CHECK(document["overall"]["rows"] == 1);
    CHECK(document["overall"]["skipped"] == 1);
    CHECK(document["groups"][0]["op"] == "softmax");
    CHECK(document["groups"][0].contains("source"));
    CHECK_FALSE(document["groups"][0].contains("gpu"));
    CHECK(document["skipped"][0]["line"] == 3);
}

TEST_CASE("validate --strict fails on a row that cannot be used") {
    const TemporaryFile file("rows.csv", one_bad_row);
    const auto result = roofcast::test::roofcast("validate --strict --data " + file.path().string(), true);
    CHECK(result.exit_code == 2);
    CHECK(contains(result.output, "cols is missing"));
}

TEST_CASE("validate refuses what it does not know") {
    CHECK(roofcast::test::roofcast("validate --by colour", true).exit_code == 2);
    CHECK(roofcast::test::roofcast("validate --gpu no-such-gpu", true).exit_code == 2);
    CHECK(roofcast::test::roofcast("validate --data no-such-file.csv", true).exit_code == 2);
}

TEST_CASE("validate without --data judges the shipped rows of one GPU") {
    const auto result = roofcast::test::roofcast("validate --format json --gpu t4 --op elementwise");
    REQUIRE(result.exit_code == 0);
    const json document = json::parse(result.output);
    REQUIRE(document["groups"].size() == 1);
    CHECK(document["groups"][0]["gpu"] == "t4");
    CHECK(document["groups"][0]["rows"] == 440);
    CHECK(document["groups"][0]["roofline_mape_percent"].is_number());
    CHECK(document["groups"][0]["coverage_percent"].get<double>() > 0);
}
