// Schedules that a hand can follow: every step takes one second.
#include <doctest/doctest.h>

#include "roofcast/serving.hpp"
#include "scenario/constant_steps.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::constant_engine;
using test::rel;

namespace {

constexpr double tolerance = 1e-9;  // parts of 1e-12 s add up

}  // namespace

TEST_CASE("a prompt yields the first token and each decode step one more") {
    const ServingEngine engine = constant_engine({}, 100);
    // A: prompt in [0, 1], tokens at 1, 2, 3. B arrives in A's first step and joins in its second: tokens at 2, 3.
    const std::vector<ServingRequest> requests{{0 * s, 4, 3}, {0.5 * s, 4, 2}};
    const ServingRun run = simulated(engine, requests);
    CHECK(run.times[0].first_token.in(s) == rel(1, tolerance));
    CHECK(run.times[0].finished.in(s) == rel(3, tolerance));
    CHECK(run.times[1].started.in(s) == rel(1, tolerance));
    CHECK(run.times[1].first_token.in(s) == rel(2, tolerance));
    CHECK(run.times[1].finished.in(s) == rel(3, tolerance));
    CHECK(run.load.steps == 3);
    CHECK(run.load.tokens == 5);
    CHECK(run.load.waiting.in(s) == rel(0.5, tolerance));      // B for half a second
    CHECK(run.load.in_engine.in(s) == rel(3 + 2, tolerance));  // A for 3 s, B for 2 s
    CHECK(run.load.batch.in(s) == rel(1 + 2 + 2, tolerance));
}

TEST_CASE("steps of speculative decoding yield the tokens expected, whole ones in turn") {
    ServingEngine engine = constant_engine({}, 100);
    engine.tokens_per_step = 1.5;
    // First token at 1; then 1, 2, 1, 2 tokens: seven tokens at 5.
    const ServingRun run = simulated(engine, {{0 * s, 4, 7}});
    CHECK(run.times[0].first_token.in(s) == rel(1, tolerance));
    CHECK(run.times[0].finished.in(s) == rel(5, tolerance));
    CHECK(run.load.tokens == 7);
    CHECK(run.load.blocks_left == 0);
    // The sixth token comes with the seventh's step; what a step yields too much is not counted.
    const ServingRun six = simulated(engine, {{0 * s, 4, 6}});
    CHECK(six.times[0].finished.in(s) == rel(5, tolerance));
    CHECK(six.load.tokens == 6);
    // A cache of four blocks of one token: sequences leave in the middle of a step, and every block comes back.
    ServingEngine tight = constant_engine({.block_tokens = 1}, 8);
    tight.tokens_per_step = 2;
    const ServingRun full = simulated(tight, {{0 * s, 2, 5}, {0 * s, 2, 5}, {0 * s, 2, 5}});
    CHECK(full.load.preemptions > 0);
    CHECK(full.load.blocks_left == 0);
    for (const RequestTimes& t : full.times) CHECK(t.finished > t.first_token);
}

TEST_CASE("speculative decoding loses no token and no block, however tight the cache") {
    for (const double tokens_per_step : {1.25, 1.9, 2.6, 4.0}) {
        for (const auto& [batching, chunked] : {std::pair(Batching::mixed, true), std::pair(Batching::mixed, false),
                                                std::pair(Batching::prompts_first, true), std::pair(Batching::prompts_first, false)}) {
            for (const Admission admission : {Admission::prompt, Admission::output}) {
                CAPTURE(tokens_per_step);
                CAPTURE(chunked);
                ServingEngine engine = constant_engine({.max_sequences = 16,
                                                        .max_tokens = 64,
                                                        .batching = batching,
                                                        .chunked = chunked,
                                                        .block_tokens = 4,
                                                        .admission = admission},
                                                       40);
                engine.tokens_per_step = tokens_per_step;
                auto requests = drawn(
                    {.requests = 300, .rate = 2 / s, .prompt_mean = 12, .prompt_cv = 0.5, .output_mean = 12, .output_cv = 0.8, .seed = 3});
                std::erase_if(requests, [&](const ServingRequest& r) { return refusal(engine, r).has_value(); });
                std::int64_t tokens = 0;
                for (const ServingRequest& r : requests) tokens += r.output_tokens;
                const ServingRun run = simulated(engine, requests);
                CHECK(run.load.tokens == tokens);
                CHECK(run.load.blocks_left == 0);
                CHECK(run.load.most_blocks <= 40);
                CHECK((admission == Admission::output || run.load.preemptions > 0));
            }
        }
    }
}

