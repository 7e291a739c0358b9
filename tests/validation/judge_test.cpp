#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "document/text_table.hpp"
#include "report/data_reports.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

/// Three kernel rows (one of an unknown GPU, one impossible), two model rows, one unreadable row.
constexpr const char* rows_text =
    "gpu,op,model,precision,m,n,k,latency_us,batch,metric,value,source,phase\n"
    "v100-pcie-32gb,gemm,,fp32,4096,4096,4096,10500,,,,lab,\n"
    "no-such-gpu,gemm,,fp32,4096,4096,4096,10500,,,,lab,\n"
    "v100-pcie-32gb,gemm,,fp32,4096,4096,4096,100,,,,other,\n"
    "v100-pcie-32gb,,net,fp32,,,,,8,latency_ms,20,lab,forward\n"
    "v100-pcie-32gb,,unknown,fp32,,,,,8,latency_ms,20,lab,forward\n"
    "v100-pcie-32gb,gemm,,fp32,4096,,4096,10500,,,,lab,\n";

struct Judged {
    Gpu gpu{load_gpu(test::gpus_dir(), "v100-pcie-32gb")};
    std::function<const Gpu*(const std::string&)> find = [this](const std::string& id) { return id == gpu.profile.id ? &gpu : nullptr; };
    Measurements measurements = read_measurements_text(rows_text, "rows.csv");
    Validation validation = judge(
        measurements, {.gpu = find, .host_launch = {}, .model = [](const ModelRow& row, const Gpu&) {
                           if (row.model != "net") throw Error({.what = "no such model"});
                           return ModelEstimate{.predicted = 15, .roofline = 10, .terms = PredictedTerms{.host = 7 * us, .bound = "host"}};
                       }});
    Judged() = default;
    Judged(const Judged&) = delete;
    Judged& operator=(const Judged&) = delete;
};

}  // namespace

TEST_CASE("every row is judged, set aside or skipped with a reason") {
    const Judged judged;
    const auto& v = judged.validation;
    REQUIRE(v.rows.size() == 2);
    CHECK_FALSE(v.rows[0].is_model);
    CHECK(v.rows[0].measured == rel(10500, 1e-12));
    // 2 · 4096³ FLOP at the data sheet's 14.13 TFLOP/s (80 SMs, 64 CUDA cores, 1380 MHz) take 9.7 ms.
    REQUIRE(v.rows[0].roofline);
    CHECK(*v.rows[0].roofline == rel(9727, 0.02));
    CHECK(v.rows[0].predicted >= *v.rows[0].roofline);
    CHECK(v.rows[1].is_model);
    CHECK(v.rows[1].ape_percent() == rel(25, 1e-12));  // 15 against 20
    REQUIRE(v.impossible.size() == 1);
    CHECK(judged.measurements.kernels[v.impossible[0].index].origin.line == 4);
    REQUIRE(v.skipped.rows() == 3);
    CHECK(v.skipped.reasons()[0].line == 7);
    CHECK(v.skipped.reasons()[0].reason == "n is missing");
    CHECK(v.skipped.reasons()[1].reason == "unknown GPU 'no-such-gpu'");
    CHECK(v.skipped.reasons()[2].reason == "no such model");
}

TEST_CASE("model rows that beat their limit are set aside and listed") {
    Judged judged;
    const auto v = judge(judged.measurements, {.gpu = judged.find, .host_launch = {}, .model = [](const ModelRow&, const Gpu&) {
                                                   return ModelEstimate{.predicted = 15, .roofline = 10, .limit = 25};
                                               }});
    REQUIRE(v.impossible.size() == 3);
    CHECK(v.impossible[1].is_model);
    CHECK(v.impossible[1].limit == 25);
    const std::string text = as_text(validation_report(v, judged.measurements, {}));
    CHECK(text.find("1 rows judged, 3 set aside as impossible, 2 skipped") != std::string::npos);
    CHECK(text.find("net batch=8") != std::string::npos);
}

