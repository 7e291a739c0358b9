#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "roofcast/comparison.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::contains;
using test::gpus_dir;
using test::models_dir;
using test::software_dir;

namespace {

/// The best run of `model` on one GPU without a price.
struct Best {
    Gpu gpu;
    Workload workload;
    SoftwareStacks software = load_software(software_dir());
    ContestantRun run;

    Best(const char* gpu_id, const char* model, const ComparisonRequest& request = {})
        : gpu(load_gpu(gpus_dir(), gpu_id)), workload(find_workload(models_dir(), model)) {
        run = std::move(optimized_comparison(workload, {{&gpu, {}}}, request, software).runs.front());
    }
    [[nodiscard]] double offload() const { return run.prediction->request.techniques.offload; }
    [[nodiscard]] bool fits_with(double share) const {
        Run changed = run.prediction->request;
        changed.techniques.offload = share;
        return memory_estimate(workload, changed, software).total() <= *gpu.profile.usable_memory();
    }
    [[nodiscard]] bool says(const std::string& part) const {
        return std::any_of(run.choices.begin(), run.choices.end(), [&](const std::string& c) { return contains(c, part); });
    }
};

/// One format that does not fit the GPUs below.
ComparisonRequest sixteen_bits() {
    ComparisonRequest request;
    request.run.precision = Precision::fp16;
    request.run.weights = parse_weight_format("fp16");
    request.precision_fixed = request.weights_fixed = true;
    return request;
}

}  // namespace

TEST_CASE("a GPU too small for the weights even in 4 bits leaves a part of them in host memory") {
    const Best best("rtx-4090", "llama-3.1-70b");
    REQUIRE(best.run.prediction);
    CHECK(best.offload() > 0);
    CHECK(best.run.prediction->memory.fits() == true);
    CHECK(best.says("of the layers' weights because int4 weights on bf16 needs"));
    CHECK(best.says("GB of 25.4 at batch"));
}

TEST_CASE("the search leaves no more weights in host memory than must be") {
    for (const char* gpu : {"t4", "rtx-3070", "rtx-4090"}) {
        CAPTURE(std::string(gpu));
        const Best best(gpu, "qwen2.5-14b", sixteen_bits());
        REQUIRE(best.run.prediction);
        CHECK(best.fits_with(best.offload()));
        CHECK_FALSE(best.fits_with(best.offload() - 0.01));
        CHECK_FALSE(best.fits_with(best.offload() - 0.0011));  // shares go in steps of 0.001
    }
}

TEST_CASE("8-bit weights that fit are taken before a crawl over PCIe, and the report says by how much they win") {
    const Best best("t4", "llama-3.1-8b");
    CHECK(best.run.prediction->request.weights->label == "int8");
    CHECK(best.offload() == 0);
    CHECK(best.says("int8 weights on fp16 because fp16 needs"));
    CHECK(best.says("the items/s of fp16 with"));
}

TEST_CASE("where copies hide behind the GEMMs of a long prompt, offloading keeps the 16 bits") {
    ComparisonRequest request;
    request.run.prompt_tokens = 16384;
    request.run.generate_tokens = 1;
    const Best best("rtx-4090", "qwen2.5-14b", request);
    CHECK(best.run.prediction->request.weights->bits == 16);
    CHECK(best.offload() > 0);
    CHECK(best.says("not quantized: int8 weights on bf16"));
}

TEST_CASE("what fits the GPU whole is left there") {
    for (const Objective objective : {Objective::throughput, Objective::latency, Objective::energy}) {
        ComparisonRequest request;
        request.objective = objective;
        CHECK(Best("rtx-4090", "llama-3.1-8b", request).offload() == 0);
    }
}

TEST_CASE("a fraction of offloaded weights that the user gave is left alone") {
    ComparisonRequest request = sixteen_bits();
    request.run.techniques.offload = 0.5;
    request.offload_fixed = true;
    CHECK(Best("t4", "llama-3.1-8b", request).offload() == 0.5);
    request.run.techniques.offload = 0;
    const Best none("t4", "llama-3.1-8b", request);
    CHECK_FALSE(none.run.prediction);
    CHECK(contains(none.run.reason, "GB of 15.9"));
}

TEST_CASE("devices without memory of their own and models without layers offload nothing") {
    const Best shared("jetson-agx-orin", "llama-3.1-70b", sixteen_bits());
    CHECK_FALSE(shared.run.prediction);
    ComparisonRequest request;
    request.run.image_size = 8192;
    request.run.batch = 16;
    request.batch_fixed = true;
    const Best images("gtx-1660", "vgg16", request);
    CHECK_FALSE(images.run.prediction);
    CHECK(contains(images.run.reason, "GB of 6.3"));
}

TEST_CASE("a model that not even offloading makes fit says what is left on the GPU") {
    ComparisonRequest request = sixteen_bits();
    request.run.batch = 256;
    request.run.prompt_tokens = 4096;
    request.batch_fixed = true;
    const Best best("t4", "llama-3.1-8b", request);
    CHECK_FALSE(best.run.prediction);
    CHECK(contains(best.run.reason, "with 100 % of the layers' weights offloaded"));
}
