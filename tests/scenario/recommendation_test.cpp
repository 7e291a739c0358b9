#include "roofcast/recommendation.hpp"

#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "roofcast/error.hpp"
#include "roofcast/workload.hpp"
#include "scenario/gpu_search.hpp"
#include "scenario/recommendation_rent.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using test::rel;

namespace {

constexpr UsDollarsPerSecond dollar_per_hour = 1 * usd / hour;

/// GPUs of 1 USD an hour.
struct GpuShop {
    std::vector<Gpu> gpus;
    std::vector<Contestant> contestants;
    SoftwareStacks software = load_software(test::software_dir());

    explicit GpuShop(const std::vector<const char*>& ids) {
        for (const char* id : ids) gpus.push_back(load_gpu(test::gpus_dir(), id));
        for (const Gpu& gpu : gpus) contestants.push_back({&gpu, given_price(PriceKind::on_demand_hour, 1 * usd, "--usd-per-hour")});
    }
    [[nodiscard]] Recommendation recommended(const char* model, const RecommendationRequest& request) const {
        return recommend(find_workload(test::models_dir(), model), contestants, request, software);
    }
    /// What `predict` says of the same run.
    [[nodiscard]] Prediction predicted(const char* model, const RecommendationRequest& request, const Deployment& d) const {
        Run run = request.run;
        run.precision = d.precision;
        run.batch = d.batch;
        run.parallel = d.parallel;
        run.parallel.data = 1;
        return predict(find_workload(test::models_dir(), model), gpus[d.gpu], run, software);
    }
};

bool same_answer(const std::optional<Deployment>& a, const std::optional<Deployment>& b) {
    if (!a || !b) return a.has_value() == b.has_value();
    return a->gpu == b->gpu && a->parallel.tensor == b->parallel.tensor && a->parallel.data == b->parallel.data && a->batch == b->batch &&
           a->ttft == b->ttft && a->tpot == b->tpot && a->cost->rate == b->cost->rate;
}

}  // namespace

TEST_CASE("copies needed are whole, at least one, and refused when absurdly many") {
    CHECK(copies_needed(1 / s, 0.4 / s) == 3);
    CHECK(copies_needed(0.8 / s, 0.4 / s) == 2);
    CHECK(copies_needed(0.001 / s, 0.4 / s) == 1);
    CHECK(copies_needed(1024 / s, 1 / s) == 1024);
    CHECK_FALSE(copies_needed(1024.1 / s, 1 / s));
}

TEST_CASE("the fewest copies that hold are found from below, and few are tried") {
    for (std::int64_t fewest = 1; fewest <= 200; ++fewest) {
        std::set<std::int64_t> tried;
        const auto found = fewest_copies(1, 1000, [&](std::int64_t copies) {
            tried.insert(copies);
            return copies >= fewest;
        });
        CHECK(found == fewest);
        CHECK((fewest == 1 || tried.contains(fewest - 1)));
        CHECK(tried.size() <= 40);
    }
    CHECK_FALSE(fewest_copies(3, 7, [](std::int64_t copies) { return copies > 7; }));
    CHECK(fewest_copies(3, 7, [](std::int64_t copies) { return copies > 6; }) == 7);
    // Below the stride all are tried: of those that hold, the first is found although a larger number does not.
    CHECK(fewest_copies(1, 100, [](std::int64_t copies) { return copies == 4 || copies > 5; }) == 4);
}

TEST_CASE("the most copies that are allowed are found, or none") {
    for (const std::int64_t most : {3, 4, 7, 8, 1000}) CHECK(most_allowed(3, [&](std::int64_t copies) { return copies <= most; }) == most);
    CHECK_FALSE(most_allowed(3, [](std::int64_t) { return false; }));
}

TEST_CASE("without a rate a recommended copy works at full load and its requests share the rent") {
    const GpuShop shop({"a100-sxm4-80gb"});
    RecommendationRequest request;
    request.objective = {.ttft = 1 * s, .tpot = 30 * ms};
    const Recommendation r = shop.recommended("llama-3.1-8b", request);
    REQUIRE(r.rows.size() == 1);
    CHECK(r.output_tokens == 128);
    CHECK(r.load.why_not == "no `rate` of requests is given");
    const Deployment& d = r.rows.front().expected.value();
    const Prediction p = shop.predicted("llama-3.1-8b", request, d);
    CHECK(d.ttft == p.ttft);
    CHECK(d.tpot == p.tpot);
    CHECK(*d.ttft <= 1 * s);
    CHECK(*d.tpot <= 30 * ms);
    // 1 USD an hour over the requests of an hour.
    CHECK(d.cost->rate.in(dollar_per_hour) == rel(static_cast<double>(d.parallel.gpus()), 1e-12));
    CHECK(d.cost->per_item.in(usd) == rel(static_cast<double>(d.parallel.gpus()) / (3600 * p.items_per_second), 1e-12));
    CHECK(d.requests == 0);
}

