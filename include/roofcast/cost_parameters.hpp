#pragma once
/// What the cost model may tune: efficiencies and latencies, each with a meaning, a unit and physical bounds.
///
/// Peaks, bandwidths and sizes are facts of the GPU profile and are never in here. Every member is declared once more in
/// `parameter_specs()` (src/profile/cost_parameters.cpp), which is what the loaders and the calibrator iterate over.
/// The equations that they enter are in docs/model.md. Shipped values are in gpus/arch/*.toml; the initial values below keep a
/// hand-made profile usable.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/precision.hpp"
#include "roofcast/recurrent_parameters.hpp"
#include "roofcast/sparse_parameters.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// How a library's kernels use tiles, L2 and split-K parts.
struct TilingParameters {
    double tile_half = 1500;  ///< outputs of a tile at which it reaches half of the rate
    double l2_bytes_per_sm_clock =
        48;                    ///< L2 to SM, bytes per SM and boost clock; tensor cores: at 4096 16-bit FLOPs, times √(FLOPs / 4096)
    double tail = 0.3;         ///< 0: a partial wave costs a whole one; 1: it costs its share
    double k_step_cycles = 8;  ///< latency of a k step of 32: once, or of kernels that unpack weights in each wave of three blocks an SM
    double epilogue_cycles = 300;  ///< of a 128x128 tile; on tensor cores half of it is less the fewer SMs write
    double split_k_cycles = 3500;  ///< of adding the parts of split-K: once, or where they add up in turn, for each but the first
};

/// Of dense GEMMs on one class of arithmetic unit.
struct GemmParameters {
    TilingParameters tiling{};
    double peak_fraction = 0.9;           ///< of the data-sheet peak that an infinitely large tile reaches
    double batched_fraction = 0.9;        ///< the same of batched GEMMs on CUDA cores
    double strided_fraction = 0.5;        ///< of DRAM bandwidth that SIMT kernels keep when they read operands stored along k again
    double batched_strided_fraction = 1;  ///< of DRAM bandwidth that batched GEMMs on CUDA cores read long rows of A at
    double bandwidth_fraction = 0.85;     ///< of DRAM bandwidth
    double overlap = 0.8;                 ///< fraction of the non-bounding terms that the bounding one hides
    double fixed_cycles = 3500;           ///< kernel start, prologue and drain
    double wave_cycles = 0;               ///< that the end of a wave and the start of the next take at least, however small the tile
    double misaligned = 0.1;              ///< loss of peak when a row of n or k is not a multiple of 16 bytes
    double l2_residency = 0.5;            ///< fraction of a small working set that is found in L2 when warm
};

/// Of the kernel that quantizes activations for one class of tensor core.
struct QuantizationParameters {
    double fixed_cycles = 3500;       ///< start of the kernel
    double row_cycles = 1100;         ///< of an SM per row: start, reduction and scaling
    double bytes_per_sm_clock = 6.5;  ///< read and written by an SM, in whole steps of a block
};

/// Of GEMMs whose weights are stored in fewer bits than they are computed in; their kernels come from other libraries.
struct WeightOnlyParameters {
    TilingParameters tiling{.tile_half = 500, .tail = 0.5, .k_step_cycles = 15, .epilogue_cycles = 3000};  ///< in place of the GEMM's
    double dequantization_operations = 1.5;  ///< SIMT operations per weight that is unpacked to the compute format
};

/// Energy, from which sustained clocks follow.
struct PowerParameters {
    /// At a boost clock of 1 GHz; on CUDA cores in a process of 7 nm, on tensor cores of 4096 16-bit FLOPs an SM and clock in one of 5 nm.
    std::array<JoulesPerFlop, math_unit_count> flop{8.5 * pj_per_flop, 0.49 * pj_per_flop, 0.28 * pj_per_flop, 0.2 * pj_per_flop,
                                                    0.21 * pj_per_flop};
    JoulesPerByte dram_byte = 60 * pj_per_byte;
};

