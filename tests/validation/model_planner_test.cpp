#include <doctest/doctest.h>

#include "prediction/planned_pass.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/validation.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

std::vector<Workload> shipped(std::string_view id) {
    return {find_workload(test::models_dir(), id)};
}

ModelRow row_of(const std::string& model, Metric metric) {
    ModelRow row;
    row.model = model;
    row.execution = Execution::cuda_graph;
    row.batch = 2;
    row.metric = metric;
    row.value = is_rate(metric) ? 1e-3 : 1e6;  // slow enough for any model
    return row;
}

}  // namespace

TEST_CASE("what is planned once gives what is predicted, whatever the parameters are by then") {
    const SoftwareStacks software = load_software(test::software_dir());
    const Gpu gpu = load_gpu(test::gpus_dir(), "a100-sxm4-80gb");
    Gpu slower = gpu;
    slower.parameters.values.streaming.bandwidth_fraction *= 0.5;
    for (GemmParameters& gemm : slower.parameters.values.gemm) gemm.bandwidth_fraction *= 0.5;
    // One pass; passes that grow; a network that runs many times between other ones.
    for (const std::string model : {"resnet50", "llama-3.2-1b", "sd-1.5-txt2img"}) {
        for (const Metric metric : {Metric::latency_ms, Metric::throughput_per_s}) {
            CAPTURE(model);
            const ModelRow row = row_of(model, metric);
            const RowModel planned = model_planner(shipped(model), software)(row, gpu);
            const ModelPredictor predictor = model_predictor(shipped(model), software);
            CHECK(planned(gpu) == rel(predictor(row, gpu).predicted, 1e-9));
            CHECK(planned(slower) == rel(predictor(row, slower).predicted, 1e-9));
            CHECK(planned(slower) != rel(planned(gpu), 1e-3));
        }
    }
}

TEST_CASE("a planned pass of a diffusion model is one denoising step, models that generate tokens are not planned as one pass") {
    const Gpu gpu = load_gpu(test::gpus_dir(), "a100-sxm4-80gb");
    const SoftwareStacks software = load_software(test::software_dir());
    const Workload diffusion = find_workload(test::models_dir(), "sd-1.5-txt2img");
    const Prediction p = predict(diffusion, gpu, Run{}, software);
    REQUIRE(p.step.has_value());
    CHECK(PlannedPass(diffusion, gpu, Run{}, software).latency(gpu).in(us) == rel(p.step->in(us), 1e-9));
    CHECK_THROWS_AS(PlannedPass(find_workload(test::models_dir(), "llama-3.2-1b"), gpu, Run{}, software), Error);
}