TEST_CASE("prompts are chunked, and decodes go on with them") {
    const ServingEngine engine = constant_engine({.max_tokens = 8, .chunk = 3}, 100);
    // A: 2 tokens at once, output at 1, 2, 3, 4. B: 7 tokens as 3, 3, 1 in the steps that end at 2, 3, 4 beside A's decodes.
    const ServingRun run = simulated(engine, {{0 * s, 2, 4}, {0.1 * s, 7, 1}});
    CHECK(run.times[0].finished.in(s) == rel(4, tolerance));
    CHECK(run.times[1].started.in(s) == rel(1, tolerance));
    CHECK(run.times[1].first_token.in(s) == rel(4, tolerance));
    CHECK(run.times[1].finished.in(s) == rel(4, tolerance));
}

TEST_CASE("whole prompts go first, and decodes wait for them") {
    const ServingEngine engine = constant_engine({.max_tokens = 8, .batching = Batching::prompts_first, .chunked = false}, 100);
    // A's prompt [0, 1]; B's [1, 2] while A waits; then both decode: A at 3, 4, B at 3. C does not fit beside B in 8 tokens: [2, 3] is
    // its own, and A and B wait for it too.
    const ServingRun two = simulated(engine, {{0 * s, 2, 3}, {0.1 * s, 5, 2}});
    CHECK(two.times[0].finished.in(s) == rel(4, tolerance));
    CHECK(two.times[1].finished.in(s) == rel(3, tolerance));
    const ServingRun three = simulated(engine, {{0 * s, 2, 3}, {0.1 * s, 5, 2}, {0.2 * s, 4, 1}});
    CHECK(three.times[2].first_token.in(s) == rel(3, tolerance));
    CHECK(three.times[1].finished.in(s) == rel(4, tolerance));
    CHECK(three.times[0].finished.in(s) == rel(5, tolerance));
}

TEST_CASE("states of recurrent layers hold their place in the cache from a sequence's entry to its end") {
    // A block for the tokens of each and nine for its state: two of three fit 20 blocks, and the third enters when they end.
    ServingEngine engine = constant_engine({}, 20);
    const std::vector<ServingRequest> requests{{0 * s, 4, 3}, {0 * s, 4, 3}, {0 * s, 4, 1}};
    CHECK(simulated(engine, requests).times[2].first_token.in(s) == rel(1, tolerance));
    engine.state_blocks = 9;
    const ServingRun run = simulated(engine, requests);
    CHECK(run.times[1].finished.in(s) == rel(3, tolerance));
    CHECK(run.times[2].first_token.in(s) == rel(4, tolerance));
    CHECK(run.load.blocks_left == 0);
    engine.state_blocks = 20;
    CHECK(refusal(engine, requests[0]) == Refusal::cache);
}

TEST_CASE("no more sequences are in the engine than allowed, first come, first served") {
    const ServingEngine engine = constant_engine({.max_sequences = 1}, 100);
    const ServingRun run = simulated(engine, {{0 * s, 2, 2}, {0.1 * s, 2, 1}, {0.2 * s, 2, 1}});
    CHECK(run.times[1].started.in(s) == rel(2, tolerance));
    CHECK(run.times[2].started.in(s) == rel(3, tolerance));
    CHECK(run.load.most_waiting == 2);
}

TEST_CASE("a sequence enters when its prompt's blocks are there, and the latest leaves when the cache is full") {
    // Blocks of 2 tokens. Four of them: A and B hold one each for prompts of 2. Both take a second block in the step that ends at 2 (the
    // third token of each), and a third one in that which ends at 4: B leaves, with 2 prompt and 3 output tokens to compute again (3
    // blocks). A holds 3 and ends at 4 with its fourth token; B is computed again in [4, 5], which yields its fourth token.
    const ServingEngine engine = constant_engine({.max_sequences = 4, .max_tokens = 8, .block_tokens = 2}, 4);
    const ServingRun run = simulated(engine, {{0 * s, 2, 4}, {0 * s, 2, 4}});
    CHECK(run.load.preemptions == 1);
    CHECK(run.times[0].finished.in(s) == rel(4, tolerance));
    CHECK(run.times[1].first_token.in(s) == rel(1, tolerance));
    CHECK(run.times[1].finished.in(s) == rel(5, tolerance));
    CHECK(run.load.tokens == 8);
    CHECK(run.load.blocks_left == 0);
    CHECK(run.load.most_blocks == 4);
}

