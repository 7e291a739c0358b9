#pragma once
/// Kernel costs become a timeline: how a software stack issues an operator graph to the GPU.
///
/// The CPU issues kernels one after another, each at a cost; the GPU runs them in order. A kernel starts when it has been issued and the
/// GPU is free, so many small kernels leave the GPU waiting for the host.

#include <memory>
#include <string_view>
#include <vector>

#include "roofcast/gpu_profile.hpp"
#include "roofcast/kernel_cost.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/software.hpp"

namespace roofcast {

/// One operator of the timeline, all its repetitions together.
struct TimedOp {
    const OpNode* node = nullptr;  ///< into the graph given
    double runs = 0;               ///< times it runs in the pass
    double passes = 1;             ///< times that one run does the kernel's work
    KernelCost kernel;             ///< of one run
    Seconds time;                  ///< on the GPU, all runs
    bool fused = false;            ///< folded into an earlier kernel: `time` is what that kernel grew by
};

/// One operator that fusion folded away.
struct FusedOp {
    std::string_view node, into;
    std::int64_t count = 1;  ///< times in the pass
};

struct Timeline {
    Seconds total;          ///< first issue to last kernel's end
    Seconds gpu_busy;       ///< kernels running
    Seconds host;           ///< CPU launching kernels
    Seconds communication;  ///< between GPUs
    Flops flops;
    Bytes dram_bytes;
    Joules dynamic_energy;
    double kernels = 0;  ///< launches
    std::vector<TimedOp> ops;
    std::vector<FusedOp> fused;
    std::vector<std::shared_ptr<const KernelFamily>> families;  ///< whose names the kernels of `ops` point to
    std::vector<std::string_view> unmodelled;                   ///< operators without a kernel model: the total is withheld when not empty

    [[nodiscard]] bool complete() const { return unmodelled.empty(); }
    [[nodiscard]] bool host_bound() const { return host > gpu_busy; }
};

/// Most streams on which operators of a pass run side by side.
inline constexpr std::size_t most_streams = 16;

/// Runs `graph` on `gpu` under `stack`. With its `streams` above one, nodes of a segment on different streams overlap.
/// The result points into `graph`, which must outlive it.
/// `gpu` is used as it is: `as_software_sees` puts the stack's accumulation into it.
Timeline timeline(const OpGraph& graph, const Gpu& gpu, const SoftwareStack& stack);

/// Extra time of the first run after the process starts: context, and loading each kernel, those of repeated layers once.
Seconds cold_start(const Timeline& t, const SoftwareStack& stack);

}  // namespace roofcast
