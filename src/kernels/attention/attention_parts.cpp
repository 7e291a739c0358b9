#include "kernels/attention/attention_parts.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

std::int64_t steps_of(std::int64_t x, std::int64_t step) {
    return (x + step - 1) / step;
}

}  // namespace

std::int64_t full_wave_parts(const KeySplit& split, const SplitWork& work) {
    constexpr double nearly_full = 0.8, enough = 0.85;
    const double slots = static_cast<double>(split.blocks_per_sm * work.sms);
    if (work.sets >= nearly_full * slots) return 1;
    const std::int64_t steps = steps_of(work.keys, work.head_dim <= 64 ? 256 : work.head_dim <= 128 ? 128 : 64);
    const std::int64_t most = std::min(split.most_parts, steps);
    const auto filled = [&](std::int64_t parts) {
        const double fraction = work.sets * static_cast<double>(parts) / slots;
        return fraction / std::ceil(fraction);
    };
    // The least number of parts that shortens them further.
    const auto next = [&](std::int64_t parts) {
        const std::int64_t longest = steps_of(steps, parts);
        return longest > 1 ? steps_of(steps, longest - 1) : most + 1;
    };
    double best = 0;
    for (std::int64_t parts = 1; parts <= most; parts = next(parts)) best = std::max(best, filled(parts));
    std::int64_t parts = 1;
    while (filled(parts) < enough * best) parts = next(parts);
    return parts;
}

std::int64_t even_chunk_parts(const KeySplit& split, const SplitWork& work) {
    const std::int64_t of_a_head = split.blocks_per_sm * work.sms / work.kv_heads;
    const auto most = static_cast<std::int64_t>(std::floor(static_cast<double>(of_a_head) / work.tiles_of_head));
    return most <= 1 ? 1 : steps_of(work.keys, std::max(split.keys, steps_of(work.keys, most)));
}

std::int64_t even_step_parts(const KeySplit& split, const SplitWork& work) {
    constexpr std::int64_t unsplit_steps = 4;
    constexpr double margin = 1.1;
    const std::int64_t steps = steps_of(work.keys, split.keys);
    if (steps <= unsplit_steps) return 1;
    const double steps_per_sm = std::ceil(static_cast<double>(steps) * work.sets * margin / static_cast<double>(work.sms));
    return std::min(split.most_parts, steps_of(steps, static_cast<std::int64_t>(steps_per_sm)));
}

std::int64_t free_sm_parts(const KeySplit& split, const SplitWork& work) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(work.sms) / work.sets), 1,
                                    steps_of(work.keys, split.keys));
}

std::optional<std::int64_t> split_parts(const KeySplit& split, const SplitWork& work) {
    switch (split.algorithm) {
        case SplitAlgorithm::none:
            return 1;
        case SplitAlgorithm::fastest:
            return std::nullopt;
        case SplitAlgorithm::full_waves:
            return full_wave_parts(split, work);
        case SplitAlgorithm::even_chunks:
            return even_chunk_parts(split, work);
        case SplitAlgorithm::even_steps:
            return even_step_parts(split, work);
        case SplitAlgorithm::free_sms:
            return free_sm_parts(split, work);
    }
    return 1;
}

}  // namespace roofcast
