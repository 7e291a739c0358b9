/// GEMMs, and clock and power while large ones run.

#include "gpu/lt_gemm.hpp"
#include "gpu/operands.hpp"
#include "gpu/suites.hpp"
#include "gpu/verify.hpp"

namespace roofcast::microbench {

namespace {

std::size_t bytes_of(double size, std::int64_t elements) {
    return static_cast<std::size_t>(size * static_cast<double>(elements));
}

std::vector<TensorSpec> tensors(const Gemm& g, Precision p) {
    const Precision out = lt_types(p).out_precision;
    const double out_size = out == Precision::int8 ? 4 : element_size(out), in_size = element_size(p);
    return {{bytes_of(in_size, g.batch * g.m * g.k), p},
            {bytes_of(in_size, g.batch * g.n * g.k), p},
            {bytes_of(out_size, g.batch * g.m * g.n), out, false},
            {g.bias ? bytes_of(out_size, g.n) : 0, out, g.bias}};
}

// ---- sustained load -------------------------------------------------------------------------------------------------------------

constexpr std::int64_t load_size = 8192, fp64_load_size = 4096;
constexpr double chunk_s = 0.1;  ///< between two readings

/// Figures over time, and at the end the rate of the second half.
class LoadLog {
public:
    void read(const Nvml& nvml, double time_s) {
        add("sm_clock_mhz", nvml.sm_clock_mhz(), time_s);
        add("power_w", nvml.power_watts(), time_s);
        add("temperature_c", nvml.temperature_celsius(), time_s);
    }
    void rate(double tflops) { rates_.push_back(tflops); }
    std::vector<DeviceFigure> figures() {
        std::vector<double> settled(rates_.begin() + static_cast<std::ptrdiff_t>(rates_.size() / 2), rates_.end());
        figures_.push_back({"sustained_tflops", {}, std::move(settled)});
        return std::move(figures_);
    }

private:
    void add(const char* quantity, std::optional<double> value, double time_s) {
        if (value) figures_.push_back({quantity, time_s, {*value}});
    }
    std::vector<DeviceFigure> figures_;
    std::vector<double> rates_;
};

}  // namespace

Outcome measure_gemm(const Device& device, const Case& c, const Gemm& w) {
    device.require(c.precision);
    const LtApi& api = lt_api();
    const LtGemm gemm(api, w, c.precision);
    const Operands operands(device, tensors(w, c.precision), c.cache);
    const Launcher launch = [&](int i, cudaStream_t stream) {
        gemm.enqueue(operands.at(i, 0), operands.at(i, 1), operands.at(i, 2), operands.at(i, 3), stream);
    };
    launch(0, device.stream());
    verify(
        device,
        [&](Sample* samples, int count, cudaStream_t stream) {
            enqueue_gemm_samples(w, c.precision, lt_types(c.precision).out_precision, operands.at(0, 0), operands.at(0, 1),
                                 operands.at(0, 2), w.bias ? operands.at(0, 3) : nullptr, samples, count, 1, stream);
        },
        product_tolerance(c.precision));
    return {timed(device, launch, operands.copies(), c.cache), {}, api.software() + " " + device.software()};
}

Outcome measure_sustained(const Device& device, const Case& c, const Sustained& w) {
    device.require(c.precision);
    const std::int64_t size = c.precision == Precision::fp64 ? fp64_load_size : load_size;
    const Case load{c.precision, CacheState::warm, Gemm{1, size, size, size, false}};
    const LtApi& api = lt_api();
    const LtGemm gemm(api, std::get<Gemm>(load.work), c.precision);
    const Operands operands(device, tensors(std::get<Gemm>(load.work), c.precision), CacheState::warm);
    const auto enqueue = [&](int times) {
        for (int i = 0; i < times; ++i) gemm.enqueue(operands.at(0, 0), operands.at(0, 1), operands.at(0, 2), nullptr, device.stream());
    };
    enqueue(1);
    const Stopwatch first;
    first.start(device.stream());
    enqueue(1);
    first.stop(device.stream());
    const int calls = std::max(1, static_cast<int>(chunk_s * 1e6 / first.microseconds()));
    // Two chunks are always queued, so that the GPU does not pause while the host reads its sensors.
    const std::array<Stopwatch, 2> watches;
    const auto start_chunk = [&](std::size_t i) {
        watches[i % 2].start(device.stream());
        enqueue(calls);
        watches[i % 2].stop(device.stream());
    };
    LoadLog log;
    const double begin = now_seconds();
    start_chunk(0);
    for (std::size_t i = 1; now_seconds() - begin < w.seconds; ++i) {
        start_chunk(i);
        log.rate(calls * operations(load) / watches[(i - 1) % 2].microseconds() * 1e-6);
        log.read(device.nvml(), now_seconds() - begin);
    }
    check(cudaStreamSynchronize(device.stream()), "the sustained load");
    return {{}, log.figures(), api.software() + " " + device.software()};
}

}  // namespace roofcast::microbench
