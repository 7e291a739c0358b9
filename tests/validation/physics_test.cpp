#include <doctest/doctest.h>

#include <map>

#include "roofcast/validation.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

namespace {

/// 100 TFLOP/s in fp16, 10 in fp32, 1 TB/s, 10 MB of L2: round figures for sums by hand.
GpuProfile round_gpu() {
    GpuProfile gpu;
    gpu.id = "round";
    gpu.tensor_peak[index(Precision::fp16)] = 100 * tflops;
    gpu.vector_peak[index(Precision::fp32)] = 10 * tflops;
    gpu.bandwidth = 1 * tb_per_s;
    gpu.l2 = 10 * mb;
    return gpu;
}

KernelRow measured(Op op, Seconds latency) {
    KernelRow row;
    row.op = std::move(op);
    row.latency = latency;
    return row;
}

/// Profiles by id, loaded when first asked for.
class Profiles {
public:
    const GpuProfile& operator[](const std::string& id) {
        const auto known = profiles_.find(id);
        if (known != profiles_.end()) return known->second;
        return profiles_.emplace(id, load_gpu_profile(test::gpus_dir() / (id + ".toml"))).first->second;
    }

private:
    std::map<std::string, GpuProfile> profiles_;
};

}  // namespace

TEST_CASE("the physical floor of a GEMM is its arithmetic at the peak or its traffic beyond the L2") {
    // 2 · 1000³ = 2 GFLOP at 100 TFLOP/s = 20 us; 3 · 2 MB of traffic fits the L2.
    CHECK(physical_floor(Gemm{.m = 1000, .n = 1000, .k = 1000}, round_gpu()).in(us) == rel(20, 1e-9));
    // m = 1: weights of 10000 · 10000 · 2 B = 200 MB, and 40 kB of vectors, less 10 MB of L2: 190.04 us.
    CHECK(physical_floor(Gemm{.m = 1, .n = 10000, .k = 10000}, round_gpu()).in(us) == rel(190.04, 1e-6));
}

TEST_CASE("GEMMs of 16 and 8 bits may accumulate in 16, which GeForce does at twice the rate") {
    GpuProfile gpu = round_gpu();
    gpu.tensor_peak[index(Precision::fp8)] = 200 * tflops;
    const auto floor = [&](Precision p) { return physical_floor(Gemm{1, 8192, 8192, 8192, p}, gpu).in(us); };
    const double half = floor(Precision::fp16), narrow = floor(Precision::fp8);
    gpu.fp16_accumulate_peak = 200 * tflops;
    CHECK(floor(Precision::fp16) == rel(half / 2, 1e-9));
    CHECK(floor(Precision::fp8) == narrow);
    gpu.fp8_accumulate_peak = 400 * tflops;
    CHECK(floor(Precision::fp8) == rel(narrow / 2, 1e-9));
}

TEST_CASE("of a convolution only the multiplications that no algorithm saves count") {
    // Direct: 2 · 64 · 64 · 64 · 56² · 9 = 14.8 GFLOP; a ninth of it at 10 TFLOP/s is 164.4 us; 103 MB of traffic less the L2 is 93 us.
    const Conv2d op{.batch = 64,
                    .in_channels = 64,
                    .height = 56,
                    .width = 56,
                    .out_channels = 64,
                    .kernel_h = 3,
                    .kernel_w = 3,
                    .padding_h = 1,
                    .padding_w = 1,
                    .precision = Precision::fp32};
    CHECK(physical_floor(op, round_gpu()).in(us) == rel(164.4, 0.001));
}

TEST_CASE("pixels that a stride passes over need not be read") {
    // fp32, 1x1, stride 2: a quarter of 64 · 256 · 56² · 4 B = 205.5 MB is read, 64 · 1 · 28² · 4 B = 0.2 MB written, less 10 MB: 41.6 us.
    const Conv2d op{
        .batch = 64, .in_channels = 256, .height = 56, .width = 56, .out_channels = 1, .stride = 2, .precision = Precision::fp32};
    CHECK(physical_floor(op, round_gpu()).in(us) == rel(41.6, 0.002));
}

TEST_CASE("a measurement is impossible only beyond what clocks above the data sheet explain") {
    const Gemm op{.m = 1000, .n = 1000, .k = 1000};  // floor 20 us
    CHECK_FALSE(is_impossible(measured(op, 25 * us), round_gpu()));
    CHECK_FALSE(is_impossible(measured(op, 18.5 * us), round_gpu()));
    CHECK(is_impossible(measured(op, 17.5 * us), round_gpu()));
}

