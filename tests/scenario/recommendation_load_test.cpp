#include <doctest/doctest.h>

#include <cmath>

#include "roofcast/recommendation.hpp"
#include "scenario/copies_under_load.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::rel;

namespace {

/// Deployments of a model on two GPUs of 1 USD an hour, under random arrivals.
struct LoadFixture {
    std::vector<Gpu> gpus{load_gpu(test::gpus_dir(), "a100-sxm4-80gb"), load_gpu(test::gpus_dir(), "rtx-4090")};
    std::vector<Contestant> contestants;
    SoftwareStacks software = load_software(test::software_dir());
    Workload workload = find_workload(test::models_dir(), "llama-3.1-8b");
    RecommendationRequest request;

    LoadFixture() {
        for (const Gpu& gpu : gpus) contestants.push_back({&gpu, given_price(PriceKind::on_demand_hour, 1 * usd, "--usd-per-hour")});
        request.objective = {.ttft = 500 * ms, .tpot = 30 * ms};
        request.rate = 20 / s;
        request.load.requests = 1000;
    }
    [[nodiscard]] Recommendation recommended() const { return recommend(workload, contestants, request, software); }
    [[nodiscard]] CopiesUnderLoad settings(std::size_t gpu, std::int64_t tensor = 1) const {
        const CopySettings settings{.format = {Precision::bf16, {}, Quality::kept}, .parallel = {.tensor = tensor}};
        return {workload, contestants[gpu], request, software, settings};
    }

    /// What serve-sim says of `d` with `copies`.
    [[nodiscard]] ServingAnswer served(const Deployment& d, std::int64_t copies) const {
        Run run;
        run.precision = d.precision;
        run.parallel = d.parallel;
        run.parallel.data = copies;
        const Gpu& gpu = gpus[d.gpu];
        const ServingQuestion question{.request = completed(run, workload, gpu),
                                       .options = {.max_sequences = d.batch},
                                       .objective = request.objective,
                                       .attainment = {}};
        const auto requests =
            drawn({.requests = d.requests, .rate = *request.rate, .prompt_mean = 512, .output_mean = 128, .seed = request.load.seed});
        return serve(workload, gpu, software, question, requests);
    }
    [[nodiscard]] bool meets(const ServingStatistics& seen) const {
        return seen.ttft.p99 <= *request.objective.ttft && seen.tpot->p99 <= *request.objective.tpot;
    }
};

}  // namespace

TEST_CASE_FIXTURE(LoadFixture, "a recommended deployment has the times that serve-sim has, and one copy less misses the objective there") {
    const Recommendation r = recommended();
    REQUIRE(r.rows.size() == 2);
    CHECK(r.load.why_not.empty());
    for (const RecommendedRow& row : r.rows) {
        const Deployment& d = row.expected.value();
        const ServingStatistics seen = served(d, d.parallel.data).predicted.statistics;
        CHECK(d.ttft->in(s) == rel(seen.ttft.p99.in(s), 1e-12));
        CHECK(d.tpot->in(s) == rel(seen.tpot->p99.in(s), 1e-12));
        CHECK(meets(seen));
        CHECK(d.cost->rate.in(1 * usd / hour) == rel(static_cast<double>(d.parallel.gpus()), 1e-12));
        CHECK(d.capacity >= 0.98 * *request.rate);
        if (d.parallel.data == 1) continue;
        CHECK_FALSE(meets(served(d, d.parallel.data - 1).predicted.statistics));
        CHECK(d.shortfall->copies == d.parallel.data - 1);
    }
}

TEST_CASE_FIXTURE(LoadFixture,
                  "at the upper bound a recommended deployment meets the objective with every step as long as serve-sim's high case") {
    const Recommendation r = recommended();
    for (const RecommendedRow& row : r.rows) {
        const Deployment &expected = row.expected.value(), &upper = row.upper.value();
        const ServingStatistics seen = served(upper, upper.parallel.data).high->statistics;
        CHECK(upper.ttft->in(s) == rel(seen.ttft.p99.in(s), 1e-9));
        CHECK(upper.tpot->in(s) == rel(seen.tpot->p99.in(s), 1e-9));
        CHECK(meets(seen));
        CHECK(upper.cost->rate >= expected.cost->rate);
    }
    request.confidence = Confidence::upper;
    const Recommendation by_upper = recommended();
    for (std::size_t i = 0; i < by_upper.rows.size(); ++i) {
        CHECK(by_upper.rows[i].upper.has_value());
        if (i > 0) CHECK(by_upper.rows[i - 1].upper->cost->rate <= by_upper.rows[i].upper->cost->rate);
    }
}

TEST_CASE_FIXTURE(LoadFixture, "recommendations under load are the same every time") {
    const Recommendation once = recommended(), again = recommended();
    REQUIRE(once.rows.size() == again.rows.size());
    CHECK(once.load.simulations == again.load.simulations);
    for (std::size_t i = 0; i < once.rows.size(); ++i) {
        CHECK(once.rows[i].expected->gpu == again.rows[i].expected->gpu);
        CHECK(*once.rows[i].expected->ttft == *again.rows[i].expected->ttft);
    }
}

