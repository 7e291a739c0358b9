#pragma once
/// Tunable parameters of the cost model: efficiencies and latencies, each with a meaning, a unit and physical bounds.
///
/// Peaks, bandwidths and sizes are facts of the GPU profile and never appear here. Every member is declared once more in
/// `parameter_specs()` (src/profile/cost_parameters.cpp), which is what the loaders and the calibrator iterate over.
/// The equations that they enter are in docs/model/. Shipped values are in gpus/arch/*.toml; the initial values below keep a
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
    double tile_half = 1500;            ///< tile outputs at which a tile reaches half of the peak rate
    double l2_bytes_per_sm_clock = 48;  ///< L2 bytes per SM and boost clock; on tensor cores times √(16-bit FLOPs per clock / 4096)
    double tail = 0.3;                  ///< cost of a partial wave: 0 as a full one, 1 in proportion
    double k_step_cycles = 8;           ///< latency of a k step of 32, once; with unpacking once per wave of three blocks an SM
    double epilogue_cycles = 300;       ///< write-back of a 128x128 tile; on tensor cores half of it shrinks with fewer SMs
    double split_k_cycles = 3500;       ///< split-K reduction: once, or if parts add up in turn, for each but the first
};

/// Dense GEMMs on one class of arithmetic unit.
struct GemmParameters {
    TilingParameters tiling{};
    double peak_fraction = 0.9;           ///< fraction of the data-sheet peak that an infinitely large tile reaches
    double batched_fraction = 0.9;        ///< the same for batched GEMMs on CUDA cores
    double strided_fraction = 0.5;        ///< fraction of DRAM bandwidth left for SIMT kernels that re-read operands along k
    double batched_strided_fraction = 1;  ///< fraction of DRAM bandwidth for batched SIMT GEMMs that read long rows of A
    double bandwidth_fraction = 0.85;     ///< fraction of DRAM bandwidth
    double overlap = 0.8;                 ///< fraction of the non-bounding terms that the bounding one hides
    double fixed_cycles = 3500;           ///< kernel launch, prologue and drain
    double wave_cycles = 0;               ///< least time from the end of a wave to the start of the next
    double misaligned = 0.1;              ///< fraction of the peak lost when rows along n or k are not multiples of 16 bytes
    double l2_residency = 0.5;            ///< fraction of a small working set that a warm call finds in L2
};

/// The kernel that quantizes activations for one class of tensor core.
struct QuantizationParameters {
    double fixed_cycles = 3500;       ///< kernel launch
    double row_cycles = 1100;         ///< SM cycles per row: start, reduction and scaling
    double bytes_per_sm_clock = 6.5;  ///< bytes that an SM reads and writes per clock, in whole block steps
};

/// GEMMs with weights in fewer bits than the compute format. Their kernels come from other libraries.
struct WeightOnlyParameters {
    TilingParameters tiling{.tile_half = 500, .tail = 0.5, .k_step_cycles = 15, .epilogue_cycles = 3000};  ///< replaces the GEMM's
    double dequantization_operations = 1.5;  ///< SIMT operations per weight that is unpacked to the compute format
};

/// Energy, which determines sustained clocks.
struct PowerParameters {
    /// At a boost clock of 1 GHz; on CUDA cores in a process of 7 nm, on tensor cores of 4096 16-bit FLOPs an SM and clock in one of 5 nm.
    std::array<JoulesPerFlop, math_unit_count> flop{8.5 * pj_per_flop, 0.49 * pj_per_flop, 0.28 * pj_per_flop, 0.2 * pj_per_flop,
                                                    0.21 * pj_per_flop};
    JoulesPerByte dram_byte = 60 * pj_per_byte;
};

