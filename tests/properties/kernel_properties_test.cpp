#include <doctest/doctest.h>

#include <random>

#include "kernels/collective/all_reduce.hpp"
#include "roofcast/kernel_cost.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;

namespace {

std::vector<Gpu> all_gpus() {
    std::vector<Gpu> gpus;
    for (auto& profile : load_gpu_catalogue(test::gpus_dir())) {
        ParameterSet parameters = load_parameters(test::gpus_dir(), profile);
        gpus.push_back({with_libraries(std::move(profile), test::shipped_software()), std::move(parameters)});
    }
    return gpus;
}

/// Sizes are powers of two times 1 to 3 and some odd ones, spread evenly over their logarithm.
class Shapes {
public:
    std::int64_t size(double lower, double upper) {
        std::uniform_real_distribution<double> log_size(std::log(lower), std::log(upper));
        return static_cast<std::int64_t>(std::exp(log_size(generator_)));
    }
    bool flip() { return generator_() % 2 == 0; }

    Caller caller() {
        Caller any{.framework = flip(),
                   .own_convolutions = flip(),
                   .softmax_in_registers = flip(),
                   .unpacks_on_simt = flip(),
                   .splits_ungrouped = flip(),
                   .converts_cache = flip(),
                   .head_blocks = flip()};
        if (flip()) any.sharing_groups = GroupSizes{.least = 1, .most = size(1, 16)};
        return any;
    }

    std::vector<Op> operators(Precision p) {
        const double bits = 8 * element_size(p).in(byte);
        const std::int64_t kv_heads = size(1, 16), experts = size(2, 128), groups = size(1, 64);
        Conv2d conv{.batch = size(1, 64),
                    .in_channels = groups * size(1, 16),
                    .height = size(7, 224),
                    .width = size(7, 224),
                    .out_channels = groups * size(1, 16),
                    .stride = size(1, 3),
                    .precision = p,
                    .channels_last = flip()};
        conv.kernel_h = conv.kernel_w = flip() ? 3 : size(1, 8);
        conv.groups = flip() ? groups : 1;
        conv.padding_h = conv.padding_w = conv.kernel_h / 2;
        const std::int64_t kv_len = size(1, 32768);
        const Attention attention{.batch = size(1, 64),
                                  .heads = kv_heads * size(1, 8),
                                  .kv_heads = kv_heads,
                                  .head_dim = 16 * size(1, 16),
                                  .query_len = flip() ? 1 : std::min(kv_len, size(1, 4096)),
                                  .kv_len = kv_len,
                                  .causal = flip(),
                                  .window = flip() ? 0 : size(16, 4096),
                                  .precision = p,
                                  .kv_precision = p,
                                  .fused = flip()};
        Attention without_cache = attention;
        without_cache.cached = false;
        Elementwise norm{size(1, 1e8), 1, 1, 2, p};
        norm.normalized = {.images = size(1, 64), .channels = size(1, 512), .channels_last = flip(), .fp32_weights = flip()};
        Gemm with_bias{1, size(1, 16384), size(1, 16384), size(1, 16384), p, bits, false};
        with_bias.bias = true;
        return {Gemm{size(1, 64), size(1, 16384), size(1, 16384), size(1, 16384), p, flip() ? bits : 0.5 * bits, false},
                with_bias,
                attention,
                without_cache,
                norm,
                conv,
                Elementwise{size(1, 1e9), 2, 1, 4, p},
                RowWise{RowOp::softmax, size(1, 1e5), size(1, 1e5), p},
                RowWise{RowOp::layernorm, size(1, 1e5), size(1, 1e5), p, flip()},
                Embedding{size(1, 1e5), size(1, 16384), p},
                Quantize{.rows = size(1, 1e5), .cols = size(1, 65536), .schedule = static_cast<QuantizeSchedule>(size(0, 3))},
                Quantize{.kind = QuantizeKind::compute_scale, .rows = size(1, 1e5), .cols = size(1, 65536)},
                Reduce{size(1, 1e8), size(1, 1e6), 9, p},
                Move{size(1, 1e8), size(1, 1e8), p},
                Moe{.tokens = size(1, 16384),
                    .hidden = size(64, 8192),
                    .intermediate = size(64, 16384),
                    .experts = experts,
                    .top_k = std::min(experts, size(1, 8)),
                    .precision = p,
                    .weight_bits = bits,
                    .balanced = flip(),
                    .imbalance = flip() ? 0 : 1.2},
                Collective{flip() ? (flip() ? CollectiveKind::all_reduce : CollectiveKind::all_gather)
                                  : (flip() ? CollectiveKind::all_to_all : CollectiveKind::send),
                           size(2, 64), static_cast<double>(size(1, 1e9)) * byte},
                Copy{flip() ? CopyKind::h2d : CopyKind::d2d, static_cast<double>(size(1, 1e9)) * byte, flip()}};
    }

private:
    std::mt19937 generator_{1};
};

double time(const Op& op, const Gpu& gpu, Cache cache = Cache::cold) {
    return cost(op, gpu, cache).total.in(us);
}

/// Checks that `grow` never makes the operator faster along a sweep, alone or in a pass over a graph.
template <class Operator, class Grow>
void check_monotone(Operator op, const Gpu& gpu, const char* what, Grow grow) {
    double cold = time(op, gpu), produced = time(op, gpu, Cache::produced);
    const auto check = [&](double& before, double after, int step) {
        INFO(gpu.profile.id << ", " << what << ", step " << step << ": " << before << " us, then " << after);
        REQUIRE(after >= before * (1 - 1e-12));
        before = after;
    };
    for (int step = 0; step < 40; ++step) {
        grow(op);
        check(cold, time(op, gpu), step);
        check(produced, time(op, gpu, Cache::produced), step);
    }
}

std::vector<Gpu> some_gpus() {
    std::vector<Gpu> gpus;
    for (auto& gpu : all_gpus()) {
        for (const char* id : {"v100-sxm2-16gb", "t4", "a100-sxm4-80gb", "h200-sxm-141gb", "rtx-4090", "l40s", "b200-sxm"}) {
            if (gpu.profile.id == id) gpus.push_back(gpu);
        }
    }
    return gpus;
}

}  // namespace

