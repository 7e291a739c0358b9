#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/validation.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

Prediction predicted(std::string_view id, std::int64_t steps = 0, std::int64_t batch = 1) {
    Run request;
    request.batch = batch;
    request.steps = steps;
    request.execution = Execution::compiled;
    return predict(find_workload(test::models_dir(), id), load_gpu(test::gpus_dir(), "a100-sxm4-80gb"), request,
                   load_software(test::software_dir()));
}

}  // namespace

TEST_CASE("an image takes its text, its steps and the way back from the latent image") {
    const Prediction p = predicted("sd-1.5-txt2img");
    REQUIRE(p.phases.size() == 3);
    CHECK(p.phases[0].name == "text");
    CHECK(p.phases[1].name == "denoise");
    CHECK(p.phases[2].name == "decode_image");
    // Fifty steps unless the run says otherwise; prompt and empty prompt.
    CHECK(p.phases[0].passes == 2);
    CHECK(p.phases[1].passes == 50);
    REQUIRE(p.step);
    CHECK(p.phases[1].latency / *p.step == rel(50, 1e-9));
    CHECK(p.latency / (p.phases[0].latency + p.phases[1].latency + p.phases[2].latency) == rel(1, 1e-9));
    // Weights of UNet, text encoder and autoencoder in 16 bits: 2 · (859.5 + 123.1 + 83.7) MB.
    CHECK(p.memory.weights.in(gb) == rel(2 * 1.0662, 0.001));
}

TEST_CASE("what starts from an image encodes it first") {
    const Prediction p = predicted("sd-1.5-img2img");
    REQUIRE(p.phases.size() == 4);
    CHECK(p.phases[1].name == "encode_image");
    CHECK(p.phases[2].passes == 40);
}

TEST_CASE("more steps take longer, each as long as before") {
    const Prediction few = predicted("sd-1.5-txt2img", 10), many = predicted("sd-1.5-txt2img", 30);
    CHECK((many.latency - few.latency) / *few.step == rel(20, 1e-9));
    CHECK_THROWS_AS(predicted("sd-1.5-txt2img", -1), Error);
}

TEST_CASE("measured rates of diffusion are denoising steps of the batch") {
    const ModelPredictor predictor =
        model_predictor({find_workload(test::models_dir(), "sd-1.5-txt2img")}, load_software(test::software_dir()));
    ModelRow row;
    row.model = "sd-1.5-txt2img";
    row.execution = Execution::compiled;
    row.weights = native_weights(*row.precision);
    row.batch = 4;
    row.phase = "forward";
    row.metric = Metric::throughput_per_s;
    const Gpu gpu = load_gpu(test::gpus_dir(), "a100-sxm4-80gb");
    CHECK(predictor(row, gpu).predicted == rel(1 / predicted("sd-1.5-txt2img", 0, 4).step->in(s), 1e-6));
    row.metric = Metric::latency_ms;
    CHECK(predictor(row, gpu).predicted == rel(predicted("sd-1.5-txt2img", 0, 4).latency.in(ms), 1e-6));
}