TEST_CASE("model rows are skipped when nothing predicts them") {
    Judged judged;
    const auto v = judge(judged.measurements, {.gpu = judged.find, .host_launch = {}, .model = {}});
    CHECK(v.rows.size() == 1);
    CHECK(v.skipped.reasons().back().reason == "no predictor of whole models");
}

TEST_CASE("groups carry the keys asked for and the roofline beside ours") {
    const Judged judged;
    const auto groups = group_by(judged.validation, judged.measurements, {GroupKey::op, GroupKey::model});
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].values == std::vector<std::string>{"gemm", ""});
    CHECK(groups[1].values == std::vector<std::string>{"model", "net"});
    CHECK(groups[1].ours.mape_percent == rel(25, 1e-12));
    CHECK(groups[1].ours.bias_percent == rel(-25, 1e-12));
    CHECK(groups[1].roofline.mape_percent == rel(50, 1e-12));  // 10 against 20
    CHECK(overall(judged.validation).ours.rows == 2);
}

TEST_CASE("unknown group keys are refused with the nearest name") {
    CHECK(parse_group_key("software") == GroupKey::software);
    CHECK(name(GroupKey::execution) == "execution");
    try {
        parse_group_key("modle");
        FAIL("no error");
    } catch (const Error& e) {
        CHECK(e.detail().suggestion == "did you mean model?");
    }
}

TEST_CASE("worst rows come largest error first") {
    Validation v;
    for (const double predicted : {110.0, 50.0, 300.0, 50.0}) v.rows.push_back({false, v.rows.size(), 100, predicted, {}});
    CHECK(worst_rows(v, 3) == std::vector<std::size_t>{2, 1, 3});
    CHECK(worst_rows(v, 10).size() == 4);
}

TEST_CASE("the JSON report has the documented keys") {
    const Judged judged;
    const auto report = validation_report(judged.validation, judged.measurements, {});
    const auto document = nlohmann::json::parse(json_text(report));
    CHECK(document["schema_version"] == 2);
    CHECK(document["overall"]["rows"] == 2);
    CHECK(document["overall"]["skipped"] == 3);
    CHECK(document["overall"]["impossible"] == 1);
    for (const char* key :
         {"mape_percent", "median_ape_percent", "p90_ape_percent", "bias_percent", "accuracy_percent", "roofline_mape_percent"}) {
        CHECK(document["overall"][key].is_number());
        CHECK(document["groups"][0][key].is_number());
    }
    REQUIRE(document["groups"].size() == 2);
    CHECK(document["groups"][1]["op"] == "model");
    CHECK(document["groups"][1]["gpu"] == "v100-pcie-32gb");
    CHECK(document["groups"][1]["precision"] == "fp32");
    REQUIRE(document["skipped"].size() == 3);
    CHECK(document["skipped"][0]["rows"] == 1);
    CHECK(document["skipped"][0]["file"] == "rows.csv");
    CHECK(document["skipped"][0]["line"] == 7);
    CHECK(document["skipped"][0]["reason"] == "n is missing");
    REQUIRE(document["impossible"].size() == 1);
    CHECK(document["impossible"][0]["line"] == 4);
    CHECK(document["worst"].size() == 2);
}

TEST_CASE("rows are grouped by what bounds their prediction, and the worst show its terms") {
    const Judged judged;
    const auto groups = group_by(judged.validation, judged.measurements, {parse_group_key("bound")});
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].values[0] == "host");
    CHECK(groups[1].values[0] == "power");
    const auto document = nlohmann::json::parse(json_text(validation_report(judged.validation, judged.measurements, {})));
    CHECK(document["worst"][0]["op"] == "model");
    CHECK(document["worst"][0]["host_us"] == 7);
    CHECK(document["worst"][0]["bound"] == "host");
    CHECK(document["worst"][1]["compute_us"].get<double>() > 9000);
}