/// One family of fused attention kernels. Unfused attention uses the GEMM, row-wise and streaming parameters.
struct AttentionParameters {
    double peak_fraction = 0.65;            ///< fraction of the tensor-core peak within a query block
    double softmax_operations = 8;          ///< softmax operations per score that the GEMMs do not hide
    double bandwidth_fraction = 0.75;       ///< fraction of DRAM bandwidth when all SMs read the KV cache
    double own_bytes_per_sm_clock = 8;      ///< KV cache bytes per clock that an SM reads beyond an equal part of DRAM bandwidth
    double overlap = 0.8;                   ///< fraction of the non-bounding terms that the bounding one hides
    Seconds block = 3 * us;                 ///< start, first loads and write-back of one wave of query blocks
    Seconds split_block = 3 * us;           ///< the same for split-KV blocks of heads 128 wide
    double fixed_cycles = 15000;            ///< kernel launch, with small kernels of engines around it
    double combine_cycles = 2000;           ///< start of the split-KV combine kernel, and again per 16 parts
    double token_cycles = 1000;             ///< SM cycles per block of 512 threads that appends a token to the cache
    double query_cycles = 64;               ///< SM cycles to move Q and output of a token and head (128 wide) around attention
    double cache_cycles = 64;               ///< the same for K and V
    double l2_residency = 0.5;              ///< fraction of a small KV cache that a repeated call finds in L2
    double wide_bytes_per_sm_clock = 1000;  ///< key and value bytes per SM and clock for heads 129 to 256 wide
};

/// Convolutions. Implicit GEMM also uses the GEMM parameters.
struct ConvolutionParameters {
    double implicit_fraction = 0.85;     ///< fraction of the CUDA cores' peak that implicit GEMM reaches
    double tensor_core_fraction = 0.95;  ///< fraction of the GEMM's rate that implicit GEMM keeps on tensor cores
    double winograd_fraction = 0.7;      ///< fraction of the CUDA cores' peak in Winograd GEMMs through memory
    double fused_fraction = 0.7;         ///< fraction of the CUDA cores' peak in fused Winograd
    double transform_fraction = 0.6;     ///< fraction of DRAM bandwidth in Winograd and layout transformations
    double depthwise_fraction = 0.5;     ///< fraction of DRAM bandwidth in depthwise kernels
    double depthwise_rate = 0.2;         ///< fraction of the CUDA cores' fp32 peak in 16-bit channels-last depthwise kernels
    double epilogue_cycles = 5000;       ///< write-back per wave of 128x128 tiles on CUDA cores
};

/// Streaming kernels: element-wise operators, moves, gathers, pooling.
struct StreamingParameters {
    double bandwidth_fraction = 0.85;  ///< fraction of DRAM bandwidth for large tensors
    double l2_bandwidth_ratio = 2.5;   ///< L2 over DRAM bandwidth
    double l2_residency = 0.7;         ///< fraction of a small working set, or of earlier kernels' outputs, found in L2
    Seconds fixed = 2 * us;            ///< kernel start and drain
    Seconds dram_wait = 0.43 * us;     ///< further latency of the first data from DRAM instead of L2
};

/// Softmax and normalizations.
struct RowWiseParameters {
    double bandwidth_fraction = 0.8;  ///< fraction of DRAM bandwidth for many rows
    double fill = 3;                  ///< total SMs over the SMs that saturate DRAM bandwidth
    double row_cycles = 160;          ///< SM cycles for 512 fp32 elements of a LayerNorm row; its sums take twice as long
    Seconds fixed = 3 * us;           ///< kernel start, reductions and drain
};

