/// Memory of language models. Expected values are arithmetic on published parameter counts and dimensions, or sizes of published files.

#include <doctest/doctest.h>

#include <string>

#include "golden/golden.hpp"
#include "support/compare.hpp"

using namespace roofcast;
using test::Golden;
using test::rel;

namespace {

double weights_gb(const Golden& golden, const char* model, Precision precision, std::string_view weights = {}) {
    return golden.memory(model, {.precision = precision}, {.weights = weights}).weights.in(gb);
}

/// Dimensions of Llama 2, from config.json of meta-llama/Llama-2-7b-hf, -13b-hf and -70b-hf.
struct Dimensions {
    const char* model;
    double layers, hidden, inside, kv_width;
    /// Embedding table and head, which 8- and 4-bit formats leave in 16 bits.
    [[nodiscard]] double tables() const { return 2 * 32000 * hidden; }
    /// Of a layer: queries and output, keys and values, gate, up and down, two normalizations; and the last normalization.
    [[nodiscard]] double parameters() const {
        const double layer = 2 * hidden * hidden + 2 * hidden * kv_width + 3 * hidden * inside + 2 * hidden;
        return layers * layer + tables() + hidden;
    }
};

constexpr Dimensions llama2[] = {{"llama-2-7b", 32, 4096, 11008, 4096},    // 6 738 415 616 parameters
                                 {"llama-2-13b", 40, 5120, 13824, 5120},   // 13 015 864 320
                                 {"llama-2-70b", 80, 8192, 28672, 1024}};  // 68 976 648 192

}  // namespace

TEST_CASE("weights of 7B, 13B and 70B models take 4, 2, about 1 and about half a byte a parameter") {
    const Golden golden;
    for (const Dimensions& size : llama2) {
        CAPTURE(std::string(size.model));
        CHECK(weights_gb(golden, size.model, Precision::fp32) == rel(4e-9 * size.parameters(), 1e-9));
        CHECK(weights_gb(golden, size.model, Precision::fp16) == rel(2e-9 * size.parameters(), 1e-9));
        // Normalizations, less than a ten-thousandth of the parameters, stay in 16 bits too; scales and zero points of int4 make 0.25 bits.
        const double narrow = 1e-9 * (size.parameters() - size.tables()), wide = 2e-9 * size.tables();
        CHECK(weights_gb(golden, size.model, Precision::fp16, "int8") == rel(narrow + wide, 1e-4));
        CHECK(weights_gb(golden, size.model, Precision::fp16, "int4") == rel(4.25 / 8 * narrow + wide, 1e-4));
    }
}

TEST_CASE("the rule of 28, 14, 7 and 3.5 GB for 7 billion parameters holds within what names round off") {
    const Golden golden;
    // 7, 13 and 70 billion are 6.74, 13.02 and 68.98; tables in 16 bits and scales add up to a sixth to the narrowest format.
    for (const auto& [model, billions] : {std::pair{"llama-2-7b", 7.0}, {"llama-2-13b", 13.0}, {"llama-2-70b", 70.0}}) {
        CAPTURE(std::string(model));
        CHECK(weights_gb(golden, model, Precision::fp32) == rel(4 * billions, 0.04));
        CHECK(weights_gb(golden, model, Precision::fp16) == rel(2 * billions, 0.04));
        CHECK(weights_gb(golden, model, Precision::fp16, "int8") == rel(billions, 0.04));
        CHECK(weights_gb(golden, model, Precision::fp16, "int4") == rel(0.5 * billions, 0.17));
    }
}

TEST_CASE("4-bit weights are as large as the files that people download") {
    const Golden golden;
    // Llama 2 as q4_0: 3.79, 7.32 and 38.87 GB (charts/incubator/llama-gpt of truecharts/public; the second also in the table of
    // localmodels/Llama-2-13B-ggml on Hugging Face, which has 7.87 GB as q4_K_M). The first two are of files from before GGUF, with the LM
    // head in 4.5 bits; the quantizer now stores it as q6_k: 32000 x 4096 and x 5120 weights of 6.5625 - 4.5 = 2.0625 bits more.
    const double wider_head = 32000 * 2.0625 / 8 / 1e9;
    CHECK(weights_gb(golden, "llama-2-7b", Precision::fp16, "q4_0") == rel(3.79 + 4096 * wider_head, 0.005));
    CHECK(weights_gb(golden, "llama-2-13b", Precision::fp16, "q4_0") == rel(7.32 + 5120 * wider_head, 0.005));
    CHECK(weights_gb(golden, "llama-2-70b", Precision::fp16, "q4_0") == rel(38.87, 0.005));
    CHECK(weights_gb(golden, "llama-2-13b", Precision::fp16, "q4_k_m") == rel(7.87, 0.005));
}

TEST_CASE("Llama-2-7B serving 8 sequences of 512 tokens caches 2.15 GB of keys and values") {
    const Golden golden;
    // Keys and values of 32 layers of 32 heads of 128 in 2 bytes are 524 288 bytes a token; 8 · 512 tokens: 2.147 GB.
    const MemoryEstimate memory =
        golden.memory("llama-2-7b", {.batch = 8, .prompt_tokens = 511, .generate_tokens = 1, .precision = Precision::fp16});
    CHECK(memory.kv_cache.in(byte) == rel(8 * 512 * 2.0 * 32 * 32 * 128 * 2, 1e-9));
    CHECK(memory.weights.in(gb) == rel(13.477, 1e-3));
    CHECK(memory.activations > 0 * gb);
    CHECK(memory.overhead > 0 * gb);
    CHECK(memory.total().in(gb) == rel((memory.weights + memory.kv_cache + memory.activations + memory.overhead).in(gb), 1e-12));
    // The logits of one token each, 8 · 32000 in fp16, and a layer's activations, 4096 tokens by 11008 by two tensors, are well under a
    // gigabyte: weights and cache make nine tenths of the total.
    CHECK((memory.weights + memory.kv_cache) / memory.total() > 0.9);
    CHECK(memory.total() < 24 * gb);
    CHECK(memory.total() > 16 * gb);
}

TEST_CASE("grouped keys and values divide the cache by the size of a group") {
    const Golden golden;
    const auto cache = [&](const char* model) {
        return golden.memory(model, {.prompt_tokens = 2047, .generate_tokens = 1, .precision = Precision::fp16}).kv_cache.in(byte);
    };
    // Llama-2-13B: 40 layers of 40 heads of 128, 819 200 bytes a token (the 800 kB that Kwon et al. 2023, arXiv:2309.06180, section 3,
    // count for the 13B model of equal width and depth). Llama-2-70B: 80 layers of 8 KV heads of 128, 327 680 bytes.
    CHECK(cache("llama-2-13b") == rel(2048 * 819'200.0, 1e-9));
    CHECK(cache("llama-2-70b") == rel(2048 * 327'680.0, 1e-9));
}
