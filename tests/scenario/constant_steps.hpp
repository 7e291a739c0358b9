#pragma once
/// An engine whose every step takes the same time, so that a hand can follow it.

#include <cmath>

#include "roofcast/serving.hpp"

namespace roofcast::test {

/// One point on an axis.
inline LogAxis single() {
    return {.values = {1}, .logs = {0}};
}

/// Steps of one second, whatever they compute.
inline ServingEngine constant_engine(SchedulerOptions options, std::int64_t blocks) {
    ServingEngine engine;
    // A part cannot be zero but for its logarithm: 1e-12 s.
    engine.steps = {.body = {Seconds{}, 1 * s},
                    .head = {Seconds{}, Seconds{}},
                    .decodes = single(),
                    .context = single(),
                    .prompts = single(),
                    .tokens = single(),
                    .past = single(),
                    .decode = {.log_work = {std::log(1e-12)}},
                    .prompt = {.log_work = {std::log(1e-12)}}};
    engine.options = options;
    engine.cache_blocks = blocks;
    return engine;
}

}  // namespace roofcast::test
