#include "roofcast/recommendation.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/workload.hpp"
#include "scenario/toy_run.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::rel;
using test::toy_device;
using test::toy_phase;

namespace {

/// 4 requests in 10 s on two GPUs, 2 s until the first token, 0.4 s a token after it: 0.4 requests per second. Measurements lie between
/// half and twice as long. 100 W boards with 20 W idling and 80 J a second of work in the first phase, 10 J a second in the second.
Prediction full_load() {
    Prediction p;
    p.request.shape = {.batch = 4, .prompt_tokens = 100, .generate_tokens = 21};
    p.request.shape.parallel.tensor = 2;
    p.phases.push_back(toy_phase("prefill", 1, 2 * s, 80 * joule));
    p.phases.push_back(toy_phase("decode", 20, 8 * s, 4 * joule));
    p.latency = 10 * s;
    p.ttft = 2 * s;
    p.tpot = 0.4 * s;
    p.items_per_second = 0.4;
    p.intervals = {.latency = {0.5, 2}, .ttft = IntervalRatio{0.5, 1.5}, .tpot = {}, .basis = "toy"};
    return p;
}

struct RecommendationFixture {
    Gpu gpu = toy_device();
    Contestant contestant{&gpu, given_price(PriceKind::on_demand_hour, 1.8 * usd, "--usd-per-hour")};
    RecommendationRequest request;
    RecommendationFixture() { request.objective.latency = 15 * s; }
    [[nodiscard]] Deployment judge() const { return judged(full_load(), contestant, request); }
};

Recommendation recommended(const char* model, const std::vector<const char*>& ids, const RecommendationRequest& request,
                           std::vector<Gpu>& gpus) {
    for (const char* id : ids) gpus.push_back(load_gpu(test::gpus_dir(), id));
    std::vector<Contestant> contestants;
    for (const Gpu& gpu : gpus) contestants.push_back({&gpu, given_price(PriceKind::on_demand_hour, 1 * usd, "--usd-per-hour")});
    return recommend(find_workload(test::models_dir(), model), contestants, request, load_software(test::gpus_dir()));
}

}  // namespace

TEST_CASE_FIXTURE(RecommendationFixture, "without a rate a recommended copy works at full load and its requests share the rent") {
    const Deployment d = judge();
    CHECK(d.outcome == Outcome::meets);
    CHECK(d.parallel.gpus() == 2);
    // Two GPUs at 1.8 USD an hour are 0.001 USD/s: 0.01 USD for 4 requests in 10 s.
    CHECK(d.cost->rate.in(usd_per_hour) == rel(3.6, 1e-12));
    CHECK(d.cost->per_item.in(usd) == rel(0.0025, 1e-12));
    CHECK(d.cost->per_item_low->in(usd) == rel(0.00125, 1e-12));
    CHECK(d.cost->per_item_high->in(usd) == rel(0.005, 1e-12));
    CHECK(d.figures->capacity.in(1 / s) == rel(0.4, 1e-12));
    // 10 s of 20 W and 160 J of work are 36 W in the mean, of two boards 72 W.
    CHECK(d.figures->watts->in(watt) == rel(72, 1e-12));
}

TEST_CASE_FIXTURE(RecommendationFixture, "a rate takes whole copies, which its requests pay for") {
    request.rate = 1 / s;
    const Deployment d = judge();
    // 1 / 0.4 = 2.5: 3 copies of two GPUs, 6 · 1.8 USD an hour over 3600 requests.
    CHECK(d.parallel.data == 3);
    CHECK(d.parallel.gpus() == 6);
    CHECK(d.figures->capacity.in(1 / s) == rel(1.2, 1e-12));
    CHECK(d.cost->per_item.in(usd) == rel(10.8 / 3600, 1e-12));
    // Half as long: 1 / 0.8 takes 2 copies; twice as long: 1 / 0.2 takes 5.
    CHECK(d.cost->per_item_low->in(usd) == rel(7.2 / 3600, 1e-12));
    CHECK(d.cost->per_item_high->in(usd) == rel(18.0 / 3600, 1e-12));
    CHECK(d.figures->watts->in(watt) == rel(6 * 36, 1e-12));
}

TEST_CASE("copies needed are whole, at least one, and refused when absurdly many") {
    CHECK(copies_needed(1 / s, 0.4 / s) == 3);
    CHECK(copies_needed(1 / s, 0.5 / s) == 2);
    CHECK(copies_needed(0.001 / s, 0.5 / s) == 1);
    CHECK(copies_needed(static_cast<double>(most_copies) / s, 1 / s) == most_copies);
    CHECK_FALSE(copies_needed((static_cast<double>(most_copies) + 0.5) / s, 1 / s));
    CHECK_FALSE(copies_needed(1e9 / s, 1e-9 / s));
}

TEST_CASE_FIXTURE(RecommendationFixture, "of several limits missed the recommendation names the one missed by most") {
    request.objective = {.ttft = 1 * s, .tpot = 0.1 * s, .latency = 8 * s};
    Deployment d = judge();
    CHECK(d.outcome == Outcome::misses_tpot);
    CHECK(d.excess == rel(4, 1e-12));
    CHECK_FALSE(d.cost);
    request.objective.tpot = 0.4 * s;  // just met
    d = judge();
    CHECK(d.outcome == Outcome::misses_ttft);
    CHECK(d.excess == rel(2, 1e-12));
    request.objective.ttft = 2 * s;
    CHECK(judge().outcome == Outcome::misses_latency);
}

