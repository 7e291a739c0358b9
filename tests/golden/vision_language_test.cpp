/// Qwen2.5-VL-3B on a GeForce RTX 4090, an image and a question, 128 tokens of answer. No measurement of this pair is shipped: identities
/// and physical bounds from published dimensions (config.json of Qwen/Qwen2.5-VL-3B-Instruct).

#include <doctest/doctest.h>

#include "golden/golden.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::Golden;
using test::rel;
using test::shipped_gpu;

namespace {

constexpr double tflops_4090 = 165.2;         // bf16 with fp32 accumulation, dense (NVIDIA Ada architecture whitepaper)
constexpr double gb_s_4090 = 1008;            // the same
constexpr double language_weights = 3.086e9;  // 36 layers of 2048 and the tied table of 151936, as is read in each decode step
constexpr double vision_weights = 0.669e9;    // 32 layers of 1280 with 3420 inside, and the merger

Prediction answer(const Golden& golden, std::int64_t tokens) {
    return golden.run("qwen2.5-vl-3b", shipped_gpu("rtx-4090"),
                      {.prompt_tokens = 64, .generate_tokens = tokens, .image_size = 448, .precision = Precision::bf16});
}

}  // namespace

TEST_CASE("the vision part of Qwen2.5-VL-3B is apart, and the answer's 128 tokens are one prefill and 127 steps") {
    const Golden golden;
    const Prediction p = answer(golden, 128);
    REQUIRE(p.phases.size() == 3);
    CHECK(p.phases[0].name == "vision");
    CHECK(p.phases[1].name == "prefill");
    CHECK(p.phases[2].name == "decode");
    CHECK(p.phases[2].passes == rel(127, 1e-12));
    CHECK(p.ttft->in(ms) == rel((p.phases[0].latency + p.phases[1].latency).in(ms), 1e-9));
    CHECK(p.latency.in(ms) == rel((*p.ttft + 127 * *p.tpot).in(ms), 1e-9));
    CHECK(p.memory.fits().value());  // 7.5 GB of weights in 24 GB
    CHECK(p.memory.weights.in(gb) == rel(2e-9 * (language_weights + vision_weights), 0.01));
}

TEST_CASE("a prompt without images has no vision part, on Hopper as well, whose attention divides its work among sequences") {
    const Golden golden;
    for (const char* gpu : {"rtx-4090", "h200-sxm-141gb"}) {
        const Prediction p = golden.run("qwen2.5-vl-3b", shipped_gpu(gpu),
                                        {.prompt_tokens = 64, .generate_tokens = 2, .images = 0, .precision = Precision::bf16});
        REQUIRE(p.phases.size() == 2);
        CHECK(p.phases[0].name == "prefill");
        CHECK(p.ttft->in(ms) == p.phases[0].latency.in(ms));
    }
}

TEST_CASE("no part of Qwen2.5-VL-3B is faster than the data sheet, and decoding is most of the answer") {
    const Golden golden;
    const Prediction p = answer(golden, 128);
    // 448 pixels are 32 × 32 patches of 14, 256 tokens after 2 × 2 are merged; with 64 of text 320.
    CHECK(p.phases[0].latency.in(s) > 2 * 1024 * 0.6 * vision_weights / (tflops_4090 * 1e12));    // the merger sees a quarter of them
    CHECK(p.phases[1].latency.in(s) > 2 * 320 * 0.85 * language_weights / (tflops_4090 * 1e12));  // the head sees one token
    CHECK(p.tpot->in(s) > 2 * language_weights / (gb_s_4090 * 1e9));                              // 6.1 ms
    CHECK(p.tpot->in(s) < 2 * 2 * language_weights / (gb_s_4090 * 1e9));
    CHECK(p.phases[2].latency > 0.8 * p.latency);
    // 36 layers of 2 KV heads of 128, keys and values in 2 bytes: 36 864 bytes a token.
    CHECK(p.memory.kv_cache.in(byte) == rel(36'864.0 * (320 + 128), 0.01));
}

TEST_CASE("the picture costs the same whatever the answer's length") {
    const Golden golden;
    const Prediction brief = answer(golden, 16), full = answer(golden, 128);
    CHECK(full.phases[0].latency.in(ms) == rel(brief.phases[0].latency.in(ms), 1e-12));
    CHECK(full.ttft->in(ms) == rel(brief.ttft->in(ms), 1e-9));
    CHECK(full.phases[2].latency > 127.0 / 15 * 0.99 * brief.phases[2].latency);  // steps grow with the cache
}