/// Of one family of fused attention kernels. The unfused form uses the GEMM, row-wise and streaming parameters.
struct AttentionParameters {
    double peak_fraction = 0.65;        ///< of the data-sheet tensor-core peak within a block of queries
    double softmax_operations = 8;      ///< SIMT operations per score that GEMMs do not hide
    double bandwidth_fraction = 0.75;   ///< of DRAM bandwidth when all SMs read the KV cache
    double own_bytes_per_sm_clock = 8;  ///< of the KV cache that an SM reads beyond an equal part of DRAM bandwidth
    double overlap = 0.8;               ///< fraction of the non-bounding terms that the bounding one hides
    Seconds block = 3 * us;             ///< start, first loads and write-back of one wave of blocks of queries
    Seconds split_block = 3 * us;       ///< the same of blocks that share the keys of a head 128 wide
    double fixed_cycles = 15000;        ///< kernel start and what engines with a KV cache launch around it
    double combine_cycles = 2000;       ///< start of the kernel that adds up the parts of split keys, and per 16 parts
    double token_cycles = 1000;         ///< of an SM per block of 512 threads that writes keys and values of a token into the cache
    double query_cycles =
        64;  ///< of an SM for a head of Q and the output of a token, 128 wide, which engines with a KV cache move around it
    double cache_cycles = 64;               ///< the same of K and V
    double l2_residency = 0.5;              ///< fraction of a small KV cache that a repeated call finds in L2
    double wide_bytes_per_sm_clock = 1000;  ///< of keys and values of heads 129 to 256 wide, on their way through an SM
};

/// Of convolutions, beside the GEMM parameters that implicit GEMM uses.
struct ConvolutionParameters {
    double implicit_fraction = 0.85;     ///< of the CUDA cores' peak that implicit GEMM reaches
    double tensor_core_fraction = 0.95;  ///< the same on tensor cores, whose kernels gather the input by asynchronous copies
    double winograd_fraction = 0.7;      ///< of the CUDA cores' peak that GEMMs of Winograd through memory reach
    double fused_fraction = 0.7;         ///< of the CUDA cores' peak that fused Winograd reaches
    double transform_fraction = 0.6;     ///< of DRAM bandwidth in Winograd and layout transformations
    double depthwise_fraction = 0.5;     ///< of DRAM bandwidth in depthwise kernels
    double depthwise_rate = 0.2;         ///< of the FP32 cores' peak in depthwise kernels for 16 bits, channels last
    double epilogue_cycles = 5000;       ///< on CUDA cores, per wave, for a 128x128 tile
};

/// Of kernels that stream through memory: element-wise, moves, gathers, pooling.
struct StreamingParameters {
    double bandwidth_fraction = 0.85;  ///< of DRAM bandwidth for large tensors
    double l2_bandwidth_ratio = 2.5;   ///< L2 over DRAM bandwidth
    double l2_residency = 0.7;         ///< fraction of a small working set that is found in L2 when warm, and of what kernels before wrote
    Seconds fixed = 2 * us;            ///< kernel start and drain
    Seconds dram_wait = 0.43 * us;     ///< that a kernel waits longer for its first data where they come from DRAM and not from L2
};

/// Of softmax and normalizations.
struct RowWiseParameters {
    double bandwidth_fraction = 0.8;  ///< of DRAM bandwidth for many rows
    double fill = 3;                  ///< 1 / fraction of the SMs that saturates DRAM bandwidth
    double row_cycles = 160;          ///< clock cycles of an SM for 512 fp32 elements of a row of layer norm, and twice that for its sums
    Seconds fixed = 3 * us;           ///< kernel start, reductions and drain
};

/// Of the routed experts' grouped GEMMs.
struct MoeParameters {
    TilingParameters tiling{.tile_half = 500, .l2_bytes_per_sm_clock = 64, .tail = 0.5, .k_step_cycles = 15, .epilogue_cycles = 0};
    double peak_fraction = 0.8;        ///< of the GEMM's rate that grouped kernels keep
    double dram_fraction = 0.8;        ///< of DRAM bandwidth that they reach
    double l2_residency = 0.7;         ///< as of dense GEMMs: of experts that a repeated call finds in L2
    double skew = 1;                   ///< how much of the router's imbalance between ranks reaches the time
    double row_passes = 1.5;           ///< times that an output row for each token and expert moves through DRAM around the GEMMs
    double local_passes = 1;           ///< times that an input or output row for each expert of the rank's own moves there besides
    double inner_passes = 1;           ///< times that the inner activations of each token and expert move there
    double wave_cycles = 5000;         ///< that the end of a wave of a grouped GEMM and the start of the next take at least
    double fixed_cycles = 20000;       ///< routing, permutation and kernel starts
    double sorting_cycles = 10000;     ///< further starts where experts are too many to be sorted in one kernel
    double absent_block_cycles = 150;  ///< of an SM per block that fills rows of other ranks' experts with zeros
    double plain_load_cycles = 0.4;    ///< of an SM, to load an element of rows too odd for wide loads
    double narrow_load_cycles = 1;     ///< the same of elements of 8 bits or fewer
};