TEST_CASE_FIXTURE(RecommendationFixture, "by bound, limits and copies of a recommendation count with the upper bounds") {
    request.by_bound = true;
    CHECK(judge().outcome == Outcome::misses_latency);  // 10 s may be 20
    CHECK(judge().excess == rel(20.0 / 15, 1e-12));
    request.objective = {.ttft = 3 * s, .tpot = 0.8 * s};  // 2 s may be 3; TPOT has the interval of the latency
    CHECK(judge().outcome == Outcome::meets);
    request.objective.tpot = 0.79 * s;
    CHECK(judge().outcome == Outcome::misses_tpot);
    request.objective = {.latency = 20 * s};
    request.rate = 1 / s;
    CHECK(judge().parallel.data == 5);  // 1 / 0.2
    Prediction p = full_load();
    p.intervals.reset();
    CHECK(judged(p, contestant, request).outcome == Outcome::unknown_error);
}

TEST_CASE_FIXTURE(RecommendationFixture,
                  "a recommendation says when the budget, the price, a kernel model or the number of copies stands against it") {
    request.budget = 3 * usd_per_hour;
    CHECK(judge().outcome == Outcome::over_budget);
    CHECK(judge().excess == rel(1.2, 1e-12));
    request.budget = 3.7 * usd_per_hour;
    CHECK(judge().outcome == Outcome::meets);
    contestant.rental_price.reset();
    CHECK(judge().outcome == Outcome::no_price);
    CHECK(judge().figures);
    CHECK_FALSE(judge().cost);
    request.rate = 4096 / s;
    CHECK(judge().outcome == Outcome::too_many_copies);
    CHECK(judge().excess == rel(10, 1e-12));  // 4096 / 0.4 of 1024
    Prediction p = full_load();
    p.withheld.emplace_back("scan");
    CHECK(judged(p, contestant, request).outcome == Outcome::withheld);
}

TEST_CASE("the Pareto front keeps what nothing beats in cost and latency at once") {
    const auto points = std::vector<CostPoint>{{3 * usd, 1 * s}, {1 * usd, 5 * s}, {2 * usd, 5 * s}, {1 * usd, 4 * s},
                                               {2 * usd, 2 * s}, {2 * usd, 2 * s}, {4 * usd, 1 * s}};
    // Of the two for 1 USD the faster; 2 USD for 5 s is beaten by it; of equal ones the first; 4 USD buys nothing over 3.
    CHECK(pareto_front(points) == std::vector<std::size_t>{3, 4, 0});
    CHECK(pareto_front({}).empty());
}

TEST_CASE("a recommendation ranks by cost, each GPU, parallelism and format once, and none beyond the limits") {
    RecommendationRequest request;
    request.objective = {.ttft = 1 * s, .tpot = 30 * ms};
    request.allow_quantization = true;
    std::vector<Gpu> gpus;
    const Recommendation r = recommended("llama-3.1-8b", {"a100-sxm4-80gb", "t4", "rtx-4090"}, request, gpus);
    REQUIRE(r.ranked.size() > 3);
    CHECK(r.output_tokens == 128);
    for (std::size_t i = 0; i < r.ranked.size(); ++i) {
        const Deployment& d = r.ranked[i];
        CHECK(d.outcome == Outcome::meets);
        CHECK(*d.figures->ttft <= 1 * s);
        CHECK(*d.figures->tpot <= 30 * ms);
        if (i > 0) CHECK(r.ranked[i - 1].cost->per_item <= d.cost->per_item);
        for (std::size_t j = 0; j < i; ++j) {
            const Deployment& other = r.ranked[j];
            CHECK_FALSE((d.gpu == other.gpu && d.parallel.gpus() == other.parallel.gpus() && d.precision == other.precision &&
                         d.weights == other.weights));
        }
    }
    CHECK(r.ranked.front().front);
    for (std::size_t i = 1; i < r.front.size(); ++i) CHECK(r.front[i].figures->latency < r.front[i - 1].figures->latency);
    std::size_t tried = 0, counted = 0;
    for (const GpuVerdict& v : r.gpus) tried += v.tried;
    for (const std::size_t n : r.deployments) counted += n;
    CHECK(tried == counted);
}

TEST_CASE("without leave to quantize a recommendation keeps 16 bits, and what does not fit one GPU may fit several") {
    RecommendationRequest request;
    request.objective.latency = 1000 * s;
    std::vector<Gpu> gpus;
    const Recommendation r = recommended("llama-3.1-70b", {"a100-sxm4-80gb", "p4"}, request, gpus);
    REQUIRE_FALSE(r.ranked.empty());
    for (const Deployment& d : r.ranked) {
        CHECK(d.weights.bits == 16);
        CHECK(d.parallel.tensor >= 2);  // 141 GB of weights
    }
    CHECK(r.deployments[static_cast<std::size_t>(Outcome::does_not_fit)] > 0);
    // Eight of 8 GB hold 64 GB.
    CHECK(r.gpus[1].meeting == 0);
    REQUIRE(r.gpus[1].nearest);
    CHECK(r.gpus[1].nearest->excess > 1);
}

TEST_CASE("limits that a model has no time for, and none at all, are refused") {
    std::vector<Gpu> gpus;
    RecommendationRequest request;
    CHECK_THROWS_AS(recommended("resnet50", {"t4"}, request, gpus), Error);
    request.objective.ttft = 1 * s;
    CHECK_THROWS_AS(recommended("resnet50", {"t4"}, request, gpus), Error);
    request.objective = {.tpot = 1 * s};
    request.run.shape.generate_tokens = 1;
    CHECK_THROWS_AS(recommended("llama-3.1-8b", {"a100"}, request, gpus), Error);
    request.objective = {.latency = 1 * s};
    request.run.shape.generate_tokens = 0;
    CHECK_NOTHROW(recommended("resnet50", {"a100-pcie-40gb"}, request, gpus));
}
