#include <doctest/doctest.h>

#include "roofcast/accuracy.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

AccuracySummary figures(std::int64_t rows, double mape, double median) {
    return {.rows = rows, .mape_percent = mape, .median_ape_percent = median, .p90_ape_percent = 2 * mape, .bias_percent = -1};
}

FitAccuracy group(const char* gpu, const char* op, std::optional<AccuracySummary> cross_validated,
                  std::optional<AccuracySummary> left_out) {
    return {.gpu = gpu, .op = op, .precision = "fp16", .cross_validated = cross_validated, .gpu_left_out = left_out};
}

/// One GPU with a fit of its own, x; another of its architecture, y, with a few rows; and z of another architecture.
std::vector<FitSummary> some_fits() {
    return {
        {.file = "x.fit.toml",
         .gpus = {"x"},
         .date = "2026-01-02",
         .groups = {group("x", "gemm", figures(100, 4, 3), {}), group("x", "gemm", figures(300, 8, 6), {}),
                    group("x", "conv2d", figures(10, 20, 15), {})}},
        {.file = "arch/_default.fit.toml",
         .gpus = {"x", "z"},
         .date = "2026-01-01",
         .groups = {group("x", "attention_decode", {}, figures(40, 30, 20)), group("z", "attention_decode", {}, figures(60, 10, 8))}},
        {.file = "arch/ada.fit.toml",
         .gpus = {"x", "y"},
         .date = "2026-01-03",
         .groups = {group("x", "gemm", figures(400, 7, 5), figures(400, 12, 9)), group("y", "model_llm_decode", {}, figures(4, 5, 4))}}};
}

const ExpectedError* of_work(const std::vector<ExpectedError>& errors, std::string_view work) {
    for (const ExpectedError& e : errors) {
        if (e.work == work) return &e;
    }
    return nullptr;
}

ValidatedAccuracy served(const char* engine, const char* gpu, const char* architecture, FittedTo fit, double mape) {
    return {.work = "serving_tpot",
            .engine = engine,
            .models = "",
            .gpu = gpu,
            .architecture = architecture,
            .fit = fit,
            .figures = figures(10, mape, mape / 2),
            .file = "f"};
}

constexpr const char* header =
    "work,engine,models,gpu,architecture,fit,gpus,rows,mape_percent,median_ape_percent,p90_ape_percent,bias_percent,in_interval_percent,"
    "roofline_mape_percent,file\n";

}  // namespace

TEST_CASE("a measured GPU is judged by its own rows, cross-validated and weighted by rows") {
    const auto answer = expected_accuracy({.gpu = "x", .architecture = "ada"}, some_fits(), {});
    CHECK(answer.fit == FittedTo::own);
    CHECK(answer.fit_date == "2026-01-02");
    const ExpectedError* gemm = of_work(answer.fits, "gemm");
    REQUIRE(gemm != nullptr);
    CHECK(gemm->basis == AccuracyBasis::cross_validated);
    CHECK(gemm->rows == 400);
    CHECK(gemm->mape_percent == rel(7.0, 1e-12));  // (100 · 4 + 300 · 8) / 400
    CHECK_FALSE(gemm->median_ape_percent);         // two medians make none
    const ExpectedError* convolution = of_work(answer.fits, "convolution");
    REQUIRE(convolution != nullptr);
    CHECK(convolution->median_ape_percent == 15);
}

TEST_CASE("a kind of work that a GPU's own fit lacks is judged with the GPU left out, or by others") {
    const auto answer = expected_accuracy({.gpu = "x", .architecture = "ada"}, some_fits(), {});
    const ExpectedError* attention = of_work(answer.fits, "attention");
    REQUIRE(attention != nullptr);
    CHECK(attention->basis == AccuracyBasis::gpu_left_out);
    CHECK(attention->rows == 40);  // its own; z's 60 are not blended with them
    CHECK(attention->mape_percent == 30);
    const ExpectedError* decode = of_work(answer.fits, "llm_decode");
    REQUIRE(decode != nullptr);
    CHECK(decode->basis == AccuracyBasis::architecture_left_out);
    CHECK(decode->gpus == 1);
    CHECK(decode->mape_percent == 5);
}

TEST_CASE("a GPU never measured is judged by GPUs of its architecture, each left out, then by all") {
    const auto answer = expected_accuracy({.gpu = "w", .architecture = "ada"}, some_fits(), {});
    CHECK(answer.fit == FittedTo::none);
    CHECK(answer.fit_date == "2026-01-03");
    const ExpectedError* gemm = of_work(answer.fits, "gemm");
    REQUIRE(gemm != nullptr);
    CHECK(gemm->basis == AccuracyBasis::architecture_left_out);
    CHECK(gemm->mape_percent == 12);  // x left out, not its cross-validated 7
    CHECK(gemm->fit == FittedTo::none);
    CHECK(of_work(answer.fits, "convolution") == nullptr);
    const auto strange = expected_accuracy({.gpu = "v", .architecture = "unknown"}, some_fits(), {});
    const ExpectedError* attention = of_work(strange.fits, "attention");
    REQUIRE(attention != nullptr);
    CHECK(attention->basis == AccuracyBasis::all_left_out);
    CHECK(attention->gpus == 2);
    CHECK(attention->mape_percent == rel(18.0, 1e-12));  // (40 · 30 + 60 · 10) / 100
    CHECK(strange.fit_date.empty());
}

