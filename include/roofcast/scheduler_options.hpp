#pragma once
/// What the user of a serving engine sets.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace roofcast {

/// When a sequence may enter the engine.
enum class Admission {
    prompt,  ///< its prompt fits the KV cache; the latest to enter leaves when the cache is full
    output   ///< its prompt and all of its output fit; none has to leave
};
inline constexpr std::array<std::string_view, 2> admission_names{"prompt", "output"};
constexpr std::string_view name(Admission a) {
    return admission_names[static_cast<std::size_t>(a)];
}
/// `text` is one of `admission_names`.
constexpr Admission admission_of(std::string_view text) {
    return text == name(Admission::output) ? Admission::output : Admission::prompt;
}

struct SchedulerOptions {
    std::int64_t max_sequences = 256;   ///< in the engine at once
    std::int64_t max_tokens = 8192;     ///< of one step
    bool chunked = true;                ///< prompts are computed in chunks beside decodes; else whole, in steps of their own that go first
    std::optional<std::int64_t> chunk;  ///< prompt tokens of one step at most; absent: `max_tokens`
    std::int64_t block_tokens = 16;     ///< tokens of one block of the KV cache
    double memory_fraction = 0.9;       ///< of usable memory for the engine, or of what weights leave (`cache_of_free`); above 0, at most 1
    double prefix_cached = 0;           ///< share of each prompt whose keys and values are there already, 0 to below 1, in whole blocks
    Admission admission = Admission::prompt;
};

}  // namespace roofcast
