#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

namespace fs = std::filesystem;
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

TEST_CASE("validate names a broken profile or fit, and skips the rows of GPUs that have none") {
    const TemporaryFile rows("rows.csv",
                             "gpu,op,precision,rows,cols,latency_us\nt4,softmax,fp32,1024,1024,60\nno-such-gpu,softmax,fp32,8,8,60\n");
    const fs::path data = rows.path().parent_path() / "data";
    const auto judge = [&](const char* spoilt, const char* line, bool errors) {
        fs::remove_all(data);
        fs::create_directories(data / "validation_data");
        fs::copy(roofcast::test::gpus_dir(), data / "gpus", fs::copy_options::recursive);
        fs::copy(roofcast::test::models_dir(), data / "models", fs::copy_options::recursive);
        fs::copy(roofcast::test::source_dir() / "validation_data" / "host_launch.toml", data / "validation_data");
        std::ofstream(data / "gpus" / spoilt, std::ios::app) << line;
        return roofcast::test::roofcast("validate --data-dir " + data.string() + " --data " + rows.path().string(), errors);
    };
    const auto sound = judge("t4.toml", "", false);
    CHECK(sound.exit_code == 0);
    CHECK(contains(sound.output, "1 rows judged, 0 set aside as impossible, 1 skipped"));
    for (const char* spoilt : {"t4.toml", "arch/turing.toml", "t4.fit.toml"}) {
        CAPTURE(spoilt);
        const auto broken = judge(spoilt, "\n[no_such_table]\nkey = 1\n", true);
        CHECK(broken.exit_code == 2);
        CHECK(contains(broken.output, spoilt));
        CHECK(contains(broken.output, "no_such_table"));
    }
}
