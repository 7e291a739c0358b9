#pragma once
/// How many tokens and sequences a KV cache of given size holds, by the engine's layout.

#include <cstdint>
#include <vector>

#include "roofcast/decoder_figures.hpp"
#include "roofcast/engine_memory.hpp"

namespace roofcast {

/// A cache of `size` bytes. `kinds`: with the layers of one pipeline stage; `step_tokens`: of the largest step, which windows hold too.
struct EngineCache {
    const EngineMemory& engine;
    std::vector<CacheKind> kinds;
    Bytes size;
    std::int64_t step_tokens = 1;

    /// Sequences of `context` tokens that fit at once; 0 or more, and not above 1e9.
    [[nodiscard]] double concurrency(std::int64_t context) const;
    /// Tokens as the engine's log counts them, where its longest request has `context` tokens.
    [[nodiscard]] std::int64_t tokens(std::int64_t context) const;
    /// Bytes that one sequence of `context` tokens takes: what an engine that allocates by sequences needs.
    [[nodiscard]] Bytes sequence(std::int64_t context) const;
};

/// Bytes of a sequence as the simulator counts them: `kept` once, `per_token` for each token.
struct CacheGrowth {
    Bytes per_token, kept;
};
/// Exact for sequences of `context` tokens; longer ones grow by the layers without a window. Windows and states are all in `kept`, but in
/// a model that has nothing else. `cache.size` and `step_tokens` do not matter.
CacheGrowth growth(EngineCache cache, std::int64_t context);

}  // namespace roofcast
