#include <doctest/doctest.h>

#include "roofcast/recommendation.hpp"
#include "scenario/queueing_engine.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::rel;

namespace {

/// Recommendations of a model on two GPUs of 1 USD an hour.
struct Fixture {
    std::vector<Gpu> gpus{load_gpu(test::gpus_dir(), "a100-sxm4-80gb"), load_gpu(test::gpus_dir(), "rtx-4090")};
    std::vector<Contestant> contestants;
    SoftwareStacks software = load_software(test::gpus_dir());
    Workload workload = find_workload(test::models_dir(), "llama-3.1-8b");
    RecommendationRequest request;

    Fixture() {
        for (const Gpu& gpu : gpus) contestants.push_back({&gpu, given_price(PriceKind::on_demand_hour, 1 * usd, "--usd-per-hour")});
        request.objective = {.ttft = 200 * ms, .tpot = 30 * ms};
        request.rate = 5 / s;
        request.queueing = QueueingTest{};
    }
    [[nodiscard]] Recommendation recommended() const { return recommend(workload, contestants, request, software); }
    [[nodiscard]] Recommendation without_queueing() const {
        RecommendationRequest plain = request;
        plain.queueing.reset();
        return recommend(workload, contestants, plain, software);
    }

    /// Copies of four sequences each: one batch in time for 200 ms, but many wait for a place in it.
    void fix_batch() {
        request.run.shape.batch = 4;
        request.batch_fixed = true;
    }

    /// P99 of TTFT as serve-sim has it.
    [[nodiscard]] Seconds served_ttft(const Deployment& d, std::int64_t copies) const {
        RunRequest run;
        run.shape.precision = d.precision;
        run.shape.parallel = d.parallel;
        run.shape.parallel.data = copies;
        const Gpu& gpu = gpus[d.gpu];
        const ServingQuestion question{.request = completed(run, workload, gpu),
                                       .options = {.max_sequences = d.batch, .memory_fraction = 1},
                                       .objective = request.objective,
                                       .share = {}};
        const auto requests =
            drawn({.requests = request.queueing->requests, .rate = *request.rate, .prompt_mean = 512, .output_mean = 128, .seed = 0});
        return serve(workload, gpu, software, question, requests).predicted.statistics.ttft.p99;
    }
};

bool same(const std::vector<Deployment>& a, const std::vector<Deployment>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Deployment& x, const Deployment& y) {
        return x.gpu == y.gpu && x.parallel.gpus() == y.parallel.gpus() && x.parallel.data == y.parallel.data && x.batch == y.batch &&
               x.cost->per_item == y.cost->per_item && x.cost->per_item_high == y.cost->per_item_high;
    });
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "at a rate so low that no request meets another, random arrivals change no recommendation") {
    request.rate = 0.001 / s;
    const Recommendation with = recommended(), without = without_queueing();
    CHECK(with.queueing.why_not.empty());
    CHECK(with.queueing.simulations > 0);
    CHECK(same(with.ranked, without.ranked));
    CHECK(same(with.front, without.front));
    CHECK(with.deployments == without.deployments);
    REQUIRE(with.ranked.front().load);
    CHECK_FALSE(with.ranked.front().load->miss);
    CHECK_FALSE(without.ranked.front().load);
}

TEST_CASE_FIXTURE(Fixture,
                  "where requests wait too long a recommendation takes more copies: the fewest with which serve-sim keeps the limit") {
    fix_batch();
    const Recommendation with = recommended(), without = without_queueing();
    const Deployment& best = with.ranked.front();
    REQUIRE(best.load);
    REQUIRE(best.parallel.data > best.load->batch_copies);
    CHECK(served_ttft(best, best.parallel.data).in(s) == rel(best.load->ttft->in(s), 1e-9));
    CHECK(*best.load->ttft <= 200 * ms);
    REQUIRE(best.load->miss);
    CHECK(best.load->miss->metric == "TTFT");
    CHECK(best.load->miss->copies == best.parallel.data - 1);
    CHECK(served_ttft(best, best.parallel.data - 1).in(s) == rel(best.load->miss->seen.in(s), 1e-9));
    CHECK(best.load->miss->seen > 200 * ms);
    CHECK(best.cost->per_item > without.ranked.front().cost->per_item);
    for (std::size_t i = 1; i < with.ranked.size(); ++i) CHECK(with.ranked[i - 1].cost->per_item <= with.ranked[i].cost->per_item);
    for (const Deployment& d : with.front) CHECK(d.load.value().requests > 0);
}

