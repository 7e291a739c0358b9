#pragma once
/// How the scheduler of a serving engine forms its steps: what the engine does by itself, and what its user sets.

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

/// What a step computes when there are prompts.
enum class Batching {
    mixed,          ///< prompts beside decodes
    prompts_first,  ///< prompts alone, while decodes wait
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
    std::int64_t max_sequences = 256;  ///< in the engine at once
    std::int64_t max_tokens = 8192;    ///< of one step
    Batching batching = Batching::mixed;
    bool chunked = true;                ///< a prompt that does not fit a step is cut; else it is computed whole
    std::optional<std::int64_t> chunk;  ///< prompt tokens of one step at most; absent: `max_tokens`
    std::int64_t block_tokens = 16;     ///< tokens of one block of the KV cache
    double memory_fraction = 0.9;       ///< of usable memory for the engine, or of what weights leave (`cache_of_free`); above 0, at most 1
    double prefix_cached = 0;           ///< fraction of each prompt whose keys and values are there already, 0 to below 1, in whole blocks
    Admission admission = Admission::prompt;
    std::int64_t poll_steps = 1;  ///< decode steps after which new requests are looked for; after a step with prompts at once
    std::int64_t wait_steps = 0;  ///< decode steps at most that prompts wait for others to join them; 0: none
    double wait_fraction = 0;     ///< of `max_tokens`: so many tokens with those of decodes end the wait; 0 to 1
};

/// What is said about some of the options: by an engine, by its user or by a measurement.
struct SchedulerSettings {
    std::optional<std::int64_t> max_sequences, max_tokens, chunk, block_tokens, poll_steps, wait_steps;
    std::optional<Batching> batching;
    std::optional<bool> chunked;
    std::optional<Admission> admission;
    std::optional<double> memory_fraction, prefix_cached, wait_fraction;
};

/// `options` with what `settings` say. Steps have room for a token of each sequence: where only one of `max_sequences` and `max_tokens` is
/// set, the other gives way.
SchedulerOptions with(SchedulerOptions options, const SchedulerSettings& settings);

}  // namespace roofcast
