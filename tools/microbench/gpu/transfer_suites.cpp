/// Copies between host and device, and what a launch costs.

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "gpu/kernels.hpp"
#include "gpu/operands.hpp"
#include "gpu/suites.hpp"

namespace roofcast::microbench {

namespace {

constexpr int launches_in_a_row = 200, samples_wanted = 100;

/// Host memory of either kind, written once so that its pages exist.
class HostMemory {
public:
    HostMemory(std::size_t bytes, bool pinned) {
        if (pinned) {
            pinned_ = Buffer(bytes, Place::pinned);
        } else {
            pageable_.resize(bytes);
        }
        auto* data = static_cast<unsigned char*>(this->data());
        for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 2654435761U >> 13U);
    }
    [[nodiscard]] void* data() { return pageable_.empty() ? pinned_.data() : pageable_.data(); }

private:
    Buffer pinned_;
    std::vector<unsigned char> pageable_;
};

/// Host time from a launch to its end as the host sees it, in microseconds.
template <class Enqueue>
double round_trip_us(const Device& device, Enqueue enqueue) {
    const double begin = now_seconds();
    enqueue();
    check(cudaStreamSynchronize(device.stream()), "waiting for a launch");
    return 1e6 * (now_seconds() - begin);
}

/// Host time of a call among many, nothing waited for.
template <class Enqueue>
double interval_us(const Device& device, Enqueue enqueue) {
    check(cudaStreamSynchronize(device.stream()), "waiting for the device");
    const double begin = now_seconds();
    for (int i = 0; i < launches_in_a_row; ++i) enqueue();
    check(cudaStreamSynchronize(device.stream()), "waiting for launches");
    return 1e6 * (now_seconds() - begin) / launches_in_a_row;
}

std::vector<double> launch_samples(const Device& device, const std::string& quantity) {
    const cudaStream_t stream = device.stream();
    const Launcher nothing = [](int, cudaStream_t s) { enqueue_nothing(s); };
    if (quantity == "empty_kernel") return timed(device, nothing, 1, CacheState::warm).samples_us;
    const Graph one(stream, 1, nothing), many(stream, launches_in_a_row, nothing);
    const Stopwatch watch;
    const auto sample = [&] {
        if (quantity == "launch_latency") return round_trip_us(device, [&] { enqueue_nothing(stream); });
        if (quantity == "launch_interval") return interval_us(device, [&] { enqueue_nothing(stream); });
        if (quantity == "graph_launch_latency") return round_trip_us(device, [&] { one.replay(stream); });
        watch.start(stream);
        many.replay(stream);
        watch.stop(stream);
        return watch.microseconds() / launches_in_a_row;
    };
    for (int i = 0; i < 10; ++i) sample();
    std::vector<double> samples;
    for (int i = 0; i < samples_wanted; ++i) samples.push_back(sample());
    return samples;
}

Outcome measure_copy_within(const Device& device, std::size_t bytes) {
    const Operands operands(device, {{bytes, Precision::fp32}, {bytes, Precision::fp32, false}}, CacheState::cold);
    const Launcher launch = [&](int i, cudaStream_t s) {
        check(cudaMemcpyAsync(operands.at(i, 1), operands.at(i, 0), bytes, cudaMemcpyDeviceToDevice, s), "copying");
    };
    return {timed(device, launch, operands.copies(), CacheState::cold), {}, device.software()};
}

}  // namespace

Outcome measure_copy(const Device& device, const Copy& w) {
    const auto bytes = static_cast<std::size_t>(w.bytes);
    if (w.direction == Direction::device_to_device) return measure_copy_within(device, bytes);
    const Buffer on_device(bytes);
    HostMemory host(bytes, w.pinned);
    const bool up = w.direction == Direction::host_to_device;
    void *to = up ? on_device.data() : host.data(), *from = up ? host.data() : on_device.data();
    const cudaMemcpyKind kind = up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    Outcome outcome{
        timed_calls(device, [&](cudaStream_t s) { check(cudaMemcpyAsync(to, from, bytes, kind, s), "copying"); }), {}, device.software()};
    outcome.launch_included = true;
    return outcome;
}

Outcome measure_launch(const Device& device, const Launch& w) {
    return {{}, {{w.quantity + "_us", {}, launch_samples(device, w.quantity)}}, device.software()};
}

}  // namespace roofcast::microbench
