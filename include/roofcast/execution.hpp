#pragma once
/// Timeline of kernels: how a software stack launches an operator graph on the GPU.
///
/// The CPU launches kernels one after another, and the GPU runs them in order. A kernel starts when it has been launched and the GPU is
/// free. With many small kernels, the GPU waits for the CPU.

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
    double passes = 1;             ///< repetitions of the kernel within one run
    KernelCost kernel;             ///< cost of one run
    Seconds time;                  ///< on the GPU, all runs
    Seconds issue;                 ///< CPU time to launch one run
    bool fused = false;            ///< folded into an earlier kernel, which takes `time` longer
};

/// One operator that fusion folded away.
struct FusedOp {
    std::string_view node, into;
    std::int64_t count = 1;  ///< times in the pass
};

struct Timeline {
    Seconds total;          ///< from the first launch to the end of the last kernel
    Seconds gpu_busy;       ///< time in which kernels run
    Seconds host;           ///< time in which the CPU launches kernels
    Seconds communication;  ///< between GPUs
    Flops flops;
    Bytes dram_bytes;
    Joules dynamic_energy;
    double kernels = 0;  ///< launches
    std::vector<TimedOp> ops;
    std::vector<FusedOp> fused;
    std::vector<std::shared_ptr<const KernelFamily>> families;  ///< whose names the kernels of `ops` point to
    std::vector<std::string_view> unmodelled;                   ///< operators without a kernel model; if any, the total is withheld

    [[nodiscard]] bool complete() const { return unmodelled.empty(); }
    [[nodiscard]] bool host_bound() const { return host > gpu_busy; }
};

/// Largest number of streams for concurrent operators of a pass.
inline constexpr std::size_t most_streams = 16;

/// Runs `graph` on `gpu` under `stack`. With its `streams` above one, nodes of a segment on different streams overlap.
/// The result points into `graph`, which must outlive it.
/// `gpu` is used as it is: `as_software_sees` puts the stack's accumulation into it.
Timeline timeline(const OpGraph& graph, const Gpu& gpu, const SoftwareStack& stack);

/// One run of an operator on the time axis of a pass, which begins at 0.
struct OpSpan {
    const TimedOp* op = nullptr;  ///< into the timeline
    const Segment* segment = nullptr;
    std::int64_t repetition = 0;  ///< of the segment, from 0
    Seconds issued, launched;     ///< when the CPU begins to launch it, and when it has
    Seconds start, end;           ///< on the GPU
};

/// The runs of all operators of `t`, which is that of `graph`, in order; the last one ends at `t.total`. With `streams` above one, nodes
/// of a segment on different streams overlap. Beyond `most_spans` runs, each operator of a segment is one span of all its runs.
std::vector<OpSpan> spans(const OpGraph& graph, const Timeline& t, int streams);
inline constexpr std::int64_t most_spans = 200'000;

/// Extra time of the first run after the process starts: context, and loading each kernel, those of repeated layers once.
Seconds cold_start(const Timeline& t, const SoftwareStack& stack);

}  // namespace roofcast
