#include "host/cases.hpp"

#include <doctest/doctest.h>

#include <set>

#include "host/design.hpp"
#include "support/compare.hpp"

using namespace roofcast::microbench;
using roofcast::test::rel;

TEST_CASE("operations and bytes of a GEMM are those of its formula") {
    // 2 · 3 · 4 · 5 = 120 operations; fp16: 2 · (3 · 5 + 4 · 5 + 3 · 4) = 94 bytes.
    const Case c{Precision::fp16, CacheState::cold, Gemm{1, 3, 4, 5, false}};
    CHECK(operations(c) == 120);
    CHECK(compulsory_bytes(c) == 94);
    // fp8 gives bf16: 3 · 5 + 4 · 5 + 2 · 3 · 4 = 59; int8 gives int32: 35 + 48 = 83.
    CHECK(compulsory_bytes({Precision::fp8, CacheState::cold, Gemm{1, 3, 4, 5, false}}) == 59);
    CHECK(compulsory_bytes({Precision::int8, CacheState::cold, Gemm{1, 3, 4, 5, false}}) == 83);
}

TEST_CASE("causal attention leaves out the masked scores") {
    // Four queries over four keys: 16 scores, of which 6 are masked; 4 operations for each of 8 dimensions of one head.
    CHECK(operations({Precision::fp16, CacheState::cold, Attention{1, 1, 1, 8, 4, 4, false}}) == 512);
    CHECK(operations({Precision::fp16, CacheState::cold, Attention{1, 1, 1, 8, 4, 4, true}}) == 320);
}

TEST_CASE("a convolution counts its outputs") {
    // 7 × 7 on 224 with stride 2 and padding 3 gives 112; ResNet-50's first layer: 2 · 64 · 112² · 3 · 49 operations = 0.236 G.
    const Convolution w{1, 3, 224, 224, 64, 7, 2, 3, 1, false};
    CHECK(w.out_height() == 112);
    CHECK(operations({Precision::fp32, CacheState::cold, w}) == rel(2.0 * 64 * 112 * 112 * 147, 1e-12));
}

TEST_CASE("cases are described by the columns of the measurement format") {
    CHECK(described({Precision::bf16, CacheState::warm, Gemm{1, 8, 64, 32, true}}) ==
          "gemm linear_bias batch=1 m=8 n=64 k=32 bf16 cache=warm");
    CHECK(described({Precision::fp32, CacheState::warm, Launch{"launch_latency"}}) == "launch launch_latency_us fp32");
    CHECK(described({Precision::fp32, CacheState::cold, Copy{Direction::host_to_device, false, 1024}}) ==
          "copy memcpy_h2d pageable bytes=1024 fp32");
}

TEST_CASE("designed cases are possible: dimensions positive, filters inside images, alignment kept, memory bounded") {
    for (int s = 0; s < suite_count; ++s) {
        for (const Precision p : precisions_of(static_cast<Suite>(s))) {
            for (const Case& c : designed_cases(static_cast<Suite>(s), p, 7)) {
                CAPTURE(described(c));
                CHECK(compulsory_bytes(c) <= 3.3e9);  // triad over 1 GiB
                if (const auto* g = std::get_if<Gemm>(&c.work)) {
                    CHECK((g->m > 0 && g->n > 0 && g->k > 0 && g->batch > 0));
                    if (wants_alignment(p) && g->batch == 1) CHECK((g->k % 16 == 0));
                }
                if (const auto* w = std::get_if<Convolution>(&c.work)) {
                    CHECK((w->out_height() > 0 && w->in_channels % w->groups == 0 && w->out_channels % w->groups == 0));
                }
                if (const auto* a = std::get_if<Attention>(&c.work))
                    CHECK((a->heads % a->kv_heads == 0 && (!a->causal || a->query_len == a->kv_len)));
            }
        }
    }
}

TEST_CASE("the same seed gives the same shapes, another seed others") {
    const auto text = [](std::uint64_t seed) {
        std::string all;
        for (const Case& c : designed_cases(Suite::gemm, Precision::bf16, seed)) all += described(c) + "\n";
        return all;
    };
    CHECK(text(1) == text(1));
    CHECK(text(1) != text(2));
}

TEST_CASE("GEMMs of every precision come aligned and odd, cold and warm, single and batched") {
    int odd = 0, warm = 0, batched = 0, bias = 0;
    const auto cases = designed_cases(Suite::gemm, Precision::bf16, 1);
    for (const Case& c : cases) {
        const auto& g = std::get<Gemm>(c.work);
        odd += g.n % 2 != 0 || g.k % 2 != 0;
        warm += c.cache == CacheState::warm;
        batched += g.batch > 1;
        bias += g.bias;
    }
    CHECK(cases.size() > 350);
    CHECK(odd > 30);
    CHECK(warm > 60);
    CHECK(batched > 50);
    CHECK(bias > 20);
}