/// Grouped GEMMs of routed experts.
struct MoeParameters {
    TilingParameters tiling{.tile_half = 500, .l2_bytes_per_sm_clock = 64, .tail = 0.5, .k_step_cycles = 15, .epilogue_cycles = 0};
    double peak_fraction = 0.8;        ///< fraction of the GEMM's rate that grouped kernels keep
    double dram_fraction = 0.8;        ///< fraction of DRAM bandwidth
    double l2_residency = 0.7;         ///< fraction of L2 that keeps expert weights between calls
    double skew = 1;                   ///< fraction of the router's imbalance between ranks that shows in the time
    double row_passes = 1.5;           ///< DRAM passes of an output row per token and expert around the GEMMs
    double local_passes = 1;           ///< further DRAM passes of a row per expert that the rank holds
    double inner_passes = 1;           ///< DRAM passes of the intermediate activations per token and expert
    double wave_cycles = 5000;         ///< least time from the end of a wave to the start of the next
    double fixed_cycles = 20000;       ///< routing, permutation and kernel launches
    double sorting_cycles = 10000;     ///< further launches when one kernel cannot sort all experts
    double absent_block_cycles = 150;  ///< SM cycles per block that only writes zeros for experts of other ranks
    double plain_load_cycles = 0.4;    ///< SM cycles to load an element from rows too misaligned for vector loads
    double narrow_load_cycles = 1;     ///< the same for elements of 8 bits or fewer
};

/// Collectives between GPUs.
struct CollectiveParameters {
    double nvlink_fraction = 0.75;              ///< fraction of one direction's NVLink bandwidth
    double pcie_fraction = 0.6;                 ///< fraction of PCIe bandwidth
    double fixed_cycles = 11000;                ///< launch and synchronization
    Seconds hop = 1.2 * us;                     ///< latency of one step between neighbouring GPUs
    double chunk_cycles = 5500;                 ///< latency of one pipelined chunk, which limits mid-sized messages
    double local_fraction = 0.4;                ///< fraction of DRAM bandwidth at which a rank copies its own part
    Seconds direct = 5 * us;                    ///< least time of messages between two ranks, except short ones
    BytesPerSecond direct_rate = 7 * gb_per_s;  ///< rate of short messages between two ranks, whose flags travel with the data
    double pcie_contention = 1.3;               ///< exponent of (GPUs − 1) by which a shared host bridge divides PCIe bandwidth
};

/// All-reduce kernels of engines' own libraries, which read their peers' memory: the part that depends on the silicon.
struct AllReduceParameters {
    Seconds start = 1.5 * us;         ///< kernel launch and drain
    Seconds hop = 1.8 * us;           ///< latency from writing a flag on a peer to the peer's reaction
    double nvlink_fraction = 0.6;     ///< fraction of one direction's NVLink bandwidth for reads of all peers at once
    double pcie_fraction = 0.6;       ///< the same for PCIe bandwidth
    double multicast_fraction = 0.6;  ///< fraction of one direction's NVLink bandwidth in multicast reductions
};

/// Copies between CPU and GPU memory, or within the GPU.
struct CopyParameters {
    double pcie_fraction = 0.8;      ///< fraction of PCIe bandwidth with pinned memory
    double pageable_fraction = 0.4;  ///< fraction of the pinned rate with pageable memory
    double device_fraction = 0.85;   ///< fraction of DRAM bandwidth within the GPU
    Seconds fixed = 8 * us;          ///< setup of a transfer
};

/// One kernel of a `QuantizeSchedule`, or the kernels that find the scale.
struct QuantizePassParameters {
    double fixed_cycles = 3500;    ///< kernel launches
    double element_cycles = 0.15;  ///< SM cycles per element
    double row_cycles = 0;         ///< SM cycles per row
    double walk_cycles = 0;        ///< block cycles per element of its row
    double dram_fraction = 1;      ///< fraction of the DRAM read rate of streaming kernels
};

/// Kernels of one `QuantizeSchedule`.
struct QuantizeParameters {
    QuantizePassParameters scale{}, find{};
};

/// Classes of kernels, each calibrated on its own rows.
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

/// Time factors of a user's machine relative to the machine of the fit: other software, clocks, layout or power limit. Only users' fits
/// set them; 1 everywhere else.
struct MachineFactors {
    double models = 1;  ///< measured over predicted time of whole models
    std::array<double, kernel_class_count> kernels{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};  ///< of kernels, by `KernelClass`
};