TEST_CASE("a pass takes its GEMMs one after the other, or its weights, and nothing for what may stay on the chip") {
    // 20 us for each of three GEMMs; 3 · 10^6 weights of 4 bytes less 10 MB of L2.
    OpNode product{.name = "linear", .op = Gemm{.m = 1000, .n = 1000, .k = 1000, .weight_bits = 32}, .weights = 1e6};
    const OpNode activation{.name = "relu", .op = Elementwise{.elements = 1 << 30}};
    OpGraph graph{.segments = {Segment{.name = "layer", .repeat = 3, .nodes = {product, activation}}}};
    const GpuProfile gpu = round_gpu();
    CHECK(physical_floor(graph, gpu).in(us) == rel(60, 1e-3));
    std::get<Gemm>(product.op).m = 1;
    product.weights = 1e9;
    graph.segments[0].nodes = {product};
    CHECK(physical_floor(graph, gpu).in(us) == rel(((12e9 * byte - gpu.l2) / gpu.bandwidth).in(us), 1e-6));
    graph.tied_weights = 2e9;
    graph.tied_weight_bits = 32;
    CHECK(physical_floor(graph, gpu).in(us) == rel(((4e9 * byte - gpu.l2) / gpu.bandwidth).in(us), 1e-6));
}

TEST_CASE("a pass reads the keys and values of earlier tokens, and the experts of one token at least") {
    const GpuProfile gpu = round_gpu();
    const auto floor_of = [&](Op op) {
        const OpNode node{.name = "x", .op = std::move(op)};
        return physical_floor(OpGraph{.segments = {Segment{.name = "layer", .repeat = 2, .nodes = {node}}}}, gpu).in(us);
    };
    const auto reading = [&](double bytes) { return ((bytes * byte - gpu.l2) / gpu.bandwidth).in(us); };
    // 2 layers · 64 sequences · 8 heads · 99,999 earlier tokens · (128 + 128) elements of 2 bytes.
    Attention decode{.batch = 64, .heads = 8, .kv_heads = 8, .head_dim = 128, .query_len = 1, .kv_len = 100'000};
    CHECK(floor_of(decode) == rel(reading(2.0 * 64 * 8 * 99'999 * 256 * 2), 1e-9));
    decode.window = 1001;  // of which one is its own
    CHECK(floor_of(decode) == rel(reading(2.0 * 64 * 8 * 1000 * 256 * 2), 1e-9));
    decode.window = 0;
    decode.cached = false;  // nothing lies in a cache; keys may stay on the chip
    CHECK(floor_of(decode) < 0.9 * reading(2.0 * 64 * 8 * 99'999 * 256 * 2));
    // 2 layers · 2 experts of two matrices of 8192 x 16384 in 16 bits.
    Moe moe{.tokens = 1, .hidden = 8192, .intermediate = 16384, .experts = 8, .top_k = 2};
    moe.weight_bits = 16;
    CHECK(floor_of(moe) == rel(reading(2.0 * 2 * 2 * 8192 * 16384 * 2), 1e-9));
}

TEST_CASE("times are impossible below their limit, rates and sizes above") {
    CHECK(is_impossible(8.9, 10, Metric::latency_ms));
    CHECK_FALSE(is_impossible(9.1, 10, Metric::tpot_ms));
    CHECK(is_impossible(11.2, 10, Metric::tokens_per_s));
    CHECK_FALSE(is_impossible(11.1, 10, Metric::throughput_per_s));
    CHECK(is_impossible(11.2, 10, Metric::memory_gb));
    CHECK_FALSE(is_impossible(9, 10, Metric::memory_gb));
}

TEST_CASE("the physics check finds all 60 impossible rows of the suspect file and none of the sound ones") {
    const auto rows = read_measurements({test::source_dir() / "validation_data" / "suspect" / "suspect_attention.csv"});
    REQUIRE(rows.kernels.size() == 120);
    Profiles profiles;
    // Lines 2 to 61 are the impossible ones (up to 185 times the peak), 62 to 121 the sound ones.
    for (const auto& row : rows.kernels) {
        CAPTURE(row.origin.line);
        CHECK(is_impossible(row, profiles[row.gpu]) == (row.origin.line <= 61));
    }
}

TEST_CASE("no other shipped kernel row is impossible") {
    auto rows = read_measurements({test::source_dir() / "validation_data" / "kernels"});
    mark_rows({}, load_measuring_hosts(test::software_dir() / "hosts.toml"), rows.kernels);
    Profiles profiles;
    CHECK(rows.kernels.size() > 30'000);
    for (const auto& row : rows.kernels) {
        if (is_impossible(row, profiles[row.gpu])) FAIL_CHECK(row.origin.file << ":" << row.origin.line);
    }
}