TEST_CASE("no prediction is faster than the data-sheet roofline at the sustained clock, on any GPU") {
    Shapes shapes;
    for (Gpu gpu : all_gpus()) {
        for (const Precision p : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::fp8, Precision::int8, Precision::fp4}) {
            if (!gpu.profile.supports(p)) continue;
            for (int round = 0; round < 12; ++round) {
                gpu.caller = shapes.caller();
                for (const Op& op : shapes.operators(p)) {
                    for (const Cache cache : {Cache::cold, Cache::warm, Cache::rotated, Cache::produced}) {
                        const KernelCost c = cost(op, gpu, cache);
                        const double floor = datasheet_roofline(op, gpu.profile, cache).in(us) / gpu.profile.clock_headroom();
                        INFO(gpu.profile.id << " " << name(p) << " operator " << op.index() << ": " << c.total.in(us) << " us, roofline "
                                            << floor);
                        REQUIRE(std::isfinite(c.total.in(us)));
                        REQUIRE(c.total.in(us) >= floor * (1 - 1e-12));
                    }
                }
            }
        }
    }
}

// Alignment is a property of single sizes, not of their order: the sweeps step by whole 16-byte rows.
TEST_CASE("GEMMs never get faster by growing") {
    Shapes shapes;
    for (Gpu& gpu : some_gpus()) {
        for (int round = 0; round < 20; ++round) {
            Gemm op{.batch = shapes.size(1, 8), .m = shapes.size(1, 2048), .n = 16 * shapes.size(1, 256), .k = 16 * shapes.size(1, 256)};
            op.weight_bits = shapes.flip() ? 16 : 4.25;
            if (shapes.flip()) op.k += shapes.flip() ? 1 : 2;  // rows of A and B that are misaligned stay so
            check_monotone(op, gpu, "m", [](Gemm& g) { g.m += 1 + g.m / 10; });
            check_monotone(op, gpu, "n", [](Gemm& g) { g.n += 16; });
            check_monotone(op, gpu, "k", [](Gemm& g) { g.k += 16; });
            check_monotone(op, gpu, "batch", [](Gemm& g) { ++g.batch; });
            if (!gpu.profile.supports(Precision::tf32)) continue;
            Gemm wide{
                .m = shapes.size(1, 2048), .n = 16 * shapes.size(1, 512), .k = 16 * shapes.size(1, 256), .precision = Precision::tf32};
            wide.weight_bits = 32;
            wide.bias = shapes.flip();
            gpu.caller.framework = wide.bias;
            check_monotone(wide, gpu, "m of TF32", [](Gemm& g) { g.m += 1 + g.m / 10; });
            check_monotone(wide, gpu, "n of TF32", [](Gemm& g) { g.n += 16; });
            check_monotone(wide, gpu, "k of TF32", [](Gemm& g) { g.k += 16; });
        }
    }
}

