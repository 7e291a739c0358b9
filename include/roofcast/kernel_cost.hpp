#pragma once
/// (operator, GPU) → time and why. Pure functions, one file an operator class in src/kernels/, in folders by kind of kernel. No allocation.
///
/// Every model obeys the data-sheet roofline: total ≥ max(flops / peak, cold bytes / bandwidth) when nothing is resident in L2; peaks times
/// `clock_headroom` where GPUs run above the clock that they are quoted at.

#include <optional>
#include <string_view>

#include "roofcast/gpu_profile.hpp"
#include "roofcast/op_graph.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// What a kernel's time is bound by.
enum class Bound { compute, dram, l2, latency, power, communication, unmodelled };
std::string_view name(Bound b);

/// `KernelCost::algorithm` of all-reduces by NCCL.
inline constexpr std::string_view ring_algorithm = "ring";

/// Time of one kernel (or of the few that a library launches for one operator) on the GPU, without launch overhead of the CPU.
struct KernelCost {
    Seconds compute;        ///< arithmetic at the reachable rate
    Seconds dram;           ///< DRAM traffic
    Seconds l2;             ///< L2 traffic
    Seconds launch;         ///< fixed latency on the GPU: start, prologue, drain
    Seconds power;          ///< energy over the power budget: a shorter kernel would exceed the power limit
    Seconds communication;  ///< transfers between GPUs, or between CPU and GPU
    Seconds total;
    Seconds unthrottled;  ///< what `total` would be without a power limit
    Bound bound = Bound::latency;
    Flops flops;                   ///< FLOPs done
    Bytes dram_bytes;              ///< DRAM traffic after L2 hits
    Joules energy;                 ///< dynamic energy: arithmetic and DRAM
    int kernels = 1;               ///< launches
    std::string_view algorithm{};  ///< algorithm of an all-reduce (static text); else empty
    std::string_view family{};     ///< name of the `KernelFamily` that runs it; empty: none in particular
};

/// Whether inputs may be found in L2 from an earlier kernel. `rotated`: a benchmark that takes its weights from some copies in turn, cold
/// only where L2 cannot hold them all, and repeats attention on one KV cache and experts on one set of weights; for other operators the
/// same as `cold`. `produced`: in a pass over a graph, where the kernels before wrote what is no weight and no KV cache.
enum class Cache { cold, warm, rotated, produced };

std::string_view name(Cache c);

KernelCost cost(const Gemm& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Attention& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Conv2d& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Elementwise& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const RowWise& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Embedding& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Reduce& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Move& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Moe& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Collective& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Copy& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Quantize& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const CausalConvolution& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const Recurrence& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const HyperConnection& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const IndexScores& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const TopK& op, const Gpu& gpu, Cache cache = Cache::cold);
KernelCost cost(const SparseAttention& op, const Gpu& gpu, Cache cache = Cache::cold);

/// Most rows of a GEMV kernel of serving engines, which streams weights through CUDA cores.
inline constexpr std::int64_t most_gemv_rows = 8;

/// A GEMV of an engine: weights at the streaming rate, at most `most_per_sm` per SM. `op.m` ≤ `most_gemv_rows`.
KernelCost streamed_gemv_cost(const Gemm& op, const Gpu& gpu, BytesPerSecond most_per_sm);
/// The same for experts, with one kernel up and one down. `op.tokens` ≤ `most_gemv_rows`.
KernelCost streamed_gemv_cost(const Moe& op, const Gpu& gpu, BytesPerSecond most_per_sm);

/// Time on the CUDA cores of all SMs for streaming kernels of an engine with `instructions` per written element. Zero for other
/// operators.
Seconds element_time(const Op& op, double instructions, const GpuProfile& gpu);

/// A kernel of an engine that reads the weights of `op` as stored and writes them in 16 bits; an SM moves `most_per_sm` at most, 0: no
/// limit.
KernelCost unpacking_cost(const Gemm& op, const Gpu& gpu, BytesPerSecond most_per_sm);

/// Dispatches on the operator. An `Unmodelled` one has bound `unmodelled` and no time.
KernelCost cost(const Op& op, const Gpu& gpu, Cache cache = Cache::cold);

/// The class of kernels that `op` runs in; nullopt: `Unmodelled`.
std::optional<KernelClass> kernel_class(const Op& op, const Gpu& gpu);

/// `kernel`, which runs `op`, as it is on this machine: times its class's time factor, but no faster than the data sheet allows.
/// `cost(const Op&, …)` has done so.
KernelCost on_this_machine(const KernelCost& kernel, const Op& op, const Gpu& gpu, Cache cache);

/// All times of `kernel` by `factor`.
KernelCost stretched(const KernelCost& kernel, double factor);

/// Lower bound that no kernel can beat: the larger of flops over data-sheet peak and compulsory bytes over data-sheet bandwidth
/// (bytes that fit L2 are free unless `cache` is cold).
Seconds datasheet_roofline(const Op& op, const GpuProfile& gpu, Cache cache = Cache::cold);

/// Bytes that `op` must move when nothing is resident: every input read once, every output written once.
Bytes compulsory_bytes(const Op& op);

/// Cost of kernels that run one after the other.
KernelCost in_sequence(const KernelCost& first, const KernelCost& second);

}  // namespace roofcast
