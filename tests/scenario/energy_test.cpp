#include "roofcast/energy.hpp"

#include <doctest/doctest.h>

#include "scenario/toy_run.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::gpus_dir;
using test::models_dir;
using test::rel;
using test::software_dir;
using test::toy_device;
using test::toy_phase;

TEST_CASE("a GPU draws its idle share and the dynamic energy of its work, and never more than TDP") {
    // 20 % of 100 W, and 60 J in 2 s.
    CHECK(mean_power(toy_device().profile, 60 * joule, 2 * s).in(watt) == rel(20 + 30, 1e-12));
    CHECK(mean_power(toy_device().profile, 600 * joule, 2 * s).in(watt) == rel(100, 1e-12));
    CHECK(mean_power(toy_device().profile, 0 * joule, 2 * s).in(watt) == rel(20, 1e-12));
}

TEST_CASE("energy of a run is that of its phases, by item and by output token") {
    Prediction p;
    p.request.batch = 4;
    p.request.prompt_tokens = 10;
    p.request.generate_tokens = 5;
    p.phases.push_back(toy_phase("prefill", 1, 2 * s, 80 * joule));
    p.phases.push_back(toy_phase("decode", 4, 8 * s, 20 * joule));
    p.latency = 10 * s;
    p.ttft = 2 * s;
    const RunEnergy e = *run_energy(p, toy_device());
    // 20 W idle: prefill 20 + 80/2 = 60 W for 2 s; decode 20 + 4 · 20/8 = 30 W for 8 s.
    CHECK(e.phases[0].watts.in(watt) == rel(60, 1e-12));
    CHECK(e.phases[1].watts.in(watt) == rel(30, 1e-12));
    CHECK(e.joules.in(joule) == rel(120 + 240, 1e-12));
    CHECK(e.watts.in(watt) == rel(36, 1e-12));
    CHECK(e.joules_per_item.in(joule) == rel(90, 1e-12));
    CHECK(e.joules_per_output_token->in(joule) == rel(18, 1e-12));
    CHECK_FALSE(e.phases[0].capped);
}

TEST_CASE("a phase that asks for more than TDP is counted at TDP and says so") {
    Prediction p;
    p.phases.push_back(toy_phase("forward", 1, 1 * s, 500 * joule));
    p.latency = 1 * s;
    const RunEnergy e = *run_energy(p, toy_device());
    CHECK(e.phases[0].capped);
    CHECK(e.joules.in(joule) == rel(100, 1e-12));
}

TEST_CASE("tensor-parallel GPUs and copies all work, pipeline stages take turns") {
    const auto energy = [](Parallelism parallel) {
        Prediction p;
        p.request.parallel = parallel;
        p.phases.push_back(toy_phase("forward", 1, 2 * s, 80 * joule));
        p.latency = 2 * s;
        return *run_energy(p, toy_device());
    };
    // The timeline is one GPU's share through all stages: 80 J of it in 2 s.
    CHECK(energy({.tensor = 4}).watts.in(watt) == rel(20 + 40, 1e-12));
    CHECK(energy({.tensor = 4}).joules.in(joule) == rel(4 * 60 * 2, 1e-12));
    // Each of two stages does half of it: 20 J/s beside idling.
    CHECK(energy({.pipeline = 2}).watts.in(watt) == rel(20 + 20, 1e-12));
    CHECK(energy({.pipeline = 2}).joules.in(joule) == rel(2 * 40 * 2, 1e-12));
    // Two copies do two batches: the energy of an item stays.
    CHECK(energy({.data = 2}).joules_per_item.in(joule) == rel(60 * 2, 1e-12));
}

TEST_CASE("energy is not known without board power or a model of every operator") {
    Prediction p;
    p.phases.push_back(toy_phase("forward", 1, 1 * s, 1 * joule));
    p.latency = 1 * s;
    Gpu unknown = toy_device();
    unknown.profile.tdp = {};
    CHECK_FALSE(run_energy(p, unknown));
    p.withheld.emplace_back("scan");
    CHECK_FALSE(run_energy(p, toy_device()));
}

TEST_CASE("energy of a predicted run lies between idling and TDP, and a token costs a batch less than alone") {
    const Gpu gpu = load_gpu(gpus_dir(), "a100-sxm4-80gb");
    const SoftwareStacks software = load_software(software_dir());
    const Workload workload = find_workload(models_dir(), "llama-3.1-8b");
    Joules before{1e30};
    for (const std::int64_t batch : {1, 4, 16, 64}) {
        Run request;
        request.batch = batch;
        const RunEnergy e = *run_energy(predict(workload, gpu, request, software), gpu);
        CHECK(e.watts > e.idle);
        CHECK(e.watts <= gpu.profile.tdp);
        CHECK(*e.joules_per_output_token < before);
        before = *e.joules_per_output_token;
    }
}