// Of two large tiles Pascal's library takes the one that covers fewer rows: m steps by the larger one's.
TEST_CASE("linear layers never get faster by growing where far rows are slow") {
    Shapes shapes;
    for (const Gpu& gpu : all_gpus()) {
        if (gpu.profile.facts.far_rows.fetch_cycles == 0) continue;
        for (int round = 0; round < 20; ++round) {
            const Gemm op{.m = shapes.size(2, 4096),
                          .n = 16 * shapes.size(1, 512),
                          .k = 16 * shapes.size(1, 2048),
                          .precision = Precision::fp32,
                          .weight_bits = 32};
            check_monotone(op, gpu, "m of far rows", [](Gemm& g) { g.m += 128; });
            check_monotone(op, gpu, "n of far rows", [](Gemm& g) { g.n += 16; });
            check_monotone(op, gpu, "k of far rows", [](Gemm& g) { g.k += 16; });
        }
    }
}

// A single row is a vector's GEMM on some GPUs, which needs no whole vectors.
TEST_CASE("misaligned rows are never faster than the aligned ones that hold them") {
    Shapes shapes;
    for (const Gpu& gpu : all_gpus()) {
        for (const Precision p : {Precision::fp32, Precision::tf32, Precision::fp16}) {
            if (!gpu.profile.supports(p)) continue;
            for (int round = 0; round < 20; ++round) {
                Gemm op{.m = shapes.size(2, 8192), .n = 16 * shapes.size(32, 512), .k = 16 * shapes.size(32, 512), .precision = p};
                op.weight_bits = 8 * element_size(p).in(byte);
                const double aligned = cost(op, gpu).total.in(us);
                (shapes.flip() ? op.k : op.n) -= shapes.size(1, 3);
                INFO(gpu.profile.id << " " << name(p) << " " << op.m << " x " << op.n << " x " << op.k);
                REQUIRE(cost(op, gpu).total.in(us) >= 0.99 * aligned);  // of which three elements in 512 are less
            }
        }
    }
}

TEST_CASE("attention never gets faster with batch, heads or sequence") {
    Shapes shapes;
    for (Gpu& gpu : some_gpus()) {
        gpu.profile.libraries.attention = {};  // whose launchers split keys by rules, not as is fastest
        for (int round = 0; round < 20; ++round) {
            Attention op{.batch = shapes.size(1, 32), .heads = 16, .kv_heads = 4, .causal = shapes.flip()};
            op.head_dim = 64 * shapes.size(1, 4);
            op.fused = shapes.flip();
            if (op.fused && shapes.flip()) op.kv_precision = Precision::fp8;
            // A softmax of more than 2048 scores has kernels that wait less than those of shorter ones.
            op.query_len = op.kv_len = 8 * shapes.size(1, op.fused ? 256 : 80);
            check_monotone(op, gpu, "batch", [](Attention& a) { ++a.batch; });
            check_monotone(op, gpu, "sequence", [](Attention& a) { a.query_len = a.kv_len += 8; });
            op.query_len = 1;
            gpu.caller.sharing_groups.reset();
            if (shapes.flip()) gpu.caller.sharing_groups = GroupSizes{.least = 1, .most = shapes.flip() ? 16 : 0};
            check_monotone(op, gpu, "KV cache", [](Attention& a) { a.kv_len += a.fused ? 8 * (1 + a.kv_len / 64) : 8; });
            check_monotone(op, gpu, "decode batch", [](Attention& a) { a.batch += 1 + a.batch / 5; });
        }
    }
}

TEST_CASE("convolutions and experts never get faster with batch") {
    Shapes shapes;
    for (Gpu& gpu : some_gpus()) {
        gpu.profile.libraries.expert_tiles.clear();  // tokens decide on the only tile
        for (int round = 0; round < 20; ++round) {
            Conv2d conv{.batch = 1,
                        .in_channels = 8 * shapes.size(1, 64),
                        .height = 28,
                        .width = 28,
                        .out_channels = 8 * shapes.size(1, 64),
                        .kernel_h = 3,
                        .kernel_w = 3,
                        .padding_h = 1,
                        .padding_w = 1};
            conv.precision = shapes.flip() ? Precision::fp32 : Precision::fp16;
            check_monotone(conv, gpu, "batch", [](Conv2d& c) { ++c.batch; });
            Conv2d depthwise = conv;
            depthwise.out_channels = depthwise.groups = depthwise.in_channels;
            depthwise.kernel_h = depthwise.kernel_w = shapes.flip() ? 3 : 7;
            depthwise.padding_h = depthwise.padding_w = depthwise.kernel_h / 2;
            depthwise.channels_last = shapes.flip();
            gpu.caller.own_convolutions = shapes.flip();
            check_monotone(depthwise, gpu, "batch of a depthwise convolution", [](Conv2d& c) { ++c.batch; });
            Moe moe{.tokens = 1,
                    .hidden = 2048,
                    .intermediate = 8 * shapes.size(8, 256),
                    .experts = shapes.size(8, 512),
                    .top_k = shapes.size(1, 8)};
            moe.expert_parallel = shapes.flip() ? 8 : 1;
            check_monotone(moe, gpu, "tokens", [](Moe& m) { m.tokens += 1 + m.tokens / 3; });
        }
    }
}

