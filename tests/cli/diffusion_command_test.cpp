#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::contains;
using roofcast::test::refused;
using roofcast::test::rel;

namespace {

json diffusion_run(const std::string& arguments) {
    return roofcast::test::only_prediction(roofcast::test::printed("predict --format json " + arguments));
}

}  // namespace

TEST_CASE("a diffusion model has the time of a step and of an image") {
    const json p = diffusion_run("--gpu rtx-4090 --model sd-1.5-txt2img --batch 1");
    CHECK(p["steps"] == 50);
    const double step_ms = p["step_ms"].get<double>();
    // Twice 402 G multiply-adds at 165 TFLOP/s: no step is under 9.7 ms.
    CHECK(step_ms > 9.7);
    CHECK(step_ms < 40);
    CHECK(p["latency_ms"].get<double>() > 50 * step_ms);
    CHECK(p["latency_ms"].get<double>() < 60 * step_ms);
    CHECK(p["throughput_per_s"].get<double>() == rel(1e3 / p["latency_ms"].get<double>(), 1e-6));
    CHECK(contains(roofcast::test::printed("predict --gpu rtx-4090 --model sd-1.5-txt2img"), "steps/s of 50 in an image"));
}

TEST_CASE("steps belong to diffusion models, text and tokens do not") {
    CHECK(diffusion_run("--gpu rtx-4090 --model sdxl-base --steps 30")["steps"] == 30);
    CHECK(contains(refused("predict --gpu rtx-4090 --model resnet50 --steps 30"), "--steps"));
    CHECK(contains(refused("predict --gpu rtx-4090 --model sd-1.5-txt2img --steps 0"), "--steps"));
    CHECK(contains(refused("predict --gpu rtx-4090 --model sd-1.5-txt2img --prompt 77"), "--prompt"));
    CHECK(contains(refused("predict --gpu rtx-4090 --model sd-1.5-txt2img --image-size 500"), "multiple of 64"));
}
