#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::TemporaryFile;

namespace {

constexpr const char* two_modes = R"({
    "eager":    {"latency_ms": {"mean": 10, "std": 2,   "median": 10}},
    "compiled": {"latency_ms": {"mean": 8,  "std": 0.1, "median": 8}}})";

}  // namespace

TEST_CASE("bench summarize prints this table") {
    const TemporaryFile file("modes.json", two_modes);
    const auto result = roofcast::test::roofcast("bench summarize " + file.path().string());
    REQUIRE(result.exit_code == 0);
    CHECK(result.output ==
          "in every row: metric latency_ms\n"
          "work  mode      mean  std  median  variation %  relative ×  fastest  high variance\n"
          "----  --------  ----  ---  ------  -----------  ----------  -------  -------------\n"
          "      eager       10    2      10           20           1  no       yes\n"
          "      compiled     8  0.1       8         1.25        1.25  yes      no\n"
          "\n"
          "High variance: 1 series have a standard deviation above 10 % of the typical value. Their differences may be noise.\n");
}

TEST_CASE("bench compare says who is faster by how much, in all three formats") {
    const TemporaryFile file("modes.json", two_modes);
    const std::string arguments = "bench compare --by mode " + file.path().string();
    CHECK(contains(roofcast::test::roofcast(arguments + " --columns contestant,change_percent").output, "compiled          25\n"));

    const json document = json::parse(roofcast::test::roofcast(arguments + " --format json").output);
    CHECK(document["schema_version"] == 2);
    CHECK(document["contestants"] == json({"eager", "compiled"}));
    CHECK(document["works"][1]["relative"] == 1.25);
    CHECK(document["works"][1]["fastest"] == true);
    CHECK(document["summaries"][1]["change_percent"] == 25.0);

    const auto csv = roofcast::test::roofcast(arguments + " --format csv").output;
    CHECK(contains(csv, "work,metric,contestant,count,mean,std,min,max,median,p95,p99,variation_percent,relative,change_percent,fastest,"));
}

TEST_CASE("bench compare sets two measured GPUs side by side") {
    const auto kernels = roofcast::test::source_dir() / "validation_data/kernels/";
    const auto result = roofcast::test::roofcast("bench compare --format json " + (kernels / "t4_fp32_pytorch.csv").string() + " " +
                                                 (kernels / "p4_fp32_pytorch.csv").string());
    REQUIRE(result.exit_code == 0);
    const json document = json::parse(result.output);
    CHECK(document["also_differs"] == json({"gpu"}));
    CHECK(document["works"].size() > 100);
}

TEST_CASE("bench refuses what is no benchmark") {
    const TemporaryFile file("notes.txt", "hello\nworld\n");
    const auto result = roofcast::test::roofcast("bench summarize " + file.path().string(), true);
    CHECK(result.exit_code == 2);
    CHECK(contains(result.output, "no known benchmark format"));
    CHECK(roofcast::test::roofcast("bench summarize no-such-file.csv", true).exit_code == 2);
    CHECK(roofcast::test::roofcast("bench", true).exit_code == 2);
    CHECK(contains(roofcast::test::roofcast("bench sumarize x", true).output, "did you mean summarize"));
}
