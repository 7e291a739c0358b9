#include "gpu/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace roofcast::microbench {

namespace {

// A replay long against the resolution of events (half a microsecond) and the gap before its first node, short against the budget.
constexpr double wanted_replay_us = 300;
constexpr int most_launches = 128;
constexpr double warm_up_s = 0.03;  ///< the clock rises from idle within some milliseconds
constexpr double hold_s = 150e-6;   ///< the host queues a graph of this many launches and two events in less

/// Microseconds of one launch after a first one that loads code and fills caches.
double first_estimate_us(const Device& device, const Launcher& launch) {
    launch(0, device.stream());
    check(cudaStreamSynchronize(device.stream()), "the first launch");
    const Stopwatch watch;
    device.hold(hold_s);
    watch.start(device.stream());
    launch(0, device.stream());
    watch.stop(device.stream());
    return std::max(0.5, watch.microseconds());
}

/// Runs `sample` until the rule is content; its time is divided by `parts`.
KernelTiming sampled(const Device& device, const std::function<double()>& sample, double parts) {
    const double warm_up_begin = now_seconds();
    do sample();
    while (now_seconds() - warm_up_begin < warm_up_s);
    const StoppingRule rule;
    KernelTiming timing;
    const double clock_before = device.nvml().sm_clock_mhz().value_or(0), begin = now_seconds();
    while (!rule.enough(timing.samples_us, now_seconds() - begin)) timing.samples_us.push_back(sample() / parts);
    timing.drift = drifted(timing.samples_us) || clock_drifted(clock_before, device.nvml().sm_clock_mhz().value_or(0));
    return timing;
}

}  // namespace

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Stopwatch::Stopwatch() {
    check(cudaEventCreate(&start_), "creating an event");
    check(cudaEventCreate(&stop_), "creating an event");
}
Stopwatch::~Stopwatch() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
}
void Stopwatch::start(cudaStream_t stream) const {
    check(cudaEventRecord(start_, stream), "recording an event");
}
void Stopwatch::stop(cudaStream_t stream) const {
    check(cudaEventRecord(stop_, stream), "recording an event");
}
double Stopwatch::microseconds() const {
    check(cudaEventSynchronize(stop_), "running the kernel");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading a time");
    return 1e3 * static_cast<double>(milliseconds);
}

Graph::Graph(cudaStream_t stream, int launches, const Launcher& enqueue) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
    cudaGraph_t graph = nullptr;
    try {
        for (int i = 0; i < launches; ++i) enqueue(i, stream);
    } catch (...) {
        cudaStreamEndCapture(stream, &graph);  // else the stream stays in capture mode for the next case
        if (graph != nullptr) cudaGraphDestroy(graph);
        throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "capturing a graph");
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "instantiating a graph");
}

Graph::~Graph() {
    cudaGraphExecDestroy(executable_);
}

void Graph::replay(cudaStream_t stream) const {
    check(cudaGraphLaunch(executable_, stream), "launching a graph");
}

int wanted_copies(const Device& device, double footprint_bytes, CacheState cache) {
    if (cache == CacheState::warm) return 1;
    const double room = static_cast<double>(device.memory_for_operands());
    if (footprint_bytes > room) throw CaseError("out of memory: the operands do not fit");
    // Once a copy is much larger than L2, a graph of one or two launches is long enough.
    const double copies = std::min({room / footprint_bytes, std::max(2.0, 4e9 / footprint_bytes), static_cast<double>(most_launches)});
    return std::max(1, static_cast<int>(copies));
}

KernelTiming timed(const Device& device, const Launcher& launch, int copies, CacheState cache) {
    const double estimate = first_estimate_us(device, launch);
    const int wanted = std::clamp(static_cast<int>(std::ceil(wanted_replay_us / estimate)), 1, most_launches);
    const int launches = cache == CacheState::cold ? std::min(wanted, copies) : wanted;
    const Graph graph(device.stream(), launches, [&](int i, cudaStream_t stream) { launch(i % copies, stream); });
    const Stopwatch watch;
    const auto replay = [&] {
        if (cache == CacheState::cold) {
            device.flush_l2();
        } else {
            launch(0, device.stream());
        }
        device.hold(hold_s);
        watch.start(device.stream());
        graph.replay(device.stream());
        watch.stop(device.stream());
        return watch.microseconds();
    };
    return sampled(device, replay, launches);
}

KernelTiming timed_calls(const Device& device, const std::function<void(cudaStream_t)>& call) {
    call(device.stream());
    check(cudaStreamSynchronize(device.stream()), "the first call");
    const Stopwatch watch;
    const auto sample = [&](int calls) {
        watch.start(device.stream());
        for (int i = 0; i < calls; ++i) call(device.stream());
        watch.stop(device.stream());
        return watch.microseconds();
    };
    const int calls = std::clamp(static_cast<int>(std::ceil(wanted_replay_us / std::max(1.0, sample(1)))), 1, most_launches);
    return sampled(
        device, [&] { return sample(calls); }, calls);
}

}  // namespace roofcast::microbench
