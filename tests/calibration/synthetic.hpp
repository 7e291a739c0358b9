#pragma once
/// A made-up GPU, and rows that it would measure if its parameters were known.

#include <cmath>
#include <string>

#include "calibration/folds.hpp"
#include "roofcast/calibration.hpp"

namespace roofcast::test {

/// 80 SMs, 15 TFLOP/s fp32, 900 GB/s, 6 MB of L2.
inline GpuProfile synthetic_profile(std::string id = "synthetic") {
    GpuProfile gpu;
    gpu.id = std::move(id);
    gpu.architecture = "synthetic";
    gpu.sm_count = 80;
    gpu.boost_clock = 1500 * mhz;
    gpu.vector_peak[index(Precision::fp32)] = 15 * tflops;
    gpu.bandwidth = 900 * gb_per_s;
    gpu.l2 = 6 * mb;
    gpu.facts.threads_per_sm = 2048;
    gpu.facts.l1_per_sm = 128 * kib;
    gpu.tdp = 10000 * watt;  // power binds nowhere
    return gpu;
}

inline ParameterSet defaults() {
    return {.values = {},
            .provenance = std::vector<Provenance>(parameter_specs().size(), Provenance::assumed),
            .source = std::vector<std::string>(parameter_specs().size())};
}

/// Parameters unlike the defaults.
inline CostParameters truth() {
    CostParameters p;
    const auto set = [&](const char* name, double value) { parameter_specs()[parameter_index(name)].set(p, value); };
    set("streaming.bandwidth_fraction", 0.71);
    set("streaming.fixed_us", 3.4);
    set("row_wise.bandwidth_fraction", 0.62);
    set("row_wise.fixed_us", 3.6);
    set("gemm.simt.peak_fraction", 0.8);
    set("gemm.simt.fixed_cycles", 6000);
    return p;
}

/// Adds a row that `gpu` measures exactly, but for `noise`: a factor e^±noise that depends on the line.
inline void add_row(Measurements& rows, const Gpu& gpu, const Op& op, double noise = 0, Cache cache = Cache::cold) {
    KernelRow row{.gpu = gpu.profile.id, .op = op, .op_name = std::string(op_class(op)), .precision = Precision::fp32};
    row.cache = cache;
    row.origin.file = "synthetic.csv";
    row.origin.line = static_cast<int>(rows.kernels.size()) + 2;
    const double draw = 2 * group_draw(std::to_string(row.origin.line), 3) - 1;
    row.latency = std::exp(noise * draw) * predicted_cost(row, gpu).total;
    rows.kernels.push_back(std::move(row));
}

/// Element-wise kernels from a thousand to some hundred million elements, and rows of many shapes to normalise.
inline Measurements memory_rows(const Gpu& gpu, double noise = 0) {
    Measurements rows;
    for (int i = 0; i < 60; ++i) {
        const auto elements = static_cast<std::int64_t>(1000 * std::pow(1.23, i));
        add_row(rows, gpu, Elementwise{.elements = elements, .precision = Precision::fp32}, noise);
        add_row(rows, gpu, RowWise{RowOp::softmax, 16 + 40 * i * i, 64 + 37 * (i % 17), Precision::fp32}, noise);
    }
    return rows;
}

inline Measurements gemm_rows(const Gpu& gpu, double noise = 0) {
    Measurements rows;
    for (int i = 0; i < 120; ++i) {
        const auto size = [i](int step, int low, double span) {
            return static_cast<std::int64_t>(low * std::pow(span, group_draw(std::to_string(i), static_cast<std::uint64_t>(step))));
        };
        add_row(rows, gpu, Gemm{1, size(1, 16, 256), size(2, 64, 64), size(3, 64, 64), Precision::fp32, 32}, noise);
    }
    return rows;
}

inline CalibrationInput input_of(const GpuProfile& profile, Measurements rows) {
    CalibrationInput input;
    input.gpus = {profile};
    input.start = defaults();
    input.kernels = std::move(rows.kernels);
    return input;
}

inline double value_of(const CostParameters& parameters, const char* name) {
    return parameter_specs()[parameter_index(name)].get(parameters);
}

inline double fitted(const Fit& fit, const char* name) {
    return value_of(fit.parameters.values, name);
}

inline const FittedParameter* detail(const Fit& fit, const char* name) {
    for (const FittedParameter& p : fit.details) {
        if (p.spec == parameter_index(name)) return &p;
    }
    return nullptr;
}

}  // namespace roofcast::test
