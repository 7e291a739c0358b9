// Laws that any queue obeys, and real models.
#include "roofcast/serving.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "roofcast/error.hpp"
#include "scenario/constant_steps.hpp"
#include "support/compare.hpp"
#include "support/llama_on_a100.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::constant_engine;
using test::models_dir;
using test::rel;

namespace {

struct Bench : test::LlamaOnA100 {
    Run request(Run run = {}) const { return completed(std::move(run), llama, gpu); }
    ServingEngine engine(SchedulerOptions options, std::int64_t blocks) const {
        return {
            .steps = tabulated(
                step_model(llama, gpu, request(), software),
                {.sequences = options.max_sequences, .tokens = options.max_tokens, .prompt_tokens = options.max_tokens, .context = 4096}),
            .options = options,
            .cache_blocks = blocks};
    }
};

std::vector<ServingRequest> varied(std::int64_t count, double rate) {
    return drawn(
        {.requests = count, .rate = rate / s, .prompt_mean = 300, .prompt_cv = 0.6, .output_mean = 100, .output_cv = 0.8, .seed = 7});
}

double total_output(const std::vector<ServingRequest>& requests) {
    double tokens = 0;
    for (const auto& request : requests) tokens += static_cast<double>(request.output_tokens);
    return tokens;
}

}  // namespace

TEST_CASE("one request alone takes as long as predict says") {
    const Bench bench;
    const Prediction p = predict(bench.llama, bench.gpu, bench.request({.prompt_tokens = 1000, .generate_tokens = 300}), bench.software);
    const ServingRun run = simulated(bench.engine({}, 1000), {{0 * s, 1000, 300}});
    CHECK(run.times[0].first_token.in(ms) == rel(p.ttft->in(ms), 0.01));
    CHECK(run.times[0].finished.in(ms) == rel(p.latency.in(ms), 0.01));
}

TEST_CASE("one request alone with a draft model takes as long as predict says") {
    const Bench bench;
    const auto draft = std::make_shared<const Workload>(find_workload(models_dir(), "llama-3.2-1b"));
    const Techniques techniques{.speculation = Speculation{.draft = draft, .tokens = 3, .acceptance = 0.7}};
    const Run run = bench.request({.prompt_tokens = 1000, .generate_tokens = 300, .techniques = techniques});
    const Prediction p = predict(bench.llama, bench.gpu, run, bench.software);
    ServingEngine engine = bench.engine({}, 1000);
    engine.steps = tabulated(step_model(bench.llama, bench.gpu, run, bench.software),
                             {.sequences = 8, .tokens = 2048, .prompt_tokens = 2048, .context = 4096});
    engine.tokens_per_step = p.speculation->tokens_per_iteration;
    const ServingRun simulation = simulated(engine, {{0 * s, 1000, 300}});
    CHECK(simulation.times[0].first_token.in(ms) == rel(p.ttft->in(ms), 0.01));
    CHECK(simulation.times[0].finished.in(ms) == rel(p.latency.in(ms), 0.02));
}

