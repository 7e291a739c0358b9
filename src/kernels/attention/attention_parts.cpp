#include "kernels/attention/attention_parts.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

std::int64_t steps_of(std::int64_t x, std::int64_t step) {
    return (x + step - 1) / step;
}

}  // namespace

std::int64_t flash_attention_2_parts(double sets, std::int64_t keys, std::int64_t head_dim, int sms) {
    constexpr double blocks_per_sm = 2, nearly_full = 0.8, enough = 0.85;
    constexpr std::int64_t most_parts = 128;
    const double slots = blocks_per_sm * sms;
    if (sets >= nearly_full * slots) return 1;
    const std::int64_t steps = steps_of(keys, head_dim <= 64 ? 256 : head_dim <= 128 ? 128 : 64), most = std::min(most_parts, steps);
    const auto filled = [&](std::int64_t parts) {
        const double share = sets * static_cast<double>(parts) / slots;
        return share / std::ceil(share);
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

std::int64_t flashinfer_parts(double tiles, std::int64_t keys, std::int64_t kv_heads, int sms) {
    constexpr std::int64_t blocks_per_sm = 2, least_keys = 128;
    const std::int64_t of_a_head = blocks_per_sm * sms / kv_heads;
    const auto most = static_cast<std::int64_t>(std::floor(static_cast<double>(of_a_head) / tiles));
    return most <= 1 ? 1 : steps_of(keys, std::max(least_keys, steps_of(keys, most)));
}

std::int64_t flash_attention_3_parts(double tiles, std::int64_t keys, int sms) {
    constexpr std::int64_t step_keys = 128, unsplit_steps = 4, most_parts = 128;
    constexpr double margin = 1.1;
    const std::int64_t steps = steps_of(keys, step_keys);
    if (steps <= unsplit_steps) return 1;
    const double steps_per_sm = std::ceil(static_cast<double>(steps) * tiles * margin / sms);
    return std::min(most_parts, steps_of(steps, static_cast<std::int64_t>(steps_per_sm)));
}

std::int64_t trtllm_gen_parts(double sets, std::int64_t keys, int sms) {
    constexpr std::int64_t least_keys = 256;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(sms / sets), 1, steps_of(keys, least_keys));
}

std::int64_t tensorrt_cut_sequences(Precision p, ComputeCapability capability) {
    if (capability.major < 8) return capability.minor >= 5 ? 1 : 0;
    if (element_size(p) == 2 * byte) return 4;
    return capability.minor == 0 ? 0 : 8;  // the list has 8 bits for 8.0 too, but A100 and A30 take the time of uncut heads
}

}  // namespace roofcast
