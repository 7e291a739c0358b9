#include "scenario/engine_cache.hpp"

#include <algorithm>
#include <cmath>

namespace roofcast {

namespace {

constexpr double most_sequences = 1e9;  // where sequences take next to nothing

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

bool full(const CacheKind& kind) {
    return kind.window == 0 && kind.per_token > Bytes{};
}

bool all_full(const std::vector<CacheKind>& kinds) {
    return std::all_of(kinds.begin(), kinds.end(), [](const CacheKind& k) { return full(k) && k.state <= Bytes{} && k.image_tokens == 0; });
}

bool any_compressed(const std::vector<CacheKind>& kinds) {
    return std::any_of(kinds.begin(), kinds.end(), [](const CacheKind& kind) { return kind.compressed > Bytes{}; });
}

double layers_of(const CacheKind& kind) {
    return static_cast<double>(kind.layers);
}

/// Cache bytes of one token in all layers that keep tokens, with or without windows.
Bytes bytes_of_token(const std::vector<CacheKind>& kinds) {
    Bytes total;
    for (const CacheKind& kind : kinds) total += layers_of(kind) * (kind.per_token + kind.compressed);
    return total;
}

double bounded(double sequences) {
    return std::clamp(sequences, 0.0, most_sequences);
}

/// vLLM's hybrid cache manager: layers of a kind are cut into groups of equal size, and all groups take blocks of equal bytes from one
/// pool. Kinds whose tokens are smaller put more of them into a block; a block holds the state of a layer.
struct Groups {
    struct Group {
        const CacheKind* kind;
        std::int64_t block_tokens;  ///< of a block; 0: of states
        std::int64_t count;         ///< groups of the kind
    };
    std::vector<Group> groups;
    Bytes block;  ///< of all layers of a group
    std::int64_t blocks = 0;
    std::int64_t least_tokens = 0;  ///< of a block

    explicit Groups(const EngineCache& cache) {
        const std::int64_t size = group_size(cache.kinds);
        Bytes page;  // of one layer
        std::int64_t tokens = cache.engine.block_tokens;
        for (const CacheKind& kind : cache.kinds) {
            if (kind.state <= Bytes{} || kind.per_token > Bytes{}) continue;
            // Attention's blocks are made long enough to hold a state.
            for (const CacheKind& other : cache.kinds) {
                if (other.per_token <= Bytes{}) continue;
                const auto needed = static_cast<std::int64_t>(std::ceil(kind.state / other.per_token));
                tokens = std::max(tokens, ceil_div(needed, cache.engine.block_tokens) * cache.engine.block_tokens);
            }
            page = max(page, kind.state);
        }
        for (const CacheKind& kind : cache.kinds) page = max(page, static_cast<double>(tokens) * kind.per_token);
        for (const CacheKind& kind : cache.kinds) {
            const std::int64_t held =
                kind.per_token > Bytes{} ? std::max<std::int64_t>(1, static_cast<std::int64_t>(page / kind.per_token)) : 0;
            groups.push_back({&kind, held, ceil_div(kind.layers, size)});
            if (held > 0) least_tokens = least_tokens == 0 ? held : std::min(least_tokens, held);
        }
        block = static_cast<double>(size) * page;
        blocks = static_cast<std::int64_t>(cache.size / block);
    }

    /// Layers of a group: the fewest of any kind, but all of the largest kind where the others are nearly as many.
    static std::int64_t group_size(const std::vector<CacheKind>& kinds) {
        constexpr double nearly = 1.25;
        std::int64_t least = kinds.front().layers, most = 0;
        for (const CacheKind& kind : kinds) {
            least = std::min(least, kind.layers);
            most = std::max(most, kind.layers);
        }
        return static_cast<double>(most) < nearly * static_cast<double>(least) ? most : least;
    }

    [[nodiscard]] std::int64_t count() const {
        std::int64_t all = 0;
        for (const Group& group : groups) all += group.count;
        return all;
    }

    /// Blocks that a sequence of `context` tokens takes.
    [[nodiscard]] std::int64_t of_sequence(std::int64_t context, const EngineCache& cache) const {
        std::int64_t needed = 0;
        for (const Group& group : groups) {
            if (group.block_tokens == 0) {
                needed += group.count * cache.engine.state_blocks;
                continue;
            }
            const std::int64_t window = group.kind->window;
            // Tokens that left the window go when the step is over; a window may begin within a block.
            const std::int64_t held = group.kind->image_tokens > 0 ? group.kind->image_tokens
                                      : window > 0                 ? std::min(context, window - 1 + cache.step_tokens)
                                                                   : context;
            needed += group.count * (ceil_div(held, group.block_tokens) + (window > 0 ? 1 : 0));
        }
        return std::max<std::int64_t>(1, needed);
    }
};

/// SGLang's pools: `window_fraction` of the tokens of full layers for window layers, `state_fraction` of the cache for states.
struct Pools {
    Bytes full_token, window_token, state, of_states;
    double tokens = 0;  ///< of full layers