/// Between GPUs.
struct CollectiveParameters {
    double nvlink_fraction = 0.75;              ///< of one direction's NVLink bandwidth
    double pcie_fraction = 0.6;                 ///< of PCIe bandwidth
    double fixed_cycles = 11000;                ///< start and synchronization
    Seconds hop = 1.2 * us;                     ///< latency of one step between neighbours
    double chunk_cycles = 5500;                 ///< latency of one pipelined chunk: what keeps mid-sized messages below full bandwidth
    double local_fraction = 0.4;                ///< of DRAM bandwidth at which a rank copies its own part between its buffers
    Seconds direct = 5 * us;                    ///< least time of messages between two ranks, unless they are shorter at `direct_rate`
    BytesPerSecond direct_rate = 7 * gb_per_s;  ///< of short messages between two ranks, whose flags travel with the data
    double pcie_contention = 1.3;               ///< exponent of (GPUs − 1) by which a shared host bridge divides PCIe bandwidth
};

/// All-reduce by kernels of engines' own libraries, which reach the memory of their peers: what of it is the silicon's.
struct AllReduceParameters {
    Seconds start = 1.5 * us;         ///< kernel start and drain
    Seconds hop = 1.8 * us;           ///< from a flag's write to a peer until the peer acts on it
    double nvlink_fraction = 0.6;     ///< of one direction's NVLink bandwidth, that reads of all peers' memory at once reach
    double pcie_fraction = 0.6;       ///< the same of PCIe bandwidth
    double multicast_fraction = 0.6;  ///< of one direction's NVLink bandwidth, where its switches add and spread
};

/// Between host and device, or within the device.
struct CopyParameters {
    double pcie_fraction = 0.8;      ///< of PCIe bandwidth with pinned memory
    double pageable_fraction = 0.4;  ///< of that, with pageable memory
    double device_fraction = 0.85;   ///< of DRAM bandwidth within the device
    Seconds fixed = 8 * us;          ///< start of a transfer
};

/// Of one kernel of a `QuantizeSchedule`, or of those that find the scale.
struct QuantizePassParameters {
    double fixed_cycles = 3500;    ///< starts
    double element_cycles = 0.15;  ///< of an SM, for an element
    double row_cycles = 0;         ///< of an SM, for a row
    double walk_cycles = 0;        ///< of a block that goes along its row alone, for an element
    double dram_fraction = 1;      ///< of the rate at which streaming kernels read DRAM
};

/// Of the kernels of one `QuantizeSchedule`.
struct QuantizeParameters {
    QuantizePassParameters scale{}, find{};
};

/// Kinds of kernels that are calibrated together, each on rows of its own.
enum class KernelClass {
    streaming,
    row_wise,
    weight_only,
    convolution,
    moe,
    collective,
    copy,
    gemm_simt,
    gemm_tensor16,
    gemm_tensor8,
    gemm_integer8,
    gemm_tensor4,
    attention_plain,
    attention_narrow,
    quantize,
    recurrent,
    sparse
};
inline constexpr std::size_t kernel_class_count = 17;

/// By what a user's machine differs from the one that the other parameters were fitted on, all alike: other software, clocks or layout, or
/// a power limit. Only users' fits set them; 1 everywhere else.
struct MachineFactors {
    double models = 1;  ///< time of whole models over the predicted time
    std::array<double, kernel_class_count> kernels{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};  ///< of kernels, by KernelClass
};

/// Everything the kernel models may tune, for one GPU or one architecture.
struct CostParameters {
    std::array<GemmParameters, math_unit_count> gemm{};
    std::array<QuantizationParameters, math_unit_count> quantization{};
    WeightOnlyParameters weight_only{};
    PowerParameters power{};
    std::array<AttentionParameters, cache_format_count> attention{};  ///< by CacheFormat
    ConvolutionParameters convolution{};
    StreamingParameters streaming{};
    RowWiseParameters row_wise{};
    MoeParameters moe{};
    CollectiveParameters collective{};
    AllReduceParameters all_reduce{};
    CopyParameters copy{};
    std::array<QuantizeParameters, 4> quantize{};  ///< by QuantizeSchedule
    RecurrentParameters recurrent{};
    SparseParameters sparse{};
    MachineFactors time_factor{};
};

