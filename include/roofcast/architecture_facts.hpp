#pragma once
/// What chips of one architecture have in common: facts of `gpus/arch/<architecture>.toml`.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/precision.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

struct ComputeCapability {
    int major = 0, minor = 0;
    friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

/// Lowest and highest bandwidth of devices with one type of memory.
struct MemoryTypeBandwidth {
    std::string type;
    BytesPerSecond lowest, highest;
};

/// What a kind of memory and its interface draw without traffic.
struct MemoryTypeIdlePower {
    std::string type;      ///< how types begin: "GDDR" for GDDR6X; the longest that fits counts
    JoulesPerByte energy;  ///< power over bandwidth
};

/// The most GPUs of one form factor that a machine usually takes.
struct FormFactorMachine {
    std::string form_factor;  ///< how its name begins: "PCIe" for "PCIe single-slot"; the longest that fits counts; "other": any
    std::int64_t gpus = 1;
};

/// What the GPUs of an architecture lie within.
struct GpuRanges {
    double fewest_sms = 0, most_sms = 0;
    Hertz lowest_boost_clock, highest_boost_clock;
    Watts least_power_per_sm, most_power_per_sm;  ///< board power over SMs
    BytesPerSecond least_bandwidth_per_sm, most_bandwidth_per_sm;
};

/// Rows that lie so far apart in memory that an SM fetches them slowly.
struct FarRows {
    double fetch_cycles = 0;  ///< of an SM for 32 bytes of a row of `length` and more; in proportion below
    Bytes length;
    double rows = 0;  ///< of an operand that cost as much each; of fewer, which blocks share, in proportion
};

/// What kernels compute with of an architecture's facts.
struct ArchitectureFigures {
    std::optional<ComputeCapability> default_capability;       ///< taken when a minimal profile states none
    double fp32_units_per_sm = 0;                              ///< a core does one multiply-add, two FLOPs, per clock
    double integer_units_per_sm = 0;                           ///< an instruction a clock each; 0: not known
    std::array<double, precision_count> vector_ratio{};        ///< rate on CUDA cores to fp32's; 0: no such arithmetic
    double tensor_flops_per_sm_clock = 0;                      ///< tensor cores on 16-bit inputs, dense; 0: none
    std::array<double, precision_count> tensor_ratio{};        ///< rate on tensor cores to that one; 0: no such inputs
    std::array<double, precision_count> wide_tensor_ratio{};   ///< fp32, fp64 on tensor cores, to the FP32 cores
    std::array<bool, precision_count> half_rate_accumulate{};  ///< may run at half rate with fp32 accumulation (GeForce)
    double sparse_ratio = 1;                                   ///< rate on structured sparse inputs, which vendors quote too, to dense
    Hertz boost_clock, tensor_clock;                           ///< of the typical chip
    double base_clock_ratio = 0;                               ///< base to boost clock
    Bytes l2_per_sm, shared_memory_per_sm, registers_per_sm;
    Bytes shared_memory_per_clock;  ///< that an SM's CUDA cores read or write in a clock; 0: not known
    double threads_per_sm = 0;      ///< that an SM holds at once
    Bytes l1_per_sm;                ///< cache of loads from memory
    int l2_partitions = 1;          ///< of L2, each of which holds a copy of what its SMs read
    double warp_mma_fraction = 1;   ///< of the tensor cores' peak that single-warp MMA instructions reach (mma.sync)
    FarRows far_rows;               ///< no slower than others where the architecture says nothing
    bool rows_in_turn = false;      ///< few rows on SIMT units take at most the kernel for one row, row by row
    double switch_reduction = 0;    ///< of a link's bandwidth that an all-reduce in NVLink's switches reaches; 0: they do not add
    int pcie_generation = 0;
    double process_nm = 0;                         ///< of the chips' manufacturing process, as it is named
    double watts_per_fp32_tflops = 0;              ///< board power over fp32 vector peak
    std::optional<double> idle_fraction;           ///< of TDP that GPUs draw at full clocks without work, besides what their memory draws
    std::optional<double> usable_memory_fraction;  ///< of memory that the driver, or what shares it, leaves to programs
};

/// What chips of one architecture and compute capability have in common, from `[typical]` of `gpus/arch/<architecture>.toml`. Fills in
/// minimal profiles; `check_gpu_profile` holds profiles to it.
struct ArchitectureFacts : ArchitectureFigures {
    std::string file, source, vendor;
    std::optional<GpuRanges> gpu_ranges;  ///< absent: too few GPUs are known
    std::string kernels_of;               ///< architecture whose kernels libraries run on these chips too; empty: they have their own
    std::vector<MemoryTypeIdlePower> idle_powers;
    std::vector<MemoryTypeBandwidth> memory_types;
    std::vector<FormFactorMachine> machines;
};

}  // namespace roofcast