TEST_CASE_FIXTURE(Fixture, "what the budget leaves no copies for falls out of a recommendation because of queueing, and its GPU with it") {
    fix_batch();
    request.budget = without_queueing().ranked.front().cost->rate;
    const Recommendation without = without_queueing(), with = recommended();
    REQUIRE_FALSE(without.ranked.empty());
    CHECK(with.ranked.empty());
    CHECK(with.front.empty());
    REQUIRE_FALSE(with.queueing.overloaded.empty());
    const Deployment& d = with.queueing.overloaded.front();
    CHECK(d.outcome == Outcome::queueing);
    CHECK(d.excess == rel(d.load->miss->seen / d.load->miss->limit, 1e-12));
    CHECK(d.excess > 1);
    CHECK(with.gpus[d.gpu].outcome == Outcome::queueing);
    CHECK(with.gpus[d.gpu].nearest.value().outcome == Outcome::queueing);
    const auto count = [](const Recommendation& r, Outcome o) { return r.deployments[static_cast<std::size_t>(o)]; };
    CHECK(count(with, Outcome::queueing) == count(without, Outcome::meets));
    CHECK(count(with, Outcome::meets) == 0);
}

TEST_CASE_FIXTURE(Fixture, "by bound the simulated steps of a recommendation take as long as they may") {
    request.rate = 0.5 / s;
    const Recommendation plain = recommended();
    request.by_bound = true;
    const Recommendation bound = recommended();
    std::size_t longer = 0;
    for (const Deployment& b : bound.ranked) {
        if (b.load) CHECK(*b.load->ttft <= 200 * ms);
        for (const Deployment& p : plain.ranked) {
            const bool both = b.load && p.load && b.gpu == p.gpu && b.parallel.tensor == p.parallel.tensor;
            if (!both || b.parallel.data != p.parallel.data) continue;
            // An interval may end at its figure.
            CHECK(*b.load->tpot >= *p.load->tpot);
            longer += *b.load->tpot > *p.load->tpot ? 1 : 0;
        }
    }
    CHECK(longer > 0);
}

TEST_CASE_FIXTURE(Fixture, "recommendations under random arrivals are the same every time, and another seed only moves them a little") {
    fix_batch();
    const Recommendation once = recommended(), again = recommended();
    CHECK(same(once.ranked, again.ranked));
    CHECK(once.queueing.simulations == again.queueing.simulations);
    CHECK(*once.ranked.front().load->ttft == *again.ranked.front().load->ttft);
    request.queueing->seed = 1;
    const Recommendation other = recommended();
    CHECK(other.ranked.front().parallel.data >= once.ranked.front().parallel.data - 1);
    CHECK(other.ranked.front().parallel.data <= once.ranked.front().parallel.data + 1);
}

TEST_CASE_FIXTURE(Fixture, "a recommendation says why nothing was simulated") {
    CHECK(without_queueing().queueing.why_not == "it was not asked for");
    request.rate.reset();
    CHECK(recommended().queueing.why_not == "no rate says when requests arrive");
    request.rate = 5 / s;
    request.run.techniques.kv_block = 16;
    CHECK(recommended().queueing.why_not == "the simulated engine has none of the techniques asked for");
    request.run.techniques = {};
    workload = find_workload(test::models_dir(), "resnet50");
    request.objective = {.latency = 1 * s};
    CHECK(recommended().queueing.why_not == "resnet50 is not a language model");
    workload = find_workload(test::models_dir(), "llama-3.2-11b-vision");
    CHECK(recommended().queueing.why_not == "llama-3.2-11b-vision keeps images in layers of cross attention");
}