TEST_CASE("a report of no rows has nulls, not numbers") {
    const auto report = validation_report({}, {}, {});
    const auto document = nlohmann::json::parse(json_text(report));
    CHECK(document["overall"]["rows"] == 0);
    CHECK(document["overall"]["mape_percent"].is_null());
    CHECK(document["groups"].empty());
}

TEST_CASE("the rows file has a line for every judged row, with as many fields as its header") {
    const Judged judged;
    const std::string text = rows_csv(judged.validation, judged.measurements);
    std::istringstream lines(text);
    std::string line;
    std::vector<std::ptrdiff_t> commas;
    while (std::getline(lines, line)) commas.push_back(std::count(line.begin(), line.end(), ','));
    REQUIRE(commas.size() == 3);
    CHECK(commas[1] == commas[0]);
    CHECK(commas[2] == commas[0]);
    CHECK(text.find(",0,0,0,0,0,0,7,host,,,") != std::string::npos);  // the model's terms, its host's last
    CHECK(text.find(",0,,power,excluded,") != std::string::npos);
}

TEST_CASE("coverage is the fraction of rows within their interval") {
    Validation v;
    // 10 lies within 9 to 11, 12 does not; the third row has no interval and does not count.
    v.rows = {{false, 0, 10, 10, std::nullopt, 9, 11}, {false, 0, 12, 10, std::nullopt, 9, 11}, {false, 0, 12, 10, std::nullopt}};
    REQUIRE(overall(v).coverage_percent);
    CHECK(*overall(v).coverage_percent == rel(50, 1e-12));
    v.rows.erase(v.rows.begin(), v.rows.begin() + 2);
    CHECK_FALSE(overall(v).coverage_percent);
}

TEST_CASE("a kernel row carries the interval of its operator") {
    Judged judged;
    judged.gpu.parameters.intervals = {{.op = "gemm", .rows = 9, .lower = -0.1, .upper = 0.2, .provenance = Provenance::gpu_fit}};
    const Validation v = judge(judged.measurements, {.gpu = judged.find, .host_launch = {}, .model = {}});
    REQUIRE(v.rows.size() == 1);
    CHECK(*v.rows[0].low == rel(v.rows[0].predicted * std::exp(-0.1), 1e-12));
    CHECK(*v.rows[0].high == rel(v.rows[0].predicted * std::exp(0.2), 1e-12));
}

TEST_CASE("rows of an engine's all-reduce are judged with its library, and not where they hold an unknown host's launches") {
    constexpr const char* text =
        "gpu,op,kernel,precision,gpus,bytes,latency_us,software,source,launch\n"
        "h200-sxm-141gb,all_reduce,trtllm,bf16,8,16384,3.8,trtllm 1.3.0,lab,excluded\n"
        "h200-sxm-141gb,all_reduce,,bf16,8,16384,17.8,nccl,lab,excluded\n"
        "h200-sxm-141gb,all_reduce,vllm_custom_eager,bf16,8,16384,35,vllm 0.24.0,lab,included\n";
    Measurements measurements = read_measurements_text(text, "rows.csv");
    mark_rows(load_software(test::software_dir()), {}, measurements.kernels);
    CHECK(measurements.kernels[0].library != nullptr);
    CHECK(measurements.kernels[1].library == nullptr);
    const Gpu gpu = load_gpu(test::gpus_dir(), "h200-sxm-141gb");
    const Validation v = judge(measurements, {.gpu = [&gpu](const std::string&) { return &gpu; }, .host_launch = {}, .model = {}});
    REQUIRE(v.rows.size() == 2);
    // Between two rows of custom_allreduce.csv, 3.5 us at 4 KiB and 3.9 at 32, and as collectives_nccl.csv has it.
    CHECK(v.rows[0].predicted == rel(3.8, 0.15));
    CHECK(v.rows[1].predicted == rel(17.8, 0.15));
    CHECK(v.skipped.rows() == 1);
}
