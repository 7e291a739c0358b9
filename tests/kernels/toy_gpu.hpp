#pragma once
/// A GPU with round numbers, whose kernels lose nothing: what a model predicts on it can be worked out by hand.

#include "roofcast/kernel_cost.hpp"

namespace roofcast::test {

/// 10 SMs of 1 TFLOP/s each in fp32 (SIMT), 100 GB/s, 1 MB of L2, 1 GHz, no power limit. All efficiencies 1, all latencies 0, the bounding
/// term hides the others, a partial wave costs a whole one.
inline Gpu toy_gpu() {
    Gpu gpu;
    GpuProfile& p = gpu.profile;
    p.id = "toy";
    p.sm_count = 10;
    p.process_nm = 7;
    p.boost_clock = 1000 * mhz;
    p.base_clock = 500 * mhz;
    p.vector_peak[index(Precision::fp32)] = 10 * tflops;
    p.bandwidth = 100 * gb_per_s;
    p.l2 = 1 * mb;
    p.pcie_generation = 3;
    p.pcie_lanes = 16;
    CostParameters& c = gpu.parameters.values;
    c = {};
    const TilingParameters ideal_tiling{
        .tile_half = 0, .l2_bytes_per_sm_clock = 256, .tail = 0, .k_step_cycles = 0, .epilogue_cycles = 0, .split_k_cycles = 0};
    for (GemmParameters& g : c.gemm) {
        g = {.tiling = ideal_tiling,
             .peak_fraction = 1,
             .batched_fraction = 1,
             .strided_fraction = 1,
             .batched_strided_fraction = 1,
             .bandwidth_fraction = 1,
             .overlap = 1,
             .fixed_cycles = 0,
             .wave_cycles = 0,
             .misaligned = 0,
             .l2_residency = 1};
    }
    for (QuantizationParameters& q : c.quantization) q = {.fixed_cycles = 0, .row_cycles = 0, .bytes_per_sm_clock = 64};
    c.weight_only = {.tiling = ideal_tiling, .dequantization_operations = 0};
    c.attention.fill({.peak_fraction = 1,
                      .softmax_operations = 0,
                      .bandwidth_fraction = 1,
                      .own_bytes_per_sm_clock = 90,
                      .overlap = 1,
                      .block = {},
                      .split_block = {},
                      .fixed_cycles = 0,
                      .combine_cycles = 0,
                      .token_cycles = 0,
                      .query_cycles = 0,
                      .cache_cycles = 0,
                      .l2_residency = 1,
                      .wide_bytes_per_sm_clock = 1e9});
    c.convolution = {.implicit_fraction = 1,
                     .tensor_core_fraction = 1,
                     .winograd_fraction = 1,
                     .fused_fraction = 1,
                     .transform_fraction = 1,
                     .depthwise_fraction = 1,
                     .depthwise_rate = 1,
                     .epilogue_cycles = 0};
    c.streaming = {.bandwidth_fraction = 1, .l2_bandwidth_ratio = 10, .l2_residency = 1, .fixed = {}, .dram_wait = {}};
    c.row_wise = {.bandwidth_fraction = 1, .fill = 10, .row_cycles = 1, .fixed = {}};
    c.moe = {.tiling = ideal_tiling,
             .peak_fraction = 1,
             .dram_fraction = 1,
             .l2_residency = 1,
             .skew = 1,
             .row_passes = 0,
             .local_passes = 0,
             .inner_passes = 0,
             .wave_cycles = 0,
             .fixed_cycles = 0,
             .sorting_cycles = 0,
             .absent_block_cycles = 0,
             .plain_load_cycles = 0,
             .narrow_load_cycles = 0};
    return gpu;
}

/// toy_gpu with tensor cores of 10 TFLOP/s in fp16, and fp16 CUDA cores as fast as fp32 ones.
inline Gpu toy_gpu_with_tensor_cores() {
    Gpu gpu = toy_gpu();
    gpu.profile.tensor_peak[index(Precision::fp16)] = 10 * tflops;
    return gpu;
}

}  // namespace roofcast::test