TEST_CASE_FIXTURE(Fixture, "a limit that a request misses alone is none that more copies help to keep") {
    request.objective.ttft = 1 * us;
    Deployment d;
    d.precision = Precision::bf16;
    d.weights = native_weights(Precision::bf16);
    QueueingEngine engine(workload, contestants[0], request, software, d);
    CHECK(engine.error().empty());
    const auto alone = engine.alone(1).miss, crowded = engine.under_load(3, 1).miss;
    REQUIRE(alone);
    CHECK_FALSE(alone->copies);
    CHECK(crowded.value().copies == 3);
    CHECK(crowded->seen > alone->seen);
    CHECK(engine.simulations() == 2);
    engine.under_load(3, 1);  // known
    CHECK(engine.simulations() == 2);
}

TEST_CASE_FIXTURE(Fixture, "an engine without room for a cache says so") {
    workload = find_workload(test::models_dir(), "llama-3.1-70b");
    Deployment d;
    d.precision = Precision::bf16;
    d.weights = native_weights(Precision::bf16);
    CHECK(
        QueueingEngine(workload, contestants[0], request, software, d).error().starts_with("llama-3.1-70b leaves no room for a KV cache"));
}

TEST_CASE_FIXTURE(Fixture, "more copies of a recommended deployment do more, draw more and cost more") {
    request.queueing.reset();
    const Deployment two = recommended().ranked.front();
    const std::int64_t copies = two.parallel.data;
    const Deployment more = with_copies(two, 3 * copies, contestants[two.gpu], request);
    CHECK(more.figures->capacity.in(1 / s) == rel(3 * two.figures->capacity.in(1 / s), 1e-12));
    CHECK(more.figures->watts->in(watt) == rel(3 * two.figures->watts->in(watt), 1e-12));
    CHECK(more.cost->per_item.in(usd) == rel(3 * two.cost->per_item.in(usd), 1e-12));
    // The bounds take as many copies more as the middle: an hour has 18,000 requests, a GPU is 1 USD.
    const double added = static_cast<double>(2 * copies * two.parallel.tensor) / 18'000;
    CHECK(more.cost->per_item_low->in(usd) == rel(two.cost->per_item_low->in(usd) + added, 1e-9));
    CHECK(more.cost->per_item_high->in(usd) == rel(two.cost->per_item_high->in(usd) + added, 1e-9));
}

TEST_CASE("simulations of a recommendation take fewer requests where outputs are long and more where copies are many") {
    const QueueingTest test;
    CHECK(simulated_requests(test, 1, 128) == 4000);
    CHECK(simulated_requests(test, 1, 1) == 4000);
    CHECK(simulated_requests(test, 1, 256) == 2048);  // 2^19 output tokens
    CHECK(simulated_requests(test, 1, 100'000) == 500);
    CHECK(simulated_requests(test, 100, 128) == 10'000);
}

TEST_CASE_FIXTURE(Fixture, "the images of each request take tokens and a pass of the vision part") {
    workload = find_workload(test::models_dir(), "qwen2.5-vl-3b");
    request.objective = {.ttft = 2 * s};
    request.run.shape.prompt_tokens = 128;
    Deployment d;
    d.precision = Precision::bf16;
    d.weights = native_weights(Precision::bf16);
    const auto ttft = [&](std::int64_t images) {
        request.run.shape.images = images;
        QueueingEngine engine(workload, contestants[0], request, software, d);
        REQUIRE(engine.error().empty());
        return *engine.alone(1).ttft;
    };
    const Seconds one = ttft(1), four = ttft(4);
    CHECK(four > 2 * one);
    // As predict has it for a request that is alone, up to what chunks of its prompt add.
    RunRequest run = request.run;
    run.shape.precision = Precision::bf16;
    CHECK(four.in(ms) == rel(predict(workload, gpus[0], run, software).ttft->in(ms), 0.1));
}
