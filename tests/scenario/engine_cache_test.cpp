// What a cache holds, by the layouts of engines. Expected tokens: start-up logs of vLLM 0.19 on an H100, whose GiB have two digits.
#include "scenario/engine_cache.hpp"

#include <doctest/doctest.h>

#include "support/compare.hpp"

using namespace roofcast;
using test::rel;

namespace {

EngineMemory facts_with(CacheLayout layout, std::int64_t block = 16) {
    EngineMemory facts;
    facts.layout = layout;
    facts.block_tokens = block;
    return facts;
}

/// Keys and values in 16 bits.
CacheKind attention_kind(std::int64_t layers, double kv_heads, double head_dim, std::int64_t window = 0) {
    return {.per_token = 2 * 2 * kv_heads * head_dim * byte,
            .window = window,
            .image_tokens = 0,
            .compressed = {},
            .state = {},
            .layers = layers};
}

CacheKind state_kind(std::int64_t layers, double bytes) {
    return {.per_token = {}, .window = 0, .image_tokens = 0, .compressed = {}, .state = bytes * byte, .layers = layers};
}

}  // namespace

TEST_CASE("layers that are all alike hold whole blocks of tokens") {
    const EngineMemory facts = facts_with(CacheLayout::groups);
    // Llama 3.1 8B: 32 layers, 8 KV heads of 128: 131,072 bytes a token.
    const EngineCache cache{facts, {attention_kind(32, 8, 128)}, 58.11 * gib, 8192};
    CHECK(static_cast<double>(cache.tokens(8192)) == rel(476'016, 1e-4));
    CHECK(cache.tokens(8192) % 16 == 0);
    CHECK(cache.concurrency(8192) == rel(476'016.0 / 8192, 1e-4));
}

TEST_CASE("window layers share blocks with full ones in groups of equal size") {
    const EngineMemory facts = facts_with(CacheLayout::groups);
    // Gemma 3 12B: 8 full layers, 40 of 1,024 tokens, in groups of 8.
    const EngineCache gemma12{facts, {attention_kind(8, 8, 256), attention_kind(40, 8, 256, 1024)}, 47.72 * gib, 8192};
    CHECK(static_cast<double>(gemma12.tokens(8192)) == rel(130'304, 2e-4));
    // Gemma 3 4B: 5 full layers and 29 others, in 7 groups of 5.
    const EngineCache gemma4{facts, {attention_kind(5, 4, 256), attention_kind(29, 4, 256, 1024)}, 62.51 * gib, 8192};
    CHECK(static_cast<double>(gemma4.tokens(8192)) == rel(468'144, 2e-4));
    // gpt-oss-20b: 12 and 12.
    const EngineCache oss{facts, {attention_kind(12, 8, 64), attention_kind(12, 8, 64, 128)}, 58.47 * gib, 8192};
    CHECK(static_cast<double>(oss.tokens(8192)) == rel(1'277'184, 2e-4));
}

TEST_CASE("a log that counts requests of the longest context counts more tokens where windows are shorter than it") {
    EngineMemory facts = facts_with(CacheLayout::groups);
    const std::vector<CacheKind> oss{attention_kind(12, 8, 64), attention_kind(12, 8, 64, 128)};
    const EngineCache blocks{facts, oss, 10 * gib, 2048};
    const std::int64_t of_blocks = blocks.tokens(131'072);
    facts.counts_requests = true;
    const EngineCache requests{facts, oss, 10 * gib, 2048};
    // 8,192 blocks of full layers; 2,048 + 127 tokens of windows in 136 blocks and one that the window begins within.
    const double of_request = 8192 + 137;
    CHECK(static_cast<double>(requests.tokens(131'072)) == rel(of_blocks * 2 / 16.0 / of_request * 131'072, 1e-3));
}

TEST_CASE("blocks are long enough to hold a state, and a sequence takes some for its states") {
    EngineMemory facts = facts_with(CacheLayout::groups);
    facts.state_blocks = 2;
    // A token takes 1,024 bytes, a state 1,600,000: 1,563 tokens, rounded up to 1,568.
    const EngineCache cache{facts, {attention_kind(16, 1, 256), state_kind(48, 1.6e6)}, 10 * gib, 2048};
    const double block = 16 * 1568 * 1024, blocks = std::floor((10 * gib).in(byte) / block);
    CHECK(cache.concurrency(262'144) == rel(blocks / (168 + 3 * 2), 1e-9));
}

TEST_CASE("an engine without a hybrid cache keeps every token in every layer") {
    const EngineMemory facts = facts_with(CacheLayout::growing);
    const EngineCache cache{facts, {attention_kind(8, 8, 256), attention_kind(40, 8, 256, 1024)}, 47.72 * gib, 8192};
    CHECK(static_cast<double>(cache.tokens(8192)) == rel((47.72 * gib).in(byte) / (48 * 8192), 1e-4));
}

TEST_CASE("pools give windows and states shares of their own") {
    EngineMemory facts = facts_with(CacheLayout::pools, 1);
    facts.window_fraction = 0.8;
    const EngineCache windows{facts, {attention_kind(10, 1, 256), attention_kind(10, 1, 256, 128)}, 1 * gib, 1};
    CHECK(static_cast<double>(windows.tokens(4096)) == rel((1 * gib).in(byte) / (10 * 1024 * 1.8), 1e-4));
    facts.state_fraction = 0.5;
    const EngineCache states{facts, {attention_kind(10, 1, 256), state_kind(30, 1e6)}, 1 * gib, 1};
    CHECK(static_cast<double>(states.tokens(4096)) == rel((0.5 * gib).in(byte) / (10 * 1024), 1e-4));
    CHECK(states.concurrency(1) == rel(std::floor((0.5 * gib).in(byte) / 30e6), 1e-9));  // states run out first
}

TEST_CASE("a sequence takes its window and no more, and images what they have") {
    const EngineMemory facts = facts_with(CacheLayout::sequences, 1);
    CacheKind cross = attention_kind(2, 1, 128);
    cross.image_tokens = 1000;
    const EngineCache cache{facts, {attention_kind(3, 1, 128), attention_kind(5, 1, 128, 512), cross}, 1 * gib, 256};
    CHECK(cache.sequence(10'000).in(byte) == rel(512.0 * (3 * 10'000 + 5 * (512 + 256) + 2 * 1000), 1e-12));
    CHECK(cache.sequence(100).in(byte) == rel(512.0 * (3 * 100 + 5 * 100 + 2 * 1000), 1e-12));
}

TEST_CASE("longer contexts never let more sequences in, in any layout") {
    for (const CacheLayout layout : {CacheLayout::groups, CacheLayout::growing, CacheLayout::pools, CacheLayout::sequences}) {
        EngineMemory facts = facts_with(layout);
        facts.state_fraction = 0.3;
        const EngineCache cache{facts, {attention_kind(6, 2, 128), attention_kind(18, 2, 128, 1024), state_kind(12, 2e6)}, 20 * gib, 2048};
        double before = cache.concurrency(1);
        for (std::int64_t context = 2; context < 1'000'000; context = context * 5 / 4 + 1) {
            const double now = cache.concurrency(context);
            CHECK(now <= before);
            CHECK(now > 0);
            before = now;
        }
    }
}

TEST_CASE("a sequence grows by its full layers, and keeps its windows and states") {
    const EngineMemory facts = facts_with(CacheLayout::sequences, 1);
    const auto grown = [&facts](const std::vector<CacheKind>& kinds, std::int64_t context) {
        return growth({facts, kinds, 1 * gib, 8192}, context);
    };
    // 32 layers, 8 KV heads of 128, keys and values in 2 bytes.
    const CacheKind full = attention_kind(32, 8, 128);
    const CacheGrowth plain = grown({full}, 1000);
    CHECK(plain.per_token.in(byte) == rel(131'072, 1e-9));
    CHECK(plain.kept == Bytes{});
    // A window of 128 tokens, and the one that is computed; a short sequence has fewer.
    const CacheGrowth windowed = grown({full, attention_kind(2, 1, 8, 128)}, 1000);
    CHECK(windowed.per_token.in(byte) == rel(131'072, 1e-9));
    CHECK(windowed.kept.in(byte) == rel(129 * 2 * 32, 1e-3));
    CHECK(grown({full, attention_kind(2, 1, 8, 128)}, 100).kept.in(byte) == rel(100 * 2 * 32, 1e-3));
    CHECK(grown({full, state_kind(3, 5e6)}, 1000).kept.in(byte) == rel(3 * 5e6, 1e-6));
    // With windows alone, each token counts what a sequence of this length has for it.
    const CacheGrowth windows = grown({attention_kind(2, 1, 8, 128)}, 258);
    CHECK(windows.per_token.in(byte) == rel(2 * 32 / 2.0, 1e-9));
    CHECK(windows.kept == Bytes{});
}

TEST_CASE("tokens that are compressed are all kept, whatever the window beside them") {
    EngineMemory facts = facts_with(CacheLayout::pools, 1);
    facts.window_fraction = 0.5;
    CacheKind kind = attention_kind(4, 1, 8, 128);  // 32 bytes a token and layer in the window
    kind.compressed = 2 * byte;
    // A full token has 4 × 2 bytes, and half a window token 4 × 32 / 2: 72 bytes.
    const EngineCache cache{facts, {kind}, 72e6 * byte, 1};
    CHECK(cache.tokens(1000) == 1'000'000);
    CHECK(cache.concurrency(100'000) == rel(10, 1e-9));
    // At 100 tokens the pool of the window decides: half a million tokens, 100 each.
    CHECK(cache.concurrency(100) == rel(5'000, 1e-9));
}
