/// GEMMs and attention.

#include <algorithm>

#include "host/design.hpp"
#include "host/shapes.hpp"

namespace roofcast::microbench {

namespace {

constexpr int random_gemms = 160, odd_shapes = 80, batched_shapes = 80;
constexpr int warm_fraction = 5;  ///< one case in this many runs with warm caches
constexpr int bias_fraction = 4;

std::int64_t multiple(std::int64_t value, std::int64_t of) {
    return std::max(of, value / of * of);
}

bool affordable(const Case& c) {
    return operations(c) <= largest_operations(c.precision) && compulsory_bytes(c) <= largest_bytes;
}

void add(std::vector<Case>& cases, Case c) {
    c.cache = cases.size() % warm_fraction == warm_fraction - 1 ? CacheState::warm : CacheState::cold;
    if (affordable(c)) cases.push_back(std::move(c));
}

Gemm aligned_gemm(Random& random) {
    return {1, random.log_uniform(1, 16384), multiple(random.log_uniform(64, 32768), 64), multiple(random.log_uniform(64, 32768), 64)};
}

Gemm odd_gemm(Random& random, bool wants_multiples) {
    const std::int64_t of = wants_multiples ? 16 : 1;
    return {1, random.log_uniform(1, 8192), multiple(random.log_uniform(17, 12000), of), multiple(random.log_uniform(17, 12000), of)};
}

/// As attention without fusion has them: scores (n and m are lengths, k a head) or values (n is a head).
Gemm batched_gemm(Random& random) {
    constexpr std::array<std::int64_t, 4> heads{32, 64, 80, 128};
    const std::int64_t rows = random.log_uniform(16, 4096), cols = multiple(random.log_uniform(16, 4096), 16), head = random.one_of(heads);
    const bool scores = random.whole(0, 1) == 0;
    return {random.log_uniform(2, 512), rows, scores ? cols : head, scores ? head : cols};
}

}  // namespace

std::vector<Case> gemm_cases(Precision p, Random& random) {
    std::vector<Case> cases;
    constexpr std::array<std::int64_t, 8> decode_tokens{1, 2, 4, 8, 16, 32, 48, 64};
    for (const auto& layer : linear_layers) {
        for (const std::int64_t m :
             {random.one_of(decode_tokens), random.log_uniform(65, 1024), random.log_uniform(1024, 16384), std::int64_t{4096}}) {
            const bool bias = random.whole(1, bias_fraction) == 1;
            add(cases, {p, CacheState::cold, Gemm{1, m, layer.n, layer.k, bias}});
        }
    }
    for (int i = 0; i < random_gemms; ++i) add(cases, {p, CacheState::cold, aligned_gemm(random)});
    for (int i = 0; i < odd_shapes; ++i) add(cases, {p, CacheState::cold, odd_gemm(random, wants_alignment(p))});
    for (int i = 0; i < batched_shapes; ++i) add(cases, {p, CacheState::cold, batched_gemm(random)});
    return cases;
}

std::vector<Case> attention_cases(Precision p, Random& random) {
    std::vector<Case> cases;
    for (const auto& layer : attention_layers) {
        for (int i = 0; i < 12; ++i) {  // prefill; odd lengths among them
            const std::int64_t length = random.log_uniform(32, 16384), batch = random.log_uniform(1, 64);
            const std::int64_t queries = i % 3 == 0 ? length : multiple(length, 64);
            add(cases, {p, CacheState::cold, Attention{batch, layer.heads, layer.kv_heads, layer.head_dim, queries, queries, i % 2 == 0}});
        }
        for (int i = 0; i < 12; ++i) {  // decode
            const std::int64_t batch = random.log_uniform(1, 256), kv = random.log_uniform(64, 131072);
            add(cases, {p, CacheState::cold, Attention{batch, layer.heads, layer.kv_heads, layer.head_dim, 1, kv, false}});
        }
    }
    return cases;
}

}  // namespace roofcast::microbench