TEST_CASE("where the room for its output is taken too, a sequence waits, and none leaves") {
    // As above. Prompts of 2 and 4 tokens of output, the last of which takes no place: 3 of 4 blocks each, so that B waits for A's end.
    const ServingEngine engine =
        constant_engine({.max_sequences = 4, .max_tokens = 8, .block_tokens = 2, .admission = Admission::output}, 4);
    const ServingRun run = simulated(engine, {{0 * s, 2, 4}, {0 * s, 2, 4}});
    CHECK(run.load.preemptions == 0);
    CHECK(run.times[0].finished.in(s) == rel(4, tolerance));
    CHECK(run.times[1].started.in(s) == rel(4, tolerance));
    CHECK(run.times[1].finished.in(s) == rel(8, tolerance));
    CHECK(run.load.most_blocks == 3);
    CHECK(run.load.blocks_left == 0);
}

TEST_CASE("users send their next request when the one before is finished") {
    ServingEngine engine = constant_engine({}, 100);
    engine.users = 2;
    // A and B at 0, whatever their arrivals say. B ends at 1, C comes then and ends at 3; A ends at 3. D comes at 3.
    const std::vector<ServingRequest> requests{{0 * s, 4, 3}, {7 * s, 4, 1}, {8 * s, 4, 2}, {9 * s, 4, 1}};
    const ServingRun run = simulated(engine, requests);
    CHECK(run.times[1].arrived == Seconds{});
    CHECK(run.times[1].finished.in(s) == rel(1, tolerance));
    CHECK(run.times[2].arrived.in(s) == rel(1, tolerance));
    CHECK(run.times[2].finished.in(s) == rel(3, tolerance));
    CHECK(run.times[3].arrived.in(s) == rel(3, tolerance));
    CHECK(run.load.end.in(s) == rel(4, tolerance));
    CHECK(run.load.waiting.in(s) == 0);
    CHECK(statistics(engine, requests, run, {}).latency.mean.in(s) == rel((3.0 + 1 + 2 + 1) / 4, tolerance));
    // Copies share the users out: the second has one, whose requests come one after the other.
    engine.copies = 2;
    engine.users = 3;
    const ServingRun two = simulated(engine, {{0 * s, 1, 2}, {0 * s, 1, 3}, {0 * s, 1, 2}, {0 * s, 1, 3}});
    CHECK(two.times[2].arrived == Seconds{});
    CHECK(two.times[3].arrived.in(s) == rel(3, tolerance));
}

TEST_CASE("cached prefixes are not computed, in whole blocks, and the last token always is") {
    const auto first_token = [](double cached, std::int64_t prompt) {
        SchedulerOptions options{.max_sequences = 4, .max_tokens = 4};
        options.block_tokens = 4;
        options.prefix_cached = cached;
        return simulated(constant_engine(options, 100), {{0 * s, prompt, 1}}).times[0].first_token.in(s);
    };
    CHECK(first_token(0, 16) == rel(4, tolerance));
    CHECK(first_token(0.5, 16) == rel(2, tolerance));    // 8 of 16
    CHECK(first_token(0.7, 16) == rel(2, tolerance));    // 11 of 16: two whole blocks
    CHECK(first_token(0.99, 400) == rel(1, tolerance));  // 396 of 400
}

TEST_CASE("data-parallel copies take requests in turn") {
    ServingEngine engine = constant_engine({.max_sequences = 1}, 100);
    engine.copies = 2;
    const ServingRun run = simulated(engine, {{0 * s, 1, 3}, {0 * s, 1, 1}, {0 * s, 1, 1}});
    CHECK(run.times[1].finished.in(s) == rel(1, tolerance));  // on the second copy
    CHECK(run.times[2].finished.in(s) == rel(4, tolerance));  // after the first request's 3 s, though the second copy is free
    CHECK(run.load.end.in(s) == rel(4, tolerance));
    const ServingStatistics x = statistics(engine, {{0 * s, 1, 3}, {0 * s, 1, 1}, {0 * s, 1, 1}}, run, {});
    CHECK(x.busy == rel((4.0 + 1) / 8, tolerance));
}