/// All tunable parameters of the kernel models, for one GPU or one architecture.
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

/// Source of a parameter's value, in order of increasing trust. `pooled_fit`: fit to GPUs of all architectures; `gpu_fit`: the shipped
/// fit of the GPU; `user_fit`: a user's fit. A value that a fit kept has the provenance of its origin.
enum class Provenance { assumed, cited, pooled_fit, architecture_fit, gpu_fit, user_fit };
std::string_view name(Provenance p);

/// Prefix of the source of a parameter fitted to whole models instead of kernels.
inline constexpr std::string_view fitted_to_models = "fitted to whole models";

/// Prefix for a parameter that a fit kept at its start value: a default, or the fit of other GPUs.
inline constexpr std::string_view kept_source = "kept";
inline constexpr std::string_view kept_from_others = "kept from the fit of other GPUs";

/// Prefix for a parameter that a user's rows did not change: as good as in the shipped fit.
inline constexpr std::string_view unchanged_from_shipped = "unchanged from the shipped fit";

/// Declaration of one parameter: name as in the TOML files ("gemm.tensor16.peak_fraction"), unit and bounds in that unit.
struct ParameterSpec {
    std::string name;
    std::string unit;                           ///< "1", "us", "ns", "pJ/FLOP", …
    double scale = 1;                           ///< base units per `unit`
    double lower = 0, upper = 1;                ///< in `unit`, from physics
    double fitted_lower = 0, fitted_upper = 1;  ///< bounds of fits, within the physical ones
    Transform transform = Transform::linear;
    std::string meaning;                           ///< one sentence
    std::function<double&(CostParameters&)> slot;  ///< the member, in base units
    bool pooled = true;                            ///< false: specific to a GPU, so fits to several GPUs skip it
    bool carries_over = false;                     ///< carried over between GPUs by hardware facts; rows of one GPU change it little
    std::optional<MathUnit> math_unit{};           ///< used only by kernels on this unit
    bool of_machine = false;                       ///< a time factor, set only by fits that refine another fit

    [[nodiscard]] double get(const CostParameters& p) const { return slot(const_cast<CostParameters&>(p)) / scale; }
    void set(CostParameters& p, double in_unit) const { slot(p) = in_unit * scale; }
};

/// All parameters, in the order of the TOML files; the index of a spec identifies the parameter everywhere.
const std::vector<ParameterSpec>& parameter_specs();

/// Index of the parameter called `name`; throws Error with the nearest names when there is none.
std::size_t parameter_index(std::string_view name);

/// 80 % interval of the measurements of one group: from predicted · e^lower to predicted · e^upper.
struct ResidualInterval {
    std::string op;         ///< operator class ("gemm"), "model_" and a class of whole models ("model_llm_decode"), "assembly", or "all"
    std::int64_t rows = 0;  ///< 0: assumed
    double lower = 0, upper = 0;  ///< 10 % and 90 % quantile of ln(measured / predicted) on unseen rows; for pooled fits on unseen GPUs
    Provenance provenance = Provenance::assumed;
    std::string basis{};  ///< "fit of t4", "fit of turing", "defaults"
};

/// Fitted parameters of one kernel family on a GPU or its architecture.
struct FamilyParameters {
    std::string family;  ///< name of a `KernelFamily`
    CostParameters values;
    std::vector<ResidualInterval> intervals{};
};

/// Values of all parameters, and the source of each.
struct ParameterSet {
    CostParameters values;
    std::vector<Provenance> provenance;         ///< by spec index
    std::vector<std::string> source;            ///< by spec index: citation, file or "assumed: reason"
    std::vector<ResidualInterval> intervals{};  ///< least trusted first; empty: unknown
    std::vector<FamilyParameters> families{};   ///< replace `values` for kernels of these families
};

}  // namespace roofcast