TEST_CASE("a queue of one server with constant service waits as Pollaczek and Khinchine say") {
    const ServingEngine engine = constant_engine({.max_sequences = 1}, 10);
    for (const double load : {0.3, 0.7}) {
        const auto requests = drawn({.requests = 400'000, .rate = load / s, .seed = 11});
        const ServingStatistics x = statistics(engine, requests, simulated(engine, requests), {});
        // M/D/1: ρ D / (2 (1 − ρ)), with D = 1 s.
        CHECK(x.wait.mean.in(s) == rel(load / (2 * (1 - load)), 0.03));
        CHECK(x.busy == rel(load, 0.01));
        CHECK(x.mean_waiting == rel(load * x.wait.mean.in(s), 0.01));
    }
}

TEST_CASE("the mean number in the system is the arrival rate times the mean time there") {
    const Bench bench;
    for (const bool chunked : {true, false}) {
        const ServingEngine engine =
            bench.engine({.batching = chunked ? Batching::mixed : Batching::prompts_first, .chunked = chunked}, 20'000);
        const auto requests = varied(5000, 6);
        const ServingRun run = simulated(engine, requests);
        const ServingStatistics x = statistics(engine, requests, run, {});
        // Exact when the rate is that of the simulation: integrals of the queue against sums over requests.
        CHECK(x.mean_in_system == rel(x.requests_per_second * x.latency.mean.in(s), 1e-6));
        // Little's law with the rate of the process: a standard error of 1/√5000 = 1.4 %.
        CHECK(x.mean_in_system == rel(6 * x.latency.mean.in(s), 0.05));
        CHECK(x.mean_waiting == rel(x.requests_per_second * x.wait.mean.in(s), 1e-6));
    }
}

TEST_CASE("every token is produced and every block given back, however often sequences have to leave") {
    const Bench bench;
    for (const bool chunked : {true, false}) {
        // 250 blocks of 16: ten sequences' worth of cache for up to 64.
        const ServingEngine engine = bench.engine(
            {.max_sequences = 64, .max_tokens = 2048, .batching = chunked ? Batching::mixed : Batching::prompts_first, .chunked = chunked},
            250);
        auto requests = varied(2000, 50);
        std::erase_if(requests, [&](const ServingRequest& r) { return refusal(engine, r).has_value(); });
        const ServingRun run = simulated(engine, requests);
        CHECK(run.load.preemptions > 100);
        CHECK(static_cast<double>(run.load.tokens) == total_output(requests));
        CHECK(run.load.blocks_left == 0);
        CHECK(run.load.most_blocks <= 250);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            REQUIRE(run.times[i].started >= requests[i].arrival);
            REQUIRE(run.times[i].first_token > run.times[i].started);
            REQUIRE(run.times[i].finished >= run.times[i].first_token);
        }
    }
}

TEST_CASE("equal input gives equal output") {
    const Bench bench;
    const ServingEngine engine = bench.engine({}, 20'000);
    const ServingRun one = simulated(engine, varied(500, 8)), two = simulated(engine, varied(500, 8));
    for (std::size_t i = 0; i < 500; ++i) CHECK(one.times[i].finished == two.times[i].finished);
}

TEST_CASE("a saturated engine is as fast as its largest batch") {
    const Bench bench;
    const ServingEngine engine = bench.engine({.max_sequences = 32}, 20'000);
    // 32 sequences at a time, each with one prompt token and 512 of output: contexts between 1 and 512, 256 on average.
    const std::vector<ServingRequest> requests(32 * 20, {0 * s, 1, 512});
    const ServingStatistics x = statistics(engine, requests, simulated(engine, requests), {});
    const Seconds step = step_time(engine.steps, {.decodes = 32, .context = 256.5});
    CHECK(x.tokens_per_second == rel(32 / step.in(s), 0.02));
    CHECK(x.mean_batch == rel(32, 0.001));
    CHECK(x.busy == rel(1, 1e-9));
}

TEST_CASE("more requests per second never shorten the wait") {
    const Bench bench;
    const ServingEngine engine = bench.engine({.max_sequences = 16}, 20'000);
    Seconds before;
    for (const double rate : {1.0, 4.0, 8.0, 16.0, 32.0}) {
        const auto requests = varied(2000, rate);
        const Seconds wait = statistics(engine, requests, simulated(engine, requests), {}).wait.mean;
        CHECK(wait >= before);
        before = wait;
    }
}

TEST_CASE("the rate found meets the objective, and a little more does not") {
    const ServingEngine engine = constant_engine({.max_sequences = 1}, 10);
    const auto requests = drawn({.requests = 20'000, .rate = 1 / s, .seed = 2});
    const ServiceObjective objective{.ttft = 5 * s};
    const RateSearch found = highest_rate(engine, requests, objective, 0.99);
    REQUIRE(found.rate.has_value());
    CHECK(found.saturated.in(1 / s) == rel(1, 1e-9));
    const auto missed = [&](double rate) {
        const auto arriving = spread_out(requests, 1 / rate);
        return statistics(engine, arriving, simulated(engine, arriving), objective).missed_any;
    };
    CHECK(missed(found.rate->in(1 / s)) <= 0.01);
    CHECK(missed(1.02 * found.rate->in(1 / s)) > 0.01);
    CHECK_FALSE(highest_rate(engine, requests, {.ttft = 0.5 * s}, 0.99).rate.has_value());
    CHECK(highest_rate(engine, requests, {.latency = 1 * hour * 24}, 0.99).limited_by_throughput);
}

TEST_CASE("a sequence's states take blocks of the cache that hold them") {
    const Bench bench;
    const Workload model = find_workload(models_dir(), "qwen3-next-80b-a3b-instruct");
    const Run run = completed({.precision = Precision::bf16, .parallel = {.tensor = 8}}, model, bench.gpu);
    const CacheRoom room = cache_room(model, run, bench.software, bench.gpu.profile, {});
    // A GPU's 4 of 32 value heads of 128 x 128 in fp32, in 36 of 48 layers, and the convolutions' last three inputs in addition to them.
    const double states = 36 * 4 * 128 * 128 * 4, block = 16 * room.per_token.in(byte);
    CHECK(static_cast<double>(room.state_blocks) * block > states);
    CHECK(static_cast<double>(room.state_blocks) * block < 1.05 * states + block);
    CHECK(cache_room(bench.llama, bench.request(), bench.software, bench.gpu.profile, {}).state_blocks == 0);
}

TEST_CASE("the cache gets what weights, activations and framework leave") {
    const Bench bench;
    const CacheRoom room = cache_room(bench.llama, bench.request(), bench.software, bench.gpu.profile, {});
    const MemoryEstimate memory = memory_estimate(bench.llama, bench.request(), bench.software);
    CHECK(room.weights == memory.weights);
    // 32 layers, 8 KV heads of 128, keys and values, 2 bytes: 131072 bytes a token.
    CHECK(room.per_token.in(byte) == rel(131072, 1e-12));
    CHECK((room.weights + room.activations + room.overhead + room.cache).in(gib) == rel(0.9 * 80 * 0.985, 1e-9));
    CHECK(static_cast<double>(room.blocks) == rel(room.cache.in(byte) / (16 * 131072), 1e-4));
    // TensorRT-LLM takes its part of what is free.
    Run of_free = bench.request();
    of_free.software = "tensorrt-llm";
    const CacheRoom free = cache_room(bench.llama, of_free, bench.software, bench.gpu.profile, {});
    CHECK((free.weights + free.activations + free.overhead + free.cache / 0.9).in(gib) == rel(80 * 0.985, 1e-9));
    SchedulerOptions small;
    small.memory_fraction = 0.2;  // 16 GB: just the weights
    CHECK_THROWS_AS(cache_room(bench.llama, bench.request(), bench.software, bench.gpu.profile, small), Error);
}

TEST_CASE("a whole answer is bounded by its interval and counts what cannot be served") {
    const Bench bench;
    const ServingQuestion question{.request = bench.request(), .options = {}, .objective = {.ttft = 1 * s}, .attainment = {}};
    std::vector<ServingRequest> requests = varied(500, 4);
    requests[3].prompt_tokens = 200'000;  // more than the model's 131072
    const ServingAnswer answer = serve(bench.llama, bench.gpu, bench.software, question, requests);
    CHECK(answer.served == 499);
    CHECK(answer.refused[static_cast<std::size_t>(Refusal::context)] == 1);
    REQUIRE(answer.low.has_value());
    CHECK(answer.low->time_scale == answer.intervals->latency.low);
    CHECK(answer.low->statistics.latency.mean < answer.high->statistics.latency.mean);
    CHECK_THROWS_AS(serve(bench.llama, bench.gpu, bench.software, question, {{0 * s, 200'000, 1}}), Error);
    const Workload bert = find_workload(models_dir(), "bert-base");
    CHECK_THROWS_AS(serve(bert, bench.gpu, bench.software, question, requests), Error);
}

TEST_CASE("more requests than an engine finishes overload it, fewer do not") {
    // One request a second is all that one place with steps of a second serves.
    const ServingEngine engine = constant_engine({.max_sequences = 1}, 10);
    const auto found = [&](double rate, std::int64_t count) {
        const auto requests = drawn({.requests = count, .rate = rate / s, .seed = 3});
        return overload(engine, requests, simulated(engine, requests));
    };
    for (const double rate : {0.3, 0.7, 0.9}) CHECK_FALSE(found(rate, 4000));
    const auto twice = found(2, 4000);
    REQUIRE(twice);
    CHECK(twice->offered.in(1 / s) == rel(2, 0.05));
    CHECK(twice->sustained.in(1 / s) == rel(1, 0.01));
    CHECK(found(1.2, 4000));
    CHECK_FALSE(found(2, 4));  // too few to tell
}

TEST_CASE("an engine that serves many at once is overloaded beyond its largest batch") {
    const Bench bench;
    const ServingEngine engine = bench.engine({.max_sequences = 32}, 100'000);
    const auto found = [&](double rate) {
        const auto requests = varied(1500, rate);
        return overload(engine, requests, simulated(engine, requests));
    };
    const auto far_beyond = found(200);
    REQUIRE(far_beyond);
    const double capacity = far_beyond->sustained.in(1 / s);
    CHECK_FALSE(found(0.8 * capacity));
    CHECK(found(1.3 * capacity));
    ServingEngine users = engine;
    users.users = 64;
    const auto requests = varied(1500, 1);
    CHECK_FALSE(overload(users, requests, simulated(users, requests)));  // they wait
}

TEST_CASE("every figure of a simulation lies within its bounds, whatever the seed and the load") {
    const Bench bench;
    const std::vector<double ServingStatistics::*> shares{&ServingStatistics::missed_ttft, &ServingStatistics::missed_any};
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        for (const double rate : {2.0, 8.0, 12.0}) {
            CAPTURE(seed);
            CAPTURE(rate);
            ServingQuestion question{.request = bench.request(), .options = {.max_sequences = seed % 2 == 0 ? 256 : 8}};
            question.objective.ttft = 100 * ms;
            const auto requests = drawn({.requests = 60,
                                         .rate = rate / s,
                                         .prompt_mean = 300,
                                         .prompt_cv = 0.6,
                                         .output_mean = 60,
                                         .output_cv = 0.8,
                                         .seed = seed});
            const ServingAnswer answer = serve(bench.llama, bench.gpu, bench.software, question, requests);
            if (!answer.bounds) {
                CHECK(answer.predicted.overload);
                continue;
            }
            const auto within = [&](const auto& figure) {
                CHECK(figure(answer.bounds->low) <= figure(answer.predicted.statistics));
                if (answer.bounds->high) CHECK(figure(answer.predicted.statistics) <= figure(*answer.bounds->high));
            };
            for (const auto figure : {&Spread::mean, &Spread::p50, &Spread::p90, &Spread::p95, &Spread::p99}) {
                within([&](const ServingStatistics& x) { return x.ttft.*figure; });
                within([&](const ServingStatistics& x) { return (*x.tpot).*figure; });
                within([&](const ServingStatistics& x) { return x.latency.*figure; });
                within([&](const ServingStatistics& x) { return x.wait.*figure; });
            }
            for (const auto share : shares) within([&](const ServingStatistics& x) { return x.*share; });
        }
    }
}

TEST_CASE("bounds are the least and the largest of the three cases, and an overload has none above") {
    ServingCase predicted, low, high;
    predicted.statistics.ttft.p99 = 10 * ms;
    low.statistics.ttft.p99 = 12 * ms;  // shorter steps, and a longer wait all the same
    high.statistics.ttft.p99 = 11 * ms;
    CHECK(bounds_of(predicted, low, high).low.ttft.p99 == 10 * ms);
    CHECK(bounds_of(predicted, low, high).high->ttft.p99 == 12 * ms);
    high.overload = Overload{2 / s, 1 / s};
    CHECK_FALSE(bounds_of(predicted, low, high).high);
    CHECK(bounds_of(predicted, low, high).low.ttft.p99 == 10 * ms);
}

TEST_CASE("room for a cache that is not there is none, and serving it is no answer") {
    const Bench bench;
    const SchedulerOptions small{.memory_fraction = 0.1};
    const CacheRoom room = cache_room_left(bench.llama, bench.request(), bench.software, bench.gpu.profile, small);
    CHECK(room.blocks == 0);
    CHECK(room.taken(small.block_tokens) > room.available);
    CHECK_THROWS_AS(cache_room(bench.llama, bench.request(), bench.software, bench.gpu.profile, small), NoAnswer);
}

TEST_CASE("windows of a sequence are kept once, and padded experts take the room that they take on the GPU") {
    const Bench bench;
    const Workload oss = find_workload(models_dir(), "gpt-oss-20b");
    const auto room_of = [&](const std::string& engine, std::int64_t prompt) {
        Run run{.prompt_tokens = prompt, .generate_tokens = 1, .precision = Precision::bf16};
        run.software = engine;
        return cache_room_left(oss, completed(run, oss, bench.gpu), bench.software, bench.gpu.profile, {});
    };
    // 12 of 24 layers grow: 2 × 8 heads × 64 × 2 bytes; the others keep 128 tokens: as much as 128 tokens of the full layers.
    const CacheRoom room = room_of("", 4096);
    CHECK(room.per_token.in(byte) == rel(12 * 2048.0, 1e-12));
    CHECK(room.state_blocks == 128 / 16);
    CHECK(room_of("", 31).state_blocks == 2);  // 32 tokens, of which windows hold all
    // Ampere, Marlin: 24 layers of 32 experts of three matrices of 2,880 × 2,880, rounded up to 3,072 × 2,944, in 4.25 bits.
    // Cosines and sines of 131,072 positions: 64 numbers of 2 bytes.
    CHECK((room_of("vllm", 4096).weights - room.weights).in(byte) ==
          rel(24 * 32 * 3 * (3072.0 * 2944 - 2880.0 * 2880) * 4.25 / 8 + 131'072 * 64 * 2, 1e-9));
}