TEST_CASE("served loads are of the GPU, else of GPUs that fits know alike, and engines stay apart") {
    const std::vector<ValidatedAccuracy> lines{served("vllm", "x", "ada", FittedTo::own, 10), served("vllm", "", "ada", FittedTo::own, 11),
                                               served("vllm", "", "", FittedTo::own, 12), served("vllm", "", "", FittedTo::none, 13),
                                               served("sglang", "", "", FittedTo::own, 14)};
    const auto tpot = [&](const char* gpu, const char* architecture, const char* engine) {
        return expected_accuracy({.gpu = gpu, .architecture = architecture, .work = {"serving_tpot"}, .engine = engine}, some_fits(), lines)
            .engines;
    };
    REQUIRE(tpot("x", "ada", "").size() == 2);
    CHECK(tpot("x", "ada", "")[0].engine == "sglang");
    CHECK(tpot("x", "ada", "vllm").front().mape_percent == 10);
    CHECK(tpot("w", "ada", "vllm").front().mape_percent == 13);      // never measured: not the 11 of measured GPUs
    CHECK(tpot("w", "ada", "sglang").front().mape_percent == 14);    // only measured GPUs have rows
    CHECK(tpot("w", "ada", "sglang").front().fit == FittedTo::own);  // and the answer says so
    CHECK(tpot("x", "ada", "sglang").front().basis == AccuracyBasis::unseen);
}

TEST_CASE("rows of a model's family stand apart and say whether a fit saw them") {
    ValidatedAccuracy line = served("llama-cpp", "y", "ada", FittedTo::architecture, 6);
    line.work = "llm_decode";
    line.models = "llama-3";
    const AccuracyQuestion question{.gpu = "y", .architecture = "ada", .work = {"llm_decode"}, .models = "llama-3"};
    const auto answer = expected_accuracy(question, some_fits(), {line});
    REQUIRE(answer.models.size() == 1);
    CHECK(answer.models.front().basis == AccuracyBasis::fitted);
    REQUIRE(answer.fits.size() == 1);
    CHECK(answer.fits.front().basis == AccuracyBasis::gpu_left_out);
    line.fit = FittedTo::none;
    CHECK(expected_accuracy(question, some_fits(), {line}).models.front().basis == AccuracyBasis::unseen);
}

TEST_CASE("a table of validated rows is read, and what is wrong in it is named") {
    const TemporaryFile good("served.csv",
                             std::string("# a comment\n") + header + "serving_ttft,vllm,,t4,turing,own,1,3,20,15,40,-5,90,98,f.csv\n");
    const auto lines = load_validated_accuracy(good.path().parent_path());
    REQUIRE(lines.size() == 1);
    CHECK(lines.front().figures.mape_percent == 20);
    CHECK(lines.front().figures.accuracy_percent == 80);
    CHECK(lines.front().in_interval_percent == 90);
    CHECK(load_validated_accuracy("/nonexistent").empty());
    const std::pair<const char*, const char*> wrong[] = {{"flying,vllm,,t4,turing,own,1,3,20,15,40,-5,,,f", "work"},
                                                         {"serving_ttft,vllm,,t4,turing,maybe,1,3,20,15,40,-5,,,f", "fit"},
                                                         {"serving_ttft,vllm,,t4,turing,own,1,0,20,15,40,-5,,,f", "rows"}};
    for (const auto& [line, key] : wrong) {
        CAPTURE(line);
        const TemporaryFile bad("served.csv", std::string(header) + line + "\n");
        try {
            static_cast<void>(load_validated_accuracy(bad.path().parent_path()));
            FAIL("not refused");
        } catch (const Error& e) {
            CHECK(e.detail().key == key);
            CHECK(e.detail().line == 2);
        }
    }
}

TEST_CASE("every operator class of the shipped fits is of a kind of work") {
    for (const FitSummary& fit : load_fit_summaries(roofcast::test::gpus_dir())) {
        for (const FitAccuracy& group : fit.groups) {
            CAPTURE(group.op);
            CHECK(kind_of_class(group.op) != nullptr);
        }
    }
    CHECK(kind_of_class("model_other") == work_kind("other_model"));
    CHECK(kind_of_class("model_llm_decode") == work_kind("llm_decode"));
}
