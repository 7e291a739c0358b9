#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "support/compare.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::printed;
using roofcast::test::refused;
using roofcast::test::rel;

namespace {

json answer(const std::string& options) {
    const json document = json::parse(printed("accuracy --format json " + options));
    REQUIRE(document["accuracy"].size() == 1);
    return document["accuracy"][0];
}

json of_work(const json& of, const std::string& work) {
    for (const json& error : of["errors"]) {
        if (error["work"] == work) return error;
    }
    FAIL("no error of " << work);
    return {};
}

}  // namespace

TEST_CASE("accuracy of a measured GPU is that of its fit, cross-validated") {
    double rows = 0, sum = 0;
    const json summary = json::parse(printed("calibrate --summary --format json"));
    for (const json& line : summary["accuracy"]) {
        if (line["gpu"] != "rtx-4090" || (line["op"] != "model_cnn" && line["op"] != "model_vit")) continue;
        rows += line["rows"].get<double>();
        sum += line["rows"].get<double>() * line["cross_validated_mape_percent"].get<double>();
    }
    REQUIRE(rows > 500);
    const json gpu = answer("--gpu rtx-4090");
    CHECK(gpu["fit"] == "own");
    const json vision = of_work(gpu, "vision");
    CHECK(vision["basis"] == "cross_validated");
    CHECK(vision["rows"].get<double>() == rel(rows, 0.01));
    CHECK(vision["mape_percent"].get<double>() == rel(sum / rows, 0.01));
}

TEST_CASE("accuracy of a GPU never measured is that of others left out of their fits") {
    const json gpu = answer("--gpu rtx-4080");
    CHECK(gpu["fit"] == "none");
    const json vision = of_work(gpu, "vision");
    CHECK(vision["basis"] == "architecture_left_out");
    CHECK(vision["of_architecture"] == "ada");
    CHECK(contains(printed("accuracy --gpu rtx-4080"), "Never measured. Predictions use the ada fit of"));
}

TEST_CASE("accuracy of a GPU that is in no fit has the rows that were measured on it") {
    const json gpu = answer("--gpu m3-max");
    CHECK(gpu["fit"] == "none");
    CHECK(gpu["fit_date"].is_null());
    CHECK(contains(printed("accuracy --gpu m3-max --model resnet50"), "Measured rows are in no fit"));
    bool found = false;
    for (const json& error : gpu["errors"]) {
        if (error["work"] != "llm_decode" || error["engine"].get<std::string>().empty()) continue;
        found = true;
        CHECK(error["of_gpu"] == "m3-max");
        CHECK(error["basis"] == "unseen");
    }
    CHECK(found);
}

TEST_CASE("accuracy of served loads keeps engines, TTFT and TPOT apart") {
    const json gpu = answer("--gpu h200 --model deepseek-v3 --software sglang");
    std::set<std::string> works;
    for (const json& error : gpu["errors"]) {
        if (!error["engine"].get<std::string>().empty() && error["models"].get<std::string>().empty()) CHECK(error["engine"] == "sglang");
        works.insert(error["work"]);
        CHECK(error["work"] != "vision");
        CHECK(error["work"] != "gemm");
    }
    CHECK(works.contains("serving_ttft"));
    CHECK(works.contains("serving_tpot"));
    CHECK(of_work(gpu, "serving_ttft")["of_gpu"] == "h200-sxm-141gb");
    CHECK(contains(printed("accuracy --gpu t4 --software vllm"), "No served load of t4 was measured."));
}

TEST_CASE("accuracy of several GPUs has a list of all, in JSON and CSV") {
    CHECK(json::parse(printed("accuracy --gpu t4,a100 --format json"))["accuracy"].size() == 2);
    const std::string csv = printed("accuracy --gpu t4 --gpu rtx-4090 --format csv");
    CHECK(csv.starts_with("gpu,work,engine,models,basis,of_gpu,"));
    CHECK(contains(csv, "\nt4,"));
    CHECK(contains(csv, "\nrtx-4090,"));
}

TEST_CASE("accuracy refuses unknown GPUs, models and engines") {
    CHECK(contains(refused("accuracy --gpu rtx-4091"), "rtx-4090"));
    CHECK(contains(refused("accuracy --gpu t4 --model resnet51"), "resnet50"));
    CHECK(contains(refused("accuracy --gpu t4 --software vlm"), "--software"));
    CHECK(contains(refused("accuracy"), "--gpu"));
}

TEST_CASE("accuracy of every shipped GPU fits 80 columns") {
    std::string gpus;
    const json list = json::parse(printed("gpu list --format json"));
    for (const json& gpu : list["gpus"]) gpus += (gpus.empty() ? "" : ",") + gpu["id"].get<std::string>();
    ::setenv("ROOFCAST_TEST_COLUMNS", "80", 1);
    for (const std::string& options :
         {"--gpu " + gpus, std::string("--gpu h100 --model llama-3.1-8b"), std::string("--gpu t4 --model resnet50")}) {
        std::istringstream text(printed("accuracy " + options));
        for (std::string line; std::getline(text, line);) {
            CAPTURE(line);
            CHECK(line.size() <= 80);
        }
    }
    ::unsetenv("ROOFCAST_TEST_COLUMNS");
}
