/// Plain traffic by size, stride and at random.

#include <algorithm>

#include "gpu/operands.hpp"
#include "gpu/suites.hpp"
#include "gpu/verify.hpp"

namespace roofcast::microbench {

namespace {

constexpr float factor = 0.5F, written = 1.5F;

/// Sum of random numbers that a read is checked against: few enough that fp32 holds it.
void verify_read(const Device& device, const float* data, std::size_t count) {
    const std::size_t part = std::min<std::size_t>(count, 4096);
    const Buffer sum(sizeof(float));
    check(cudaMemsetAsync(sum.data(), 0, sizeof(float), device.stream()), "clearing a sum");
    enqueue_read(data, part, sum.as<float>(), device.stream());
    double expected = 0;
    for (const double v : fetched(device, data, Precision::fp32, 0, part)) expected += v;
    require_close({expected, fetched(device, sum.data(), Precision::fp32, 0, 1)[0], static_cast<double>(part)}, {1e-6, 1e-4});
}

Launcher launcher(const Memory& w, const Operands& operands) {
    const std::size_t count = static_cast<std::size_t>(w.bytes) / sizeof(float);
    return [&w, &operands, count](int i, cudaStream_t stream) {
        auto *a = static_cast<float*>(operands.at(i, 0)), *b = static_cast<float*>(operands.at(i, 1)),
             *c = static_cast<float*>(operands.at(i, 2));
        if (w.function == "read") return enqueue_read(a, count, nullptr, stream);
        if (w.function == "write") return enqueue_write(c, count, written, stream);
        if (w.function == "copy") return enqueue_copy(a, c, count, stream);
        if (w.function == "triad") return enqueue_triad(a, b, c, factor, count, stream);
        if (w.function == "strided_read")
            return enqueue_strided_read(a, count, static_cast<std::size_t>(w.stride) / sizeof(float), nullptr, stream);
        enqueue_random_read(a, count, count, nullptr, stream);
    };
}

void verify_memory(const Device& device, const Memory& w, const Operands& operands) {
    const std::size_t count = static_cast<std::size_t>(w.bytes) / sizeof(float), part = std::min<std::size_t>(count, 64);
    if (w.function.ends_with("read")) return verify_read(device, static_cast<const float*>(operands.at(0, 0)), count);
    const std::size_t first = count - part;
    const auto a = fetched(device, operands.at(0, 0), Precision::fp32, first, part);
    const auto b = w.function == "triad" ? fetched(device, operands.at(0, 1), Precision::fp32, first, part) : a;
    const auto c = fetched(device, operands.at(0, 2), Precision::fp32, first, part);
    for (std::size_t i = 0; i < part; ++i) {
        const double expected = w.function == "write"  ? static_cast<double>(written)
                                : w.function == "copy" ? a[i]
                                                       : a[i] + static_cast<double>(factor) * b[i];
        require_close({expected, c[i], 1}, {1e-6, 1e-6});
    }
}

}  // namespace

Outcome measure_memory(const Device& device, const Case& c, const Memory& w) {
    const auto bytes = static_cast<std::size_t>(w.bytes);
    const bool writes = !w.function.ends_with("read"), triad = w.function == "triad";
    const Operands operands(
        device, {{bytes, Precision::fp32}, {triad ? bytes : 0, Precision::fp32, triad}, {writes ? bytes : 0, Precision::fp32, false}},
        c.cache);
    const Launcher launch = launcher(w, operands);
    launch(0, device.stream());
    verify_memory(device, w, operands);
    KernelTiming timing = timed(device, launch, operands.copies(), c.cache);
    if (!measures_device(c)) return {std::move(timing), {}, device.software()};
    // Useful bytes: the four of each read, whatever a sector moves.
    const double moved =
        w.function == "strided_read" ? 4.0 * static_cast<double>(w.bytes) / static_cast<double>(w.stride) : static_cast<double>(w.bytes);
    DeviceFigure figure{w.function + "_bandwidth_gb_s", {}, {}};
    for (const double us : timing.samples_us) figure.samples.push_back(moved / us * 1e-3);
    return {{}, {std::move(figure)}, device.software()};
}

}  // namespace roofcast::microbench