TEST_CASE("at the upper bound of the times a recommendation without a rate takes a smaller batch, and costs more") {
    const GpuShop shop({"a100-sxm4-80gb"});
    RecommendationRequest request;
    request.tensor = 1;
    request.objective = {.ttft = 1 * s, .tpot = 30 * ms};
    const Recommendation r = shop.recommended("llama-3.1-8b", request);
    const Deployment &expected = r.cheapest_expected.value(), &upper = r.cheapest_upper.value();
    const Prediction p = shop.predicted("llama-3.1-8b", request, upper);
    CHECK(upper.tpot->in(ms) == rel(p.tpot->in(ms)*p.intervals->tpot.value_or(p.intervals->latency).high, 1e-12));
    CHECK(*upper.tpot <= 30 * ms);
    CHECK(upper.batch <= expected.batch);
    CHECK(upper.cost->per_item > expected.cost->per_item);
}

TEST_CASE("the copies of a model without text follow from its rate") {
    const GpuShop shop({"t4", "a100-sxm4-80gb"});
    RecommendationRequest request;
    request.objective = {.latency = 50 * ms};
    request.rate = 20'000 / s;
    const Recommendation r = shop.recommended("resnet50", request);
    REQUIRE(r.rows.size() == 2);
    CHECK(r.load.why_not == "resnet50 is not a language model");
    CHECK(r.output_tokens == 0);
    for (const RecommendedRow& row : r.rows) {
        const Deployment& d = row.expected.value();
        CHECK(d.capacity >= 20'000 / s);
        CHECK(static_cast<double>(d.parallel.data - 1) / static_cast<double>(d.parallel.data) * d.capacity < 20'000 / s);
        CHECK(d.cost->per_item.in(usd) == rel(static_cast<double>(d.parallel.data) / (3600 * 20'000.0), 1e-12));
        CHECK_FALSE(d.ttft);
    }
}

TEST_CASE("recommended deployments go by cost, one of each GPU, or of each format and degree") {
    const GpuShop shop({"a100-sxm4-80gb", "t4", "rtx-4090"});
    RecommendationRequest request;
    request.objective = {.ttft = 1 * s, .tpot = 30 * ms};
    request.allow_quantization = true;
    const Recommendation one = shop.recommended("llama-3.1-8b", request);
    request.all_settings = true;
    const Recommendation all = shop.recommended("llama-3.1-8b", request);
    CHECK(one.rows.size() + one.rejected.size() == 3);
    CHECK(all.rows.size() > 6);
    CHECK(same_answer(one.cheapest_expected, all.cheapest_expected));
    CHECK(same_answer(one.cheapest_upper, all.cheapest_upper));
    for (const Recommendation* r : {&one, &all}) {
        for (std::size_t i = 1; i < r->rows.size(); ++i)
            CHECK(r->rows[i - 1].expected->cost->per_item <= r->rows[i].expected->cost->per_item);
        CHECK(same_answer(r->rows.front().expected, r->cheapest_expected));
    }
    for (const RecommendedRow& row : all.rows) {
        if (!row.upper) continue;
        CHECK(row.upper->parallel.tensor == row.expected->parallel.tensor);
        CHECK(row.upper->weights == row.expected->weights);
    }
}

TEST_CASE("without leave to quantize a recommendation keeps 16 bits, and what does not fit one GPU may fit several") {
    const GpuShop shop({"a100-sxm4-80gb", "p4"});
    RecommendationRequest request;
    request.objective.latency = 1000 * s;
    const Recommendation r = shop.recommended("llama-3.1-70b", request);
    REQUIRE(r.rows.size() == 1);
    CHECK(r.rows.front().expected->weights.bits == 16);
    CHECK(r.rows.front().expected->parallel.tensor >= 2);  // 141 GB of weights
    // Eight of 8 GB hold 64 GB.
    REQUIRE(r.rejected.size() == 1);
    CHECK(r.rejected.front().gpu == 1);
    CHECK(r.rejected.front().outcome == Outcome::does_not_fit);
    CHECK(r.rejected.front().excess > 1);
    CHECK(r.rejected.front().nearest == "tp 8, fp16");
}

TEST_CASE("a recommendation says when budget, price or number of GPUs stand against it") {
    GpuShop shop({"a100-sxm4-80gb"});
    RecommendationRequest request;
    request.objective.latency = 1000 * s;
    const auto reason = [&] {
        const Recommendation r = shop.recommended("llama-3.1-70b", request);
        CHECK(r.rows.empty());
        CHECK_FALSE(r.cheapest_expected);
        return r.rejected.at(0).outcome;
    };
    request.budget = 1.5 * dollar_per_hour;  // two GPUs hold the weights
    CHECK(reason() == Outcome::over_budget);
    request.budget.reset();
    request.most_gpus = 1;
    CHECK(reason() == Outcome::too_many_gpus);
    request.most_gpus = 2;
    CHECK(shop.recommended("llama-3.1-70b", request).rows.size() == 1);
    request.most_gpus.reset();
    shop.contestants.front().rental_price.reset();
    CHECK(reason() == Outcome::no_price);
    request.without_prices = true;
    const Recommendation counted = shop.recommended("llama-3.1-70b", request);
    REQUIRE(counted.rows.size() == 1);
    CHECK_FALSE(counted.rows.front().expected->cost);
    request.rate = 1e6 / s;
    request.run.techniques.kv_block = 16;  // not simulated
    CHECK(reason() == Outcome::too_many_copies);
}

TEST_CASE("copies are rented in the whole instances that cost least, and each copy lies in one") {
    GpuShop shop({"a100-sxm4-80gb"});
    Contestant& contestant = shop.contestants.front();
    const auto rented = [&](std::int64_t gpus_each, std::int64_t copies) {
        const WholeRent whole = rent_of_copies(contestant, gpus_each, copies).value();
        return std::tuple(whole.rate.in(dollar_per_hour), whole.instance == nullptr ? 0 : whole.instance->gpus, whole.count, whole.listed);
    };
    CHECK(rented(2, 3) == std::tuple(rel(6, 1e-12), 0, 0, true));  // 6 GPUs at 1 USD, any number
    contestant.instances = {{.provider = "A", .name = "one", .gpus = 1, .usd = 3 * usd},
                            {.provider = "B", .name = "eight", .gpus = 8, .usd = 16 * usd}};
    CHECK(rented(1, 5) == std::tuple(rel(15, 1e-12), 1, 5, true));
    CHECK(rented(1, 6) == std::tuple(rel(16, 1e-12), 8, 1, true));  // 18 USD one by one
    CHECK(rented(2, 1) == std::tuple(rel(16, 1e-12), 8, 1, true));  // one GPU is too few for a copy
    CHECK(rented(2, 4) == std::tuple(rel(16, 1e-12), 8, 1, true));
    CHECK(rented(2, 5) == std::tuple(rel(32, 1e-12), 8, 2, true));
    CHECK(rented(3, 3) == std::tuple(rel(32, 1e-12), 8, 2, true));  // two copies of three GPUs in each
    CHECK(rented(16, 1) == std::tuple(rel(16, 1e-12), 0, 0, false));
    contestant.instances.push_back({.provider = "C", .name = "pod", .gpus = 1, .any_number = true, .usd = 1.5 * usd});
    CHECK(rented(2, 3) == std::tuple(rel(9, 1e-12), 1, 6, true));
}

TEST_CASE("what no listed instance has ranks after what one has, and what has no price last") {
    Deployment listed, unlisted, unpriced;
    listed.cost = DeploymentCost{.rate = 2 * dollar_per_hour, .per_item = 2 * usd};
    unlisted.cost = DeploymentCost{.rate = 1 * dollar_per_hour, .per_item = 1 * usd, .listed = false};
    CHECK(is_cheaper(listed, unlisted));
    CHECK(is_cheaper(unlisted, unpriced));
    CHECK_FALSE(is_cheaper(unpriced, listed));
    Deployment faster = unpriced, larger = unpriced;
    unpriced.latency = 2 * s;
    faster.latency = 1 * s;
    larger.parallel.data = 2;
    CHECK(is_cheaper(faster, unpriced));
    CHECK(is_cheaper(unpriced, larger));
}

TEST_CASE("a GPU whose instances have one each is not recommended first for a copy of two") {
    GpuShop shop({"a100-sxm4-80gb", "h100-sxm5-80gb"});
    shop.contestants[0].instances = {{.provider = "A", .name = "one", .gpus = 1, .usd = 1 * usd}};
    shop.contestants[1].instances = {{.provider = "B", .name = "eight", .gpus = 8, .usd = 80 * usd}};
    RecommendationRequest request;
    request.objective.latency = 1000 * s;
    const Recommendation r = shop.recommended("llama-3.1-70b", request);
    REQUIRE(r.rows.size() == 2);
    CHECK(r.rows[0].expected->gpu == 1);
    CHECK(r.rows[0].expected->cost->instance->name == "eight");
    CHECK(r.rows[0].expected->cost->rate.in(dollar_per_hour) == rel(80, 1e-12));
    CHECK_FALSE(r.rows[1].expected->cost->listed);
}

TEST_CASE("fixed degrees of parallelism are the only ones recommended") {
    const GpuShop shop({"a100-sxm4-80gb"});
    RecommendationRequest request;
    request.objective = {.ttft = 1 * s, .tpot = 30 * ms};
    request.tensor = 4;
    request.all_settings = true;
    const Recommendation r = shop.recommended("llama-3.1-8b", request);
    REQUIRE(r.rows.size() == 1);
    CHECK(r.rows.front().expected->parallel.tensor == 4);
}

TEST_CASE("limits that a model has no time for, and none at all, are refused") {
    const GpuShop shop({"a100-sxm4-80gb"});
    RecommendationRequest request;
    CHECK_THROWS_AS(shop.recommended("resnet50", request), Error);
    request.objective.ttft = 1 * s;
    CHECK_THROWS_AS(shop.recommended("resnet50", request), Error);
    request.objective = {.tpot = 1 * s};
    request.run.generate_tokens = 1;
    CHECK_THROWS_AS(shop.recommended("llama-3.1-8b", request), Error);
    request.objective = {.latency = 1 * s};
    request.run.generate_tokens = 0;
    CHECK_NOTHROW(shop.recommended("resnet50", request));
}