    explicit Pools(const EngineCache& cache) {
        for (const CacheKind& kind : cache.kinds) {
            (kind.window > 0 ? window_token : full_token) += layers_of(kind) * kind.per_token;
            full_token += layers_of(kind) * kind.compressed;  // of every token, whatever the window beside it
            state += layers_of(kind) * kind.state;
        }
        if (state > Bytes{}) of_states = cache.engine.state_fraction * cache.size;
        const Bytes token = full_token + cache.engine.window_fraction * window_token;
        tokens = token > Bytes{} ? (cache.size - of_states) / (full_token > Bytes{} ? token : window_token) : 0;
    }

    [[nodiscard]] double concurrency(std::int64_t context, const EngineCache& cache) const {
        double sequences = most_sequences;
        if (full_token > Bytes{}) sequences = std::min(sequences, tokens / static_cast<double>(context));
        for (const CacheKind& kind : cache.kinds) {
            if (kind.window == 0) continue;
            const double pool = full_token > Bytes{} ? cache.engine.window_fraction * tokens : tokens;
            sequences = std::min(sequences, pool / static_cast<double>(std::min(context, kind.window)));
        }
        if (state > Bytes{}) sequences = std::min(sequences, std::floor(of_states / state));
        return sequences;
    }
};

bool grouped(const EngineCache& cache) {
    return cache.engine.layout == CacheLayout::groups && !all_full(cache.kinds) && !any_compressed(cache.kinds);
}

}  // namespace

Bytes EngineCache::sequence(std::int64_t context) const {
    Bytes total;
    const std::int64_t whole = ceil_div(context, engine.block_tokens) * engine.block_tokens;
    for (const CacheKind& kind : kinds) {
        std::int64_t held = whole;
        if (kind.window > 0) held = std::min(whole, ceil_div(kind.window + step_tokens, engine.block_tokens) * engine.block_tokens);
        if (kind.image_tokens > 0) held = kind.image_tokens;
        total += layers_of(kind) * (static_cast<double>(held) * kind.per_token + static_cast<double>(whole) * kind.compressed + kind.state);
    }
    return total;
}

double EngineCache::concurrency(std::int64_t context) const {
    if (kinds.empty()) return most_sequences;
    if (grouped(*this)) {
        const Groups groups(*this);
        return bounded(static_cast<double>(groups.blocks) / static_cast<double>(groups.of_sequence(context, *this)));
    }
    if (engine.layout == CacheLayout::pools) return bounded(Pools(*this).concurrency(context, *this));
    const std::int64_t whole = ceil_div(context, engine.block_tokens) * engine.block_tokens;
    if (engine.layout == CacheLayout::growing || all_full(kinds)) {
        const double blocks = std::floor(size / (static_cast<double>(engine.block_tokens) * bytes_of_token(kinds)));
        return bounded(blocks * static_cast<double>(engine.block_tokens) / static_cast<double>(whole));
    }
    return bounded(size / sequence(context));
}

std::int64_t EngineCache::tokens(std::int64_t context) const {
    if (kinds.empty()) return 0;
    if (engine.layout == CacheLayout::pools) return static_cast<std::int64_t>(std::max(0.0, Pools(*this).tokens));
    if (grouped(*this) && !engine.counts_requests) {
        const Groups groups(*this);
        return std::max<std::int64_t>(0, groups.blocks / groups.count() * groups.least_tokens);
    }
    if (!grouped(*this) && (engine.layout == CacheLayout::growing || all_full(kinds))) {
        const Bytes block = static_cast<double>(engine.block_tokens) * bytes_of_token(kinds);
        return std::max<std::int64_t>(0, static_cast<std::int64_t>(size / block) * engine.block_tokens);
    }
    constexpr double most_tokens = 1e15;
    return static_cast<std::int64_t>(std::min(most_tokens, concurrency(context) * static_cast<double>(context)));
}

CacheGrowth growth(EngineCache cache, std::int64_t context) {
    if (cache.engine.layout == CacheLayout::growing || all_full(cache.kinds)) return {bytes_of_token(cache.kinds), {}};
    constexpr std::int64_t span = 1 << 20;
    constexpr double none = 1e-6;                // of a sequence: what rounding leaves
    cache.size = 1e8 * cache.sequence(context);  // so many sequences that parts of one do not matter
    cache.step_tokens = 1;                       // what leaves a window is freed as sequences decode
    const auto taken = [&cache](std::int64_t tokens) { return cache.size / cache.concurrency(tokens); };
    std::int64_t beyond = context;  // all windows
    for (const CacheKind& kind : cache.kinds) beyond = std::max(beyond, kind.window + cache.step_tokens);
    const std::int64_t whole = ceil_div(context, cache.engine.block_tokens) * cache.engine.block_tokens;
    const Bytes all = taken(whole);
    const Bytes per_token = (taken(beyond + span) - taken(beyond)) / static_cast<double>(span);
    if (per_token * static_cast<double>(whole) < none * all) return {all / static_cast<double>(whole), {}};
    const Bytes kept = all - static_cast<double>(whole) * per_token;
    return {per_token, kept > none * all ? kept : Bytes{}};
}

}  // namespace roofcast
