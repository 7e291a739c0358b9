#include "prediction/sound.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "roofcast/error.hpp"

using namespace roofcast;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

ErrorDetail refusal_of(const Timeline& timeline) {
    try {
        require_sound(timeline, "forward");
    } catch (const Error& e) {
        return e.detail();
    }
    return {.what = "nothing"};
}

/// A run of one phase that is in order.
Prediction sound_prediction() {
    Prediction p;
    p.latency = 3 * ms;
    p.items_per_second = 300;
    p.ttft = 1 * ms;
    p.memory.weights = 1 * gb;
    return p;
}

}  // namespace

TEST_CASE("an operator whose time, traffic, FLOPs or energy cannot be is named with the figure and the pass") {
    const OpNode node{.name = "concat", .op = Move{}};
    for (const double wrong : {-1.0, infinite, not_a_number}) {
        Timeline t;
        t.ops.push_back({.node = &node, .runs = 1, .kernel = {}, .time = wrong * us});
        CHECK(refusal_of(t).key == "time of concat in forward");
        t.ops.front().time = 1 * us;
        t.ops.front().kernel.dram_bytes = wrong * byte;
        CHECK(refusal_of(t).key == "DRAM traffic of concat in forward");
        t.ops.front().kernel.dram_bytes = 1 * byte;
        t.ops.front().kernel.flops = wrong * flop;
        CHECK(refusal_of(t).key == "FLOPs of concat in forward");
        t.ops.front().kernel.flops = {};
        t.ops.front().kernel.energy = wrong * joule;
        CHECK(refusal_of(t).key == "energy of concat in forward");
        t.ops.front().kernel.energy = {};
        CHECK_NOTHROW(require_sound(t, "forward"));
    }
}

TEST_CASE("a sum that cannot be is refused although each operator is sound") {
    Timeline t;
    t.total = -1 * us;
    CHECK(refusal_of(t).key == "latency of forward");
    CHECK(refusal_of(t).found == "-1 us");
    t.total = {};
    t.dram_bytes = infinite * byte;
    CHECK(refusal_of(t).key == "DRAM traffic of forward");
}

TEST_CASE("no prediction is complete with a figure that is negative or not finite") {
    CHECK_NOTHROW(require_sound(sound_prediction()));
    const auto refused = [](auto change) {
        Prediction p = sound_prediction();
        change(p);
        CHECK_THROWS_AS(require_sound(p), Error);
    };
    refused([](Prediction& p) { p.latency = -3 * ms; });
    refused([](Prediction& p) { p.items_per_second = infinite; });
    refused([](Prediction& p) { p.ttft = not_a_number * ms; });
    refused([](Prediction& p) { p.tpot = -1 * ms; });
    refused([](Prediction& p) { p.tokens_per_second = -1; });
    refused([](Prediction& p) { p.cold_extra = infinite * ms; });
    refused([](Prediction& p) { p.memory.kv_cache = -1 * byte; });
    refused([](Prediction& p) { p.memory.activations = infinite * byte; });
}