/// How the solver sees a parameter.
enum class Transform { linear, log };

/// Where a parameter's value came from; in order of increasing trust. `pooled_fit`: of the fit to GPUs of all architectures.
/// A value that a fit needed and did not fit has the provenance of where it comes from.
/// `user_fit`: of a fit that a user made; `gpu_fit`: of the shipped fit of the GPU.
enum class Provenance { assumed, cited, pooled_fit, architecture_fit, gpu_fit, user_fit };
std::string_view name(Provenance p);

/// How the source of a fitted parameter begins that whole models told, not kernels.
inline constexpr std::string_view fitted_to_models = "fitted to whole models";

/// The same of one that a fit needs and did not fit: its start value, by hand or from a fit to other GPUs.
inline constexpr std::string_view kept_source = "kept";
inline constexpr std::string_view kept_from_others = "kept from the fit of other GPUs";

/// The same of one in a user's fit that the user's rows did not change: it is as good as in the shipped fit.
inline constexpr std::string_view unchanged_from_shipped = "unchanged from the shipped fit";

/// Declaration of one parameter: name as in the TOML files ("gemm.tensor16.peak_fraction"), unit and bounds in that unit.
struct ParameterSpec {
    std::string name;
    std::string unit;                           ///< "1", "us", "ns", "pJ/FLOP", …
    double scale = 1;                           ///< base units per `unit`
    double lower = 0, upper = 1;                ///< in `unit`, from physics
    double fitted_lower = 0, fitted_upper = 1;  ///< within these: what fits do not leave
    Transform transform = Transform::linear;
    std::string meaning;                           ///< one sentence
    std::function<double&(CostParameters&)> slot;  ///< the member, in base units
    bool pooled = true;                            ///< false: GPUs differ in it for reasons of their own, and fits to several leave it
    bool carries_over = false;                     ///< hardware facts carry it from GPU to GPU, so that rows of one hardly move it
    std::optional<MathUnit> math_unit{};           ///< of kernels on this one alone: GPUs without it do not depend on it
    bool of_machine = false;                       ///< a time factor: only fits that refine another one set it

    [[nodiscard]] double get(const CostParameters& p) const { return slot(const_cast<CostParameters&>(p)) / scale; }
    void set(CostParameters& p, double in_unit) const { slot(p) = in_unit * scale; }
};

/// All parameters, in the order of the TOML files; the index of a spec identifies the parameter everywhere.
const std::vector<ParameterSpec>& parameter_specs();

/// Index of the parameter called `name`; throws Error with the nearest names when there is none.
std::size_t parameter_index(std::string_view name);

/// Where 80 % of the measurements of one group lie: from predicted · e^lower to predicted · e^upper.
struct ResidualInterval {
    std::string op;         ///< operator class ("gemm"), "model_" and a class of whole models ("model_llm_decode"), "assembly", or "all"
    std::int64_t rows = 0;  ///< 0: assumed
    double lower = 0, upper = 0;  ///< 10 % and 90 % quantile of ln(measured / predicted), rows not seen; of pooled fits, GPUs not seen
    Provenance provenance = Provenance::assumed;
    std::string basis{};  ///< "fit of t4", "fit of turing", "defaults"
};

/// What kernels of one family were fitted to on a GPU, or on GPUs of its architecture.
struct FamilyParameters {
    std::string family;  ///< name of a `KernelFamily`
    CostParameters values;
    std::vector<ResidualInterval> intervals{};
};

/// Values of all parameters with where each came from.
struct ParameterSet {
    CostParameters values;
    std::vector<Provenance> provenance;         ///< by spec index
    std::vector<std::string> source;            ///< by spec index: citation, file or "assumed: reason"
    std::vector<ResidualInterval> intervals{};  ///< least trusted first; empty: unknown
    std::vector<FamilyParameters> families{};   ///< in place of `values` for kernels of these families
};

}  // namespace roofcast
