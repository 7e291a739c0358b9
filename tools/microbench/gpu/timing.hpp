#pragma once
/// How a kernel is timed: replays of a CUDA graph of several launches between two events, queued behind a kernel that holds the stream, so
/// that neither the launch overhead nor the start of the graph is in the time.

#include <functional>

#include "gpu/device.hpp"
#include "host/campaign.hpp"
#include "host/stopping.hpp"

namespace roofcast::microbench {

/// Enqueues the kernel on copy `i` of its operands.
using Launcher = std::function<void(int copy, cudaStream_t stream)>;

/// Copies of the operands that a cold measurement wants: each launch of a graph takes one that no cache holds.
int wanted_copies(const Device& device, double footprint_bytes, CacheState cache);

/// Time of one launch, in samples of one graph replay each. Cold: L2 is flushed before each replay, and every launch of a graph has a copy
/// of the operands to itself. Warm: the same copy, read just before.
KernelTiming timed(const Device& device, const Launcher& launch, int copies, CacheState cache);

/// Time of one call among `calls` made in a row, for what a graph cannot hold: copies from pageable memory, several GPUs.
KernelTiming timed_calls(const Device& device, const std::function<void(cudaStream_t)>& call);

/// Two events and the time between them.
class Stopwatch {
public:
    Stopwatch();
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    ~Stopwatch();
    void start(cudaStream_t stream) const;
    void stop(cudaStream_t stream) const;
    /// Waits for the second event. Microseconds.
    [[nodiscard]] double microseconds() const;

private:
    cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

/// `launches` calls of `enqueue(i, stream)` as one graph.
class Graph {
public:
    Graph(cudaStream_t stream, int launches, const Launcher& enqueue);
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph();
    void replay(cudaStream_t stream) const;

private:
    cudaGraphExec_t executable_ = nullptr;
};

/// Seconds on a clock that never goes back.
double now_seconds();

}  // namespace roofcast::microbench
