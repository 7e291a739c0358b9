#include <doctest/doctest.h>

#include <utility>

#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;

namespace {

const SoftwareStacks& stacks() {
    static const SoftwareStacks software = load_software(software_dir());
    return software;
}

Run complete(const Workload& workload, Run run) {
    return completed_sizes(std::move(run), workload);
}

bool any_contains(const std::vector<std::string>& texts, const std::string& part) {
    for (const auto& text : texts) {
        if (test::contains(text, part)) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("a pipeline stage holds its own layers' cache, and the busiest one its part of the weights") {
    const Workload llama = find_workload(models_dir(), "llama-3.1-8b");
    const MemoryEstimate whole = memory_estimate(llama, complete(llama, {}), stacks()),
                         stage = memory_estimate(llama, complete(llama, {.parallel = {.pipeline = 4}}), stacks());
    CHECK(stage.kv_cache.in(mb) == rel(whole.kv_cache.in(mb) / 4, 1e-9));
    // 8 of 32 layers of 218 112 000 parameters, and the table of 128256 x 4096, in 2 bytes (the norm of the head makes 8 kB).
    CHECK(stage.weights.in(gb) == rel(2e-9 * (8 * 218'112'000.0 + 128'256.0 * 4096), 1e-5));
    // 32 layers over 5 stages: 7 on the busiest one.
    const MemoryEstimate uneven = memory_estimate(llama, complete(llama, {.parallel = {.pipeline = 5}}), stacks());
    CHECK(uneven.kv_cache.in(mb) == rel(whole.kv_cache.in(mb)*7 / 32, 1e-9));
}

TEST_CASE("remedies are runs that are accepted: degrees divide the heads") {
    const Workload phi = find_workload(models_dir(), "qwen2.5-14b");  // 40 heads
    const Run request = complete(phi, {});
    const MemoryAdvice advice = memory_advice(phi, request, stacks(), 6 * gb);
    CHECK_FALSE(any_contains(advice.remedies, "tensor parallelism over 16"));
    CHECK_FALSE(any_contains(advice.remedies, "tensor parallelism over 6"));
    CHECK(any_contains(advice.remedies, "a pipeline over"));
}

TEST_CASE("remedies take no more GPUs than one machine has") {
    const Workload llama = find_workload(models_dir(), "llama-3.1-70b");
    const Run request = complete(llama, {});
    // 141 GB of weights: 8 GPUs of 24 GB hold them, 4 do not.
    CHECK(any_contains(memory_advice(llama, request, stacks(), 24 * gb, false, 8).remedies, "tensor parallelism over 8 GPUs"));
    const MemoryAdvice small = memory_advice(llama, request, stacks(), 24 * gb, false, 4);
    for (const char* spread : {"over 8 GPUs", "over 7 GPUs", "a pipeline over 8"}) CHECK_FALSE(any_contains(small.remedies, spread));
    for (const auto& remedy : memory_advice(llama, request, stacks(), 24 * gb, true, 1).remedies)
        CHECK_FALSE(test::contains(remedy, "GPUs"));
    const Run staged = complete(llama, {.parallel = {.pipeline = 2}});
    CHECK(any_contains(memory_advice(llama, staged, stacks(), 24 * gb, false, 8).remedies, "`parallel.tensor` 4, 8 GPUs in all"));
    CHECK_FALSE(any_contains(memory_advice(llama, staged, stacks(), 24 * gb, false, 4).remedies, "GPUs in all"));
}

TEST_CASE("remedies with other degrees name the option and count all GPUs") {
    const Gpu gpu = load_gpu(gpus_dir(), "t4");
    Run request{.precision = Precision::fp16, .parallel = {.tensor = 4}};
    const Workload mixtral = find_workload(models_dir(), "mixtral-8x7b");
    request = completed(request, mixtral, gpu);
    const auto advice = memory_advice(mixtral, request, load_software(software_dir()), *gpu.profile.usable_memory());
    CHECK(any_contains(advice.remedies, "`parallel.pipeline` 2, 8 GPUs in all"));
    CHECK(any_contains(advice.remedies, "tensor parallelism over 8 GPUs"));
}

TEST_CASE("when no single change fits, two together are offered") {
    const Workload llama = find_workload(models_dir(), "llama-3.1-405b");
    const Run request = complete(llama, {});
    // 810 GB in 16 bits: 51 GB on each of 16 GPUs, 203 GB in 4 bits on one; both together 13 GB and more.
    const MemoryAdvice advice = memory_advice(llama, request, stacks(), 40 * gb);
    REQUIRE(advice.remedies.size() == 2);
    CHECK(test::contains(advice.remedies[0], "weights and tensor parallelism over"));
    CHECK(test::contains(advice.remedies[1], "of the layers' weights to the host"));
}

TEST_CASE("products of sizes are bounded, named by the option") {
    const Workload resnet = find_workload(models_dir(), "resnet50");
    CHECK_THROWS_AS(complete(resnet, {.image_size = 65'537}), Error);
    CHECK_THROWS_AS(complete(resnet, {.batch = 8, .image_size = 65'536}), Error);
    CHECK_NOTHROW(complete(resnet, {.batch = 4, .image_size = 65'536}));
}

TEST_CASE("power counts what the GPU draws when idle") {
    const Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    Run request;
    const Prediction p = predict(find_workload(models_dir(), "resnet50"), gpu, request, stacks());
    CHECK(p.phases[0].utilization.power > gpu.profile.idle.in(gpu.profile.tdp));
}

TEST_CASE("memory is that of what the engine runs, whoever asks") {
    const Workload llama = find_workload(models_dir(), "llama-3-8b");
    const Gpu gpu = load_gpu(gpus_dir(), "rtx-4090");
    for (const char* engine : {"", "llama.cpp", "fastertransformer"}) {
        INFO(engine);
        Run request = complete(llama, {.prompt_tokens = 4096, .generate_tokens = 8});
        request.software = engine;
        CHECK(predict(llama, gpu, request, stacks()).memory.total().in(gb) ==
              rel(memory_estimate(llama, request, stacks()).total().in(gb), 1e-12));
    }
}
