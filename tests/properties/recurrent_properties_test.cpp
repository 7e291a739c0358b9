/// Recurrent layers and hyper-connections over sizes and GPUs, by the kernels of all engines and without one.

#include <doctest/doctest.h>

#include <random>

#include "roofcast/kernel_cost.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;

namespace {

class LayerSizes {
public:
    std::int64_t size(double lower, double upper) {
        std::uniform_real_distribution<double> log_size(std::log(lower), std::log(upper));
        return static_cast<std::int64_t>(std::exp(log_size(generator_)));
    }
    RecurrentLayer layer() { return static_cast<RecurrentLayer>(generator_() % recurrent_layer_count); }
    bool flip() { return generator_() % 2 == 0; }

    CausalConvolution convolution(bool update) {
        return {.layer = layer(),
                .batch = size(1, 256),
                .query_len = update ? size(1, 9) : 8 * size(1, 2048),
                .channels = 128 * size(1, 128),
                .update = update};
    }
    Recurrence recurrence(bool update) {
        const std::int64_t heads = size(1, 17);
        return {.layer = layer(),
                .batch = size(1, 128),
                .query_len = update ? size(1, 9) : size(1, 16384),
                .key_heads = heads,
                .key_dim = flip() ? 64 : 128,
                .value_heads = heads * size(1, 5),
                .value_dim = 128,
                .update = update,
                .chunk = flip() ? 64 : 256};
    }
    HyperConnection hyper_connection() {
        return {.kind = flip() ? HyperConnectionKind::pre : HyperConnectionKind::post,
                .tokens = size(1, 1e5),
                .sites = size(1, 3),
                .streams = size(1, 9),
                .hidden = size(64, 16384)};
    }

private:
    std::mt19937 generator_{1};
};

double layer_time(const Op& op, const Gpu& gpu, Cache cache) {
    return cost(op, gpu, cache).total.in(us);
}

template <class Operator, class Grow>
void check_growth(Operator op, const Gpu& gpu, const char* what, Grow grow) {
    for (const Cache cache : {Cache::cold, Cache::warm, Cache::produced}) {
        Operator grown = op;
        double before = layer_time(grown, gpu, cache);
        for (int step = 0; step < 12; ++step) {
            grow(grown);
            const double after = layer_time(grown, gpu, cache);
            INFO(gpu.profile.id << ", " << what << ", " << name(cache) << ": " << before << " us, then " << after);
            REQUIRE(after >= before * (1 - 1e-12));
            before = after;
        }
    }
}

}  // namespace

TEST_CASE("kernels of recurrent layers are never faster than the data-sheet roofline") {
    LayerSizes sizes;
    for (const Gpu& gpu : test::gpus_with_engines()) {
        for (int round = 0; round < 40; ++round) {
            for (const Op& op : {Op(sizes.convolution(false)), Op(sizes.convolution(true)), Op(sizes.recurrence(false)),
                                 Op(sizes.recurrence(true)), Op(sizes.hyper_connection())}) {
                // Kernels that keep states in 16 bits move fewer bytes than the operator states.
                const auto* state = std::get_if<Recurrence>(&op);
                const bool narrow = state != nullptr && cost(op, gpu).family == "tensorrt-llm-gated-delta-decode";
                for (const Cache cache : {Cache::cold, Cache::warm, Cache::rotated, Cache::produced}) {
                    const double floor = datasheet_roofline(op, gpu.profile, cache).in(us) / gpu.profile.clock_headroom();
                    INFO(gpu.profile.id << " operator " << op.index() << " " << name(cache) << ": " << layer_time(op, gpu, cache)
                                        << " us, roofline " << floor);
                    REQUIRE(std::isfinite(layer_time(op, gpu, cache)));
                    REQUIRE(layer_time(op, gpu, cache) >= (narrow ? 0.75 : 1) * floor * (1 - 1e-12));
                }
            }
        }
    }
}

// Convolutions that walk along sequences take longer where tokens are no multiple of 16 bytes: prompts step by eight tokens.
TEST_CASE("kernels of recurrent layers never get faster with tokens, batch, heads or channels") {
    LayerSizes sizes;
    for (const Gpu& gpu : test::gpus_with_engines()) {
        for (int round = 0; round < 12; ++round) {
            check_growth(sizes.convolution(false), gpu, "tokens of a convolution",
                         [](auto& op) { op.query_len += 8 + op.query_len / 16 * 8; });
            for (const bool update : {false, true}) {
                check_growth(sizes.convolution(update), gpu, "batch of a convolution", [](auto& op) { op.batch += 1 + op.batch / 3; });
                check_growth(sizes.convolution(update), gpu, "channels", [](auto& op) { op.channels += 1 + op.channels / 3; });
                check_growth(sizes.recurrence(update), gpu, "tokens", [](auto& op) { op.query_len += 1 + op.query_len / 3; });
                check_growth(sizes.recurrence(update), gpu, "batch", [](auto& op) { op.batch += 1 + op.batch / 3; });
                check_growth(sizes.recurrence(update), gpu, "heads of values", [](auto& op) { op.value_heads += op.key_heads; });
            }
            check_growth(sizes.convolution(true), gpu, "verified tokens of a convolution", [](auto& op) { ++op.query_len; });
            check_growth(sizes.hyper_connection(), gpu, "tokens of streams", [](auto& op) { op.tokens += 1 + op.tokens / 3; });
            check_growth(sizes.hyper_connection(), gpu, "streams", [](auto& op) { ++op.streams; });
            check_growth(sizes.hyper_connection(), gpu, "hidden size", [](auto& op) { op.hidden += 1 + op.hidden / 3; });
        }
    }
}