TEST_CASE_FIXTURE(LoadFixture, "a limit that a request misses alone is none that more copies help to keep") {
    request.objective = {.ttft = 1 * us};
    const CopiesUnderLoad slow = settings(0);
    CHECK(slow.failure(Confidence::expected)->outcome == Outcome::misses_ttft);
    CHECK(slow.failure(Confidence::expected)->excess > 1000);
    const Recommendation r = recommended();
    CHECK(r.rows.empty());
    REQUIRE(r.rejected.size() == 2);
    CHECK(r.rejected.front().outcome == Outcome::misses_ttft);
}

TEST_CASE_FIXTURE(LoadFixture, "a limit between the prediction and its upper bound is met as expected and not at the upper bound") {
    const CopiesUnderLoad generous = settings(0);
    Run run;
    run.precision = Precision::bf16;
    const Prediction alone = predict(workload, gpus[0], run, software);
    request.objective = {.tpot = std::sqrt(alone.intervals->latency.high) * *alone.tpot};
    const CopiesUnderLoad narrow = settings(0);
    CHECK_FALSE(narrow.failure(Confidence::expected));
    CHECK(narrow.failure(Confidence::upper)->outcome == Outcome::misses_tpot);
    CHECK_FALSE(generous.failure(Confidence::upper));
}

TEST_CASE_FIXTURE(LoadFixture, "fewer copies than sustain the rate are never recommended, whatever the limits") {
    request.objective = {.tpot = 1 * s};  // never missed: requests wait before their first token
    request.rate = 200 / s;
    CopiesUnderLoad slow = settings(1);
    const std::int64_t least = slow.least_copies();
    CHECK(least > 1);
    CHECK_FALSE(slow.served(least - 1, Confidence::expected));
    CHECK_FALSE(slow.shortfall(least - 1, Confidence::expected).misses);
    CHECK(slow.served(least + 1, Confidence::expected));
}

TEST_CASE_FIXTURE(LoadFixture, "fewer sequences at once keep a TPOT that bursts of many would miss") {
    // serve-sim at 4/s: P99 TPOT 16.8 ms with up to 256 sequences, 16.1 with 16, 13.8 with 8, whose P99 TTFT is 3.1 s.
    request.objective = {.ttft = 5 * s, .tpot = 15 * ms};
    request.rate = 4 / s;
    CopiesUnderLoad bursts = settings(0);
    const std::int64_t copies = 1;
    const auto limited = bursts.served(copies, Confidence::expected);
    REQUIRE(limited);
    CHECK(limited->batch == 8);
    request.batch_fixed = true;
    request.run.batch = 256;
    CHECK_FALSE(settings(0).served(copies, Confidence::expected));
}

TEST_CASE_FIXTURE(LoadFixture, "a model without room for a cache next to its weights does not fit") {
    workload = find_workload(test::models_dir(), "llama-3.1-70b");
    const CopiesUnderLoad large = settings(0);
    CHECK(large.failure(Confidence::expected)->outcome == Outcome::does_not_fit);
    CHECK(large.failure(Confidence::expected)->excess > 1);
}

TEST_CASE_FIXTURE(LoadFixture, "the images of each request take tokens and a pass of the vision part") {
    workload = find_workload(test::models_dir(), "qwen2.5-vl-3b");
    request.objective = {.ttft = 2 * s};
    request.run.prompt_tokens = 128;
    const CopySettings settings{.format = {Precision::bf16, {}, Quality::kept}, .parallel = {}};
    const auto ttft = [&](std::int64_t images) {
        request.run.images = images;
        return *SimulatedEngine(workload, gpus[0], request, software, settings).alone(1).ttft;
    };
    const Seconds one = ttft(1), four = ttft(4);
    CHECK(four > 2 * one);
    // As predict has it for a request that is alone, up to what chunks of its prompt add.
    Run run = request.run;
    run.precision = Precision::bf16;
    CHECK(four.in(ms) == rel(predict(workload, gpus[0], run, software).ttft->in(ms), 0.1));
}

TEST_CASE_FIXTURE(LoadFixture, "a recommendation says why nothing was simulated") {
    request.rate.reset();
    CHECK(recommended().load.why_not == "no `rate` of requests is given");
    request.rate = 5 / s;
    request.run.techniques.kv_block = 16;
    CHECK(recommended().load.why_not == "the simulated engine does not support the requested techniques");
    request.run.techniques = {};
    workload = find_workload(test::models_dir(), "llama-3.2-11b-vision");
    CHECK(recommended().load.why_not == "llama-3.2-11b-vision keeps images in cross-attention layers");
}

TEST_CASE("simulations of a recommendation take fewer requests where outputs are long and more where copies are many") {
    const LoadTest test;
    CHECK(simulated_requests(test, 1, 128) == 4000);
    CHECK(simulated_requests(test, 1, 1) == 4000);
    CHECK(simulated_requests(test, 1, 256) == 2048);  // 2^19 output tokens
    CHECK(simulated_requests(test, 1, 100'000) == 500);
    CHECK(simulated_requests(test, 100, 128) == 10'000);
}
