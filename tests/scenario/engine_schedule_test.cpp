// How engines form steps: the options that differ from one to another, and what the CPU adds to passes over prompts.
#include <doctest/doctest.h>

#include <algorithm>

#include "roofcast/serving.hpp"
#include "roofcast/step_time.hpp"
#include "scenario/constant_steps.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::constant_engine;
using test::rel;

namespace {

constexpr double step_tolerance = 1e-9;

StepModel deepseek_under(const char* engine) {
    const SoftwareStacks software = load_software(test::software_dir());
    const Gpu gpu = load_gpu(test::gpus_dir(), "h200-sxm-141gb");
    const Workload workload = find_workload(test::models_dir(), "deepseek-v3");
    Run run;
    run.precision = Precision::fp8;
    run.parallel.tensor = 8;
    run.software = engine;
    run.execution = Execution::cuda_graph;
    return step_model(workload, gpu, completed(run, workload, gpu), software);
}

}  // namespace

TEST_CASE("settings replace an engine's options one by one, and a step keeps room for a token of each sequence") {
    const SchedulerOptions engine{.max_sequences = 1024, .max_tokens = 8192, .batching = Batching::prompts_first};
    SchedulerSettings settings;
    CHECK(with(engine, settings).max_sequences == 1024);
    CHECK(with(engine, settings).batching == Batching::prompts_first);
    settings.max_tokens = 512;
    CHECK(with(engine, settings).max_sequences == 512);
    settings.max_tokens.reset();
    settings.max_sequences = 9000;
    CHECK(with(engine, settings).max_tokens == 9000);
}

TEST_CASE("whole prompts in mixed steps wait until a step has room for all of them") {
    const ServingEngine engine = constant_engine({.max_tokens = 8, .chunked = false}, 100);
    // A's prompt [0, 1]. B's 8 tokens do not fit beside A's decode, but no prompt is before it: it goes with it. C waits for the step
    // after.
    const ServingRun run = simulated(engine, {{0 * s, 2, 4}, {0.1 * s, 8, 1}, {0.2 * s, 3, 1}});
    CHECK(run.times[1].first_token.in(s) == rel(2, step_tolerance));
    CHECK(run.times[2].first_token.in(s) == rel(3, step_tolerance));
    CHECK(run.times[0].finished.in(s) == rel(4, step_tolerance));
}

TEST_CASE("prompts that go first are cut to a step where they may be, and decodes wait for all of them") {
    const ServingEngine engine = constant_engine({.max_tokens = 4, .batching = Batching::prompts_first}, 100);
    const ServingRun run = simulated(engine, {{0 * s, 2, 2}, {0.5 * s, 10, 1}});
    CHECK(run.times[1].first_token.in(s) == rel(4, step_tolerance));  // [1, 4]: three steps of 4, 4 and 2 tokens
    CHECK(run.times[0].finished.in(s) == rel(5, step_tolerance));
}

TEST_CASE("a scheduler that looks for requests now and then lets them wait, but not behind prompts") {
    ServingEngine engine = constant_engine({.poll_steps = 4}, 100);
    // A decodes from 1 on; the scheduler looked at 0 and looks after four decode steps, at 5.
    const ServingRun run = simulated(engine, {{0 * s, 2, 10}, {1.5 * s, 2, 1}});
    CHECK(run.times[1].started.in(s) == rel(5, step_tolerance));
    engine.options.poll_steps = 1;
    CHECK(simulated(engine, {{0 * s, 2, 10}, {1.5 * s, 2, 1}}).times[1].started.in(s) == rel(2, step_tolerance));
}

TEST_CASE("prompts wait during decodes for others to join them, until there are enough or they waited long enough") {
    const ServingEngine engine = constant_engine({.max_tokens = 10, .wait_steps = 3, .wait_fraction = 0.6}, 100);
    const ServingRun alone = simulated(engine, {{0 * s, 2, 10}, {0.5 * s, 2, 1}});
    CHECK(alone.times[1].started.in(s) == rel(4, step_tolerance));  // steps [1, 4] are held back
    const ServingRun joined = simulated(engine, {{0 * s, 2, 10}, {0.5 * s, 2, 1}, {1.5 * s, 4, 1}});
    CHECK(joined.times[1].started.in(s) == rel(2, step_tolerance));  // 2 + 4 tokens and a decode: 6 of 10 and more
}

TEST_CASE("requests of one moment reach the scheduler apart, those of long prompts later") {
    ServingEngine engine = constant_engine({}, 1000);
    engine.request_time = 0.1 * s;
    engine.prompt_token_time = 0.01 * s;
    std::vector<ServingRequest> requests(200, {0 * s, 10, 1});
    const ServingRun run = simulated(engine, requests);
    // The first step cannot begin before the first of them is there, a tenth of a second of text at least.
    const auto first =
        std::min_element(run.times.begin(), run.times.end(), [](const auto& a, const auto& b) { return a.started < b.started; });
    CHECK(first->started > 0.1 * s);
    CHECK(first->started < 0.3 * s);
    const auto late = std::count_if(run.times.begin(), run.times.end(), [](const RequestTimes& t) { return t.started > 1 * s; });
    CHECK(late > 0);
    CHECK(late < 200);
}

TEST_CASE("no step with prompts is shorter than the CPU takes to launch its kernels, where decodes alone are captured") {
    const StepModel model = deepseek_under("sglang 0.5.9");
    REQUIRE(model.prompt_floor > 50 * ms);
    const StepMix one{.prompts = 1, .prompt_tokens = 16}, long_one{.prompts = 1, .prompt_tokens = 8000};
    CHECK(step_time(model, one) == model.prompt_floor);
    CHECK(step_time(model, long_one) > model.prompt_floor);
    CHECK(step_time(model, {.decodes = 4, .context = 1000}) < model.prompt_floor);
    const StepTable table = tabulated(model, {.sequences = 4, .tokens = 8192, .prompt_tokens = 8192, .context = 8192});
    CHECK(step_time(table, one) == model.prompt_floor);
    CHECK(step_time(table, {.decodes = 2, .context = 1000, .prompts = 1, .prompt_tokens = 16}) == model.prompt_floor);
    CHECK(deepseek_under("").prompt_floor == Seconds{});
}
