/// Dollars per request over AWS's GPUs. Prices are those of the profiles; the ranking is checked against throughputs that NVIDIA measured.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "golden/golden.hpp"
#include "roofcast/cost.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::Golden;
using test::rel;
using test::shipped_gpu;

namespace {

struct Offer {
    const char *gpu, *instance;
    double usd_per_hour;  ///< of one GPU; AWS us-east-1 on demand, as gpus/<id>.toml cites
};

/// g4dn.xlarge 0.526 for one T4; g5.xlarge 1.006 for one A10G; p4d.24xlarge 21.9576 for eight A100; p3.2xlarge 3.06 for one V100.
constexpr Offer offers[] = {{"t4", "g4dn.xlarge", 0.526},
                            {"a10g", "g5.xlarge", 1.006},
                            {"a100-sxm4-40gb", "p4d", 21.9576 / 8},
                            {"v100-sxm2-16gb", "p3.2xlarge", 3.06}};

PriceChoice price_of(const Gpu& gpu, const Offer& offer) {
    const Date today{std::chrono::year{2026}, std::chrono::November, std::chrono::day{21}};
    return choose_price(gpu.profile, {.provider = "AWS", .instance = offer.instance}, today, "--usd-per-hour");
}

/// GPUs by dollars per request, cheapest first.
std::vector<std::string> ranking(std::vector<std::pair<double, std::string>> costs) {
    std::sort(costs.begin(), costs.end());
    std::vector<std::string> order;
    for (const auto& [usd, gpu] : costs) order.push_back(gpu);
    return order;
}

}  // namespace

TEST_CASE("a request costs the hourly price times its part of the hour, on each of AWS's GPUs") {
    const Golden golden;
    std::vector<std::pair<double, std::string>> by_estimate, by_hand;
    for (const Offer& offer : offers) {
        CAPTURE(std::string(offer.gpu));
        const Gpu gpu = shipped_gpu(offer.gpu);
        const PriceChoice price = price_of(gpu, offer);
        CHECK(price.price.usd.in(usd) == rel(offer.usd_per_hour, 1e-3));
        const Prediction p = golden.run("bert-base", gpu, {.batch = 32, .prompt_tokens = 128, .precision = Precision::fp16});
        const CostEstimate estimate = cost_estimate(p, 128, gpu, price, {}, {});
        REQUIRE(estimate.rental);
        const double hand = offer.usd_per_hour / 3600 * p.latency.in(s) / 32;
        CHECK(estimate.rental->per_item.in(usd) == rel(hand, 1e-3));
        by_estimate.emplace_back(estimate.rental->per_item.in(usd), offer.gpu);
        by_hand.emplace_back(offer.usd_per_hour / p.items_per_second, offer.gpu);
    }
    CHECK(ranking(by_estimate) == ranking(by_hand));
    // A V100 is no faster than an A100 and costs more an hour: it is never the cheapest.
    CHECK(ranking(by_estimate).front() != "v100-sxm2-16gb");
}

TEST_CASE("GPUs rank by dollars per BERT request as NVIDIA's throughputs and AWS's prices rank them") {
    const Golden golden;
    // NVIDIA/DeepLearningExamples @729963dd, BERT-base fp16, 8 sequences of 128 tokens, TensorFlow 2 with XLA: T4 532.56, A100 SXM4 80GB
    // 1786.2, V100 SXM2 32GB 1030 sequences/s. With the prices of the T4, of the 40 GB A100 and of the 16 GB V100, equal in arithmetic, a
    // million requests cost 0.274, 0.427 and 0.825 USD.
    struct Measured {
        const char* gpu;
        double usd_per_hour, per_s;
    };
    std::vector<std::pair<double, std::string>> measured, predicted;
    for (const Measured& m :
         {Measured{"t4", 0.526, 532.56}, Measured{"a100-sxm4-80gb", 2.7447, 1786.2}, Measured{"v100-sxm2-32gb", 3.06, 1030}}) {
        CAPTURE(std::string(m.gpu));
        const Gpu gpu = shipped_gpu(m.gpu);
        const Prediction p = golden.run("bert-base", gpu, {.batch = 8, .prompt_tokens = 128, .precision = Precision::fp16},
                                        {.execution = Execution::compiled, .software = "tensorflow2"});
        const PriceChoice price = given_price(PriceKind::on_demand_hour, m.usd_per_hour * usd, "--usd-per-hour");
        const double cost = cost_estimate(p, 128, gpu, price, {}, {}).rental->per_item.in(usd);
        const double expected = m.usd_per_hour / 3600 / m.per_s;
        CHECK(cost == rel(expected, 0.3));
        measured.emplace_back(expected, m.gpu);
        predicted.emplace_back(cost, m.gpu);
    }
    CHECK(ranking(predicted) == ranking(measured));
}