// Longer rows of softmax beyond what registers hold are read again, which memory_bound_test.cpp covers; here each kind grows by itself.
TEST_CASE("kernels bound by memory never get faster by growing") {
    Shapes shapes;
    for (const Gpu& gpu : some_gpus()) {
        for (int round = 0; round < 20; ++round) {
            // Rows of a multiple of four elements: others have slower kernels.
            const RowWise norm{RowOp::layernorm, shapes.size(1, 1e5), 4 * shapes.size(1, 1024), Precision::fp16, shapes.flip()};
            check_monotone(norm, gpu, "rows", [](RowWise& r) { r.rows += 1 + r.rows / 5; });
            check_monotone(norm, gpu, "columns", [](RowWise& r) { r.cols += 4 * (1 + r.cols / 20); });
            check_monotone(RowWise{RowOp::softmax, 1, shapes.size(1, 1e4), Precision::fp32}, gpu, "rows of softmax",
                           [](RowWise& r) { r.rows += 1 + r.rows / 3; });
            Elementwise sum{shapes.size(1, 1e7), 2, 1, 1, Precision::fp16};
            sum.apart = shapes.flip() ? 1 : 0;
            sum.any_operands = shapes.flip();
            sum.instructions = shapes.flip() ? error_function_instructions : 0;
            check_monotone(sum, gpu, "elements", [](Elementwise& e) { e.elements += 1 + e.elements / 5; });
            check_monotone(Move{1, 1, Precision::fp16, 1}, gpu, "copied", [](Move& m) {
                m.read += 1 + m.read / 2;
                m.apart = m.written = m.read;
            });
        }
    }
}

TEST_CASE("collectives never get faster with bytes or GPUs") {
    for (const Gpu& gpu : some_gpus()) {
        for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                          CollectiveKind::all_to_all, CollectiveKind::send}) {
            check_monotone(Collective{kind, 8, 512 * byte}, gpu, "bytes", [](Collective& c) { c.bytes *= 1.7; });
        }
        check_monotone(Collective{CollectiveKind::all_gather, 2, 1 * mb}, gpu, "GPUs", [](Collective& c) { ++c.gpus; });
    }
}

TEST_CASE("all-reduces of engines never get faster with bytes, whatever kernel their library switches to") {
    for (const auto& library : load_kernel_libraries(test::source_dir() / "software" / "libraries")) {
        for (const std::string id : {"a100-sxm4-80gb", "h200-sxm-141gb", "b200-sxm", "b300-sxm", "l40s", "rtx-pro-6000-blackwell-server"}) {
            const Gpu gpu = test::shipped_gpu(id);
            for (const std::int64_t gpus : {2, 3, 4, 6, 8}) {
                CAPTURE(library->name);
                CAPTURE(id);
                CAPTURE(gpus);
                Seconds before;
                for (double bytes = 512; bytes < 3e8; bytes *= 1.1) {
                    const Collective op{CollectiveKind::all_reduce, gpus, bytes * byte};
                    const KernelCost c = all_reduce_cost(op, *library, gpu);
                    CHECK(c.total >= before);
                    CHECK(c.total >= datasheet_roofline(op, gpu.profile));
                    before = c.total;
                }
            }
        }
    }
}

TEST_CASE("parameters of math units that a GPU lacks move none of its kernels") {
    Shapes shapes;
    int moved = 0;
    for (const Gpu& gpu : all_gpus()) {
        Gpu other = gpu;
        for (const ParameterSpec& spec : parameter_specs()) {
            if (!spec.math_unit || gpu.profile.has_unit(*spec.math_unit)) continue;
            spec.set(other.parameters.values, (spec.lower + spec.upper) / 2);
            ++moved;
        }
        for (const Precision p : all_precisions) {
            if (!gpu.profile.supports(p)) continue;
            for (const Op& op : shapes.operators(p)) {
                for (const Cache cache : {Cache::cold, Cache::produced}) {
                    INFO(gpu.profile.id << " " << name(p) << " operator " << op.index());
                    REQUIRE(time(op, other, cache) == time(op, gpu, cache));
                }
            }
        }
    }
    CHECK(moved > 0);
}

TEST_CASE("more bandwidth never makes a kernel slower") {
    Shapes shapes;
    for (const Gpu& gpu : some_gpus()) {
        for (const Op& op : shapes.operators(Precision::fp16)) {
            Gpu wider = gpu;
            double before = time(op, wider);
            for (int step = 0; step < 10; ++step) {
                wider.profile.bandwidth *= 1.3;
                const double after = time(op, wider);
                REQUIRE(after <= before * (1 + 1e-12));
                before = after;
            }
        }
    }
}
