#pragma once
/// How the scheduler of a serving engine forms its steps: defaults of the engine and settings of its user.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace roofcast {

/// When a sequence is admitted to the engine.
enum class Admission {
    prompt,  ///< its prompt fits the KV cache; the latest sequence is preempted when the cache is full
    output   ///< its prompt and whole output fit; nothing is preempted
};
inline constexpr std::array<std::string_view, 2> admission_names{"prompt", "output"};
constexpr std::string_view name(Admission a) {
    return admission_names[static_cast<std::size_t>(a)];
}
/// `text` is one of `admission_names`.
constexpr Admission admission_of(std::string_view text) {
    return text == name(Admission::output) ? Admission::output : Admission::prompt;
}

/// Contents of a step when prompts are waiting.
enum class Batching {
    mixed,          ///< prompts and decodes together
    prompts_first,  ///< only prompts, while decodes wait
};
inline constexpr std::array<std::string_view, 2> batching_names{"mixed", "prompts_first"};
constexpr std::string_view name(Batching b) {
    return batching_names[static_cast<std::size_t>(b)];
}
/// `text` is one of `batching_names`.
constexpr Batching batching_of(std::string_view text) {
    return text == name(Batching::prompts_first) ? Batching::prompts_first : Batching::mixed;
}

struct SchedulerOptions {
    std::int64_t max_sequences = 256;  ///< sequences in the engine at once
    std::int64_t max_tokens = 8192;    ///< tokens in one step
    Batching batching = Batching::mixed;
    bool chunked = true;                    ///< a prompt that exceeds a step is chunked; false: prompts are computed whole
    std::optional<std::int64_t> chunk;      ///< most prompt tokens in one step; absent: `max_tokens`
    std::int64_t block_tokens = 16;         ///< tokens of one block of the KV cache
    std::optional<double> memory_fraction;  ///< as the engine means it (`FractionOf`), above 0, at most 1; absent: the engine's, else 0.9
    double prefix_cached = 0;               ///< fraction of each prompt already in the KV cache, 0 to below 1, in whole blocks
    Admission admission = Admission::prompt;
    std::int64_t poll_steps = 1;  ///< decode steps between checks for new requests; after a step with prompts: immediately
    std::int64_t wait_steps = 0;  ///< most decode steps for which prompts wait for further prompts; 0: none
    double wait_fraction = 0;     ///< fraction of `max_tokens` that ends the wait, decode tokens included; 0 to 1
};

/// Some of the options, as set by an engine, its user or a measurement.
struct SchedulerSettings {
    std::optional<std::int64_t> max_sequences, max_tokens, chunk, block_tokens, poll_steps, wait_steps;
    std::optional<Batching> batching;
    std::optional<bool> chunked;
    std::optional<Admission> admission;
    std::optional<double> memory_fraction, prefix_cached, wait_fraction;
};

/// `options` with `settings` applied. Steps have room for one token per sequence: if only one of `max_sequences` and `max_tokens` is set,
/// the other is adjusted.
SchedulerOptions with(SchedulerOptions options, const SchedulerSettings& settings);

}  // namespace roofcast
