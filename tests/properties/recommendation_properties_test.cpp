#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "roofcast/recommendation.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

/// GPUs of 1 USD an hour, and a model that they are to serve.
struct Market {
    std::vector<Gpu> gpus;
    std::vector<Contestant> contestants;
    SoftwareStacks software = load_software(test::software_dir());
    Workload workload;
    RecommendationRequest request;

    Market(const char* model, const std::vector<const char*>& ids) : workload(find_workload(test::models_dir(), model)) {
        for (const char* id : ids) gpus.push_back(load_gpu(test::gpus_dir(), id));
        for (const Gpu& gpu : gpus) contestants.push_back({&gpu, given_price(PriceKind::on_demand_hour, 1 * usd, "--usd-per-hour")});
        request.load.requests = 500;
    }
    [[nodiscard]] Recommendation recommended() const { return recommend(workload, contestants, request, software); }

    /// Whether the simulator, run from end to end, meets the objective with any number of copies up to `most` of `tensor` GPUs each.
    [[nodiscard]] bool is_met(const Gpu& gpu, std::int64_t tensor, std::int64_t most) const {
        Run run = request.run;
        run.precision = default_precision(workload, gpu.profile);
        run.parallel.tensor = tensor;
        run = completed(run, workload, gpu);
        ServingEngine engine;
        const StepModel model = step_model(workload, gpu, run, software);
        const auto requests = drawn({.requests = request.load.requests, .rate = *request.rate, .prompt_mean = 512, .output_mean = 128});
        try {
            engine.cache_blocks = cache_room(workload, run, software, gpu.profile, engine.options).blocks;
        } catch (const Error&) {
            return false;
        }
        if (refusal(engine, requests.front())) return false;
        engine.steps = tabulated(model, step_range(engine.options, requests));
        for (engine.copies = 1; engine.copies <= most; ++engine.copies) {
            const ServingStatistics seen = statistics(engine, requests, simulated(engine, requests), request.objective);
            if (seen.ttft.p99 <= *request.objective.ttft && seen.tpot->p99 <= *request.objective.tpot) return true;
        }
        return false;
    }
};

/// What the cheapest deployment costs; more than any where there is none.
UsDollarsPerSecond cost_of(const std::optional<Deployment>& d) {
    return d ? d->cost->rate : 1e9 * usd / s;
}

}  // namespace

TEST_CASE("no recommended deployment is beaten by serve-sim with fewer GPUs of the same kind: 15 pairs of model and GPU") {
    const std::vector<const char*> ids{"h100-sxm5-80gb", "h200-sxm-141gb", "a100-sxm4-80gb", "l40s", "mi300x"};
    const std::tuple<const char*, double> models[] = {{"llama-3.1-70b", 5}, {"llama-3.1-8b", 20}, {"qwen3-14b", 10}};
    std::size_t pairs = 0, answered = 0;
    for (const auto& [model, rate] : models) {
        Market market(model, ids);
        market.request.objective = {.ttft = 500 * ms, .tpot = 40 * ms};
        market.request.rate = rate / s;
        const Recommendation answer = market.recommended();
        for (std::size_t gpu = 0; gpu < ids.size(); ++gpu, ++pairs) {
            CAPTURE(std::string(model));
            CAPTURE(std::string(ids[gpu]));
            const auto row = std::find_if(answer.rows.begin(), answer.rows.end(), [gpu](const auto& r) { return r.expected->gpu == gpu; });
            // 70B on L40S has no answer: not with any number of copies within four machines.
            constexpr std::int64_t machines = 4 * 8 + 1;
            const std::int64_t gpus = row == answer.rows.end() ? machines : row->expected->parallel.gpus();
            for (const std::int64_t tensor : {1, 2, 4, 8}) CHECK_FALSE(market.is_met(market.gpus[gpu], tensor, (gpus - 1) / tensor));
            if (row == answer.rows.end()) continue;
            ++answered;
            const std::int64_t tensor = row->expected->parallel.tensor;
            if (row->expected->batch == 256) CHECK(market.is_met(market.gpus[gpu], tensor, gpus / tensor));
        }
    }
    CHECK(pairs == 15);
    CHECK(answered >= 14);
}

TEST_CASE("a loosened objective never makes a recommendation dearer") {
    constexpr std::array<double, 3> ttfts{0.2, 0.4, 1}, tpots{0.012, 0.02, 0.04};
    constexpr std::array<double, 3> rates{40, 15, 4};
    Market market("llama-3.1-8b", {"a100-sxm4-80gb", "rtx-4090"});
    // Costs as expected and at the upper bound, of both GPUs together, by limits and rate.
    std::array<std::array<std::array<std::array<UsDollarsPerSecond, 2>, 3>, 3>, 3> costs{};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            for (std::size_t k = 0; k < 3; ++k) {
                market.request.objective = {.ttft = ttfts[i] * s, .tpot = tpots[j] * s};
                market.request.rate = rates[k] / s;
                const Recommendation r = market.recommended();
                costs[i][j][k] = {cost_of(r.cheapest_expected), cost_of(r.cheapest_upper)};
            }
        }
    }
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            for (std::size_t k = 0; k < 3; ++k) {
                for (std::size_t c = 0; c < 2; ++c) {
                    CAPTURE(i);
                    CAPTURE(j);
                    CAPTURE(k);
                    if (i > 0) CHECK(costs[i][j][k][c] <= costs[i - 1][j][k][c]);
                    if (j > 0) CHECK(costs[i][j][k][c] <= costs[i][j - 1][k][c]);
                    if (k > 0) CHECK(costs[i][j][k][c] <= costs[i][j][k - 1][c]);
                }
                CHECK(costs[i][j][k][0] <= costs[i][j][k][1]);
            }
        }
    }
    CHECK(costs[2][2][2][0] < costs[0][0][0][0]);
}