TEST_CASE("requests that can never be served are told apart") {
    SchedulerOptions options{.max_tokens = 64, .chunked = false, .block_tokens = 4};
    ServingEngine engine = constant_engine(options, 10);
    engine.max_context = 30;
    CHECK(refusal(engine, {0 * s, 30, 1}) == std::nullopt);  // the last token is not read back
    CHECK(refusal(engine, {0 * s, 30, 2}) == Refusal::context);
    engine.max_context = 0;
    CHECK(refusal(engine, {0 * s, 30, 11}) == std::nullopt);  // 40 tokens in 10 blocks
    CHECK(refusal(engine, {0 * s, 30, 12}) == Refusal::cache);
    engine.cache_blocks = 100;
    CHECK(refusal(engine, {0 * s, 65, 1}) == Refusal::step);
    engine.options.chunked = true;
    CHECK(refusal(engine, {0 * s, 65, 1}) == std::nullopt);
}

TEST_CASE("percentiles, rates and misses are those of the requests") {
    const ServingEngine engine = constant_engine({.max_sequences = 1}, 100);
    // One after the other: TTFT 1, 2, 3, 4 s.
    const std::vector<ServingRequest> requests(4, {0 * s, 1, 1});
    const ServingStatistics x = statistics(engine, requests, simulated(engine, requests), {.ttft = 2.5 * s, .latency = 3.5 * s});
    CHECK(x.ttft.mean.in(s) == rel(2.5, tolerance));
    CHECK(x.ttft.p50.in(s) == rel(2.5, tolerance));
    CHECK(x.ttft.p90.in(s) == rel(3.7, tolerance));  // 1 + 0.9 · 3, linear between
    CHECK(x.wait.mean.in(s) == rel(1.5, tolerance));
    CHECK_FALSE(x.tpot.has_value());
    CHECK(x.requests_per_second == rel(1, tolerance));
    CHECK(x.missed_ttft == rel(0.5, tolerance));
    CHECK(x.missed_latency == rel(0.25, tolerance));
    CHECK(x.missed_any == rel(0.5, tolerance));
}

TEST_CASE("images are encoded once for each time that a prompt enters") {
    ServingEngine engine = constant_engine({.max_tokens = 4, .chunk = 2}, 100);
    engine.steps.encoded = test::single();
    engine.steps.vision_part = {std::log(10.0)};
    // A's first chunk [0, 11], its second [11, 12]; B's only one [12, 23].
    const ServingRun run = simulated(engine, {{0 * s, 4, 1}, {1 * s, 2, 1}});
    CHECK(run.times[0].first_token.in(s) == rel(11 + 1, tolerance));
    CHECK(run.times[1].started.in(s) == rel(12, tolerance));
    CHECK(run.times[1].first_token.in(s) == rel(12 + 11, tolerance));
}

TEST_CASE("a prompt that gave its room back is encoded anew") {
    ServingEngine engine = constant_engine({.block_tokens = 1}, 6);
    const std::vector<ServingRequest> requests{{0 * s, 2, 4}, {0 * s, 2, 3}};
    const ServingRun text = simulated(engine, requests);
    REQUIRE(text.load.preemptions == 1);
    engine.steps.encoded = test::single();
    engine.steps.vision_part = {std::log(10.0)};
    // One step encodes for both (one point on the axis), one for the second when it comes back.
    CHECK((simulated(engine, requests).load.busy - text.load.busy).in(s) == rel(20, tolerance));
}

TEST_CASE("a simulation is given up once enough requests are beyond a limit, and else runs as it would") {
    // One request at a time, two steps of a second each, all there at the start: the n-th has its first token after 2n − 1 seconds.
    const ServingEngine engine = constant_engine({.max_sequences = 1}, 100);
    const std::vector<ServingRequest> requests(10, ServingRequest{0 * s, 2, 2});
    const ServingRun whole = simulated(engine, requests);
    CHECK(whole.complete);
    CHECK(whole.load.most_running == 1);
    // Three are beyond 4 s when the fifth is finished, after 10 s.
    const ServingRun given_up = simulated(engine, requests, EarlyEnd{{.ttft = 4 * s}, 3});
    CHECK_FALSE(given_up.complete);
    CHECK(given_up.load.end.in(s) == rel(10, tolerance));
    CHECK(given_up.times[4].finished == whole.times[4].finished);
    CHECK(given_up.times[5].finished == Seconds{});
    const ServingRun kept = simulated(engine, requests, EarlyEnd{{.ttft = 4 * s}, 9});
    CHECK(kept.complete);
    CHECK(kept.load.end == whole.load.end);
    CHECK(kept.times.back().finished == whole.times.back().finished);
}
