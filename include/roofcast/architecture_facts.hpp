#pragma once
/// Facts common to the chips of one architecture: `gpus/arch/<architecture>.toml`.

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

/// Idle power of a type of memory and its interface.
struct MemoryTypeIdlePower {
    std::string type;      ///< prefix of the type: "GDDR" for GDDR6X; the longest match wins
    JoulesPerByte energy;  ///< idle power per bandwidth
};

/// Usual largest number of GPUs of one form factor in a machine.
struct FormFactorMachine {
    std::string form_factor;  ///< prefix of its name: "PCIe" for "PCIe single-slot"; the longest match wins; "other": any
    std::int64_t gpus = 1;
};

/// Ranges that the figures of an architecture's GPUs lie within.
struct GpuRanges {
    double fewest_sms = 0, most_sms = 0;
    Hertz lowest_boost_clock, highest_boost_clock;
    Watts least_power_per_sm, most_power_per_sm;  ///< board power over SMs
    BytesPerSecond least_bandwidth_per_sm, most_bandwidth_per_sm;
};

/// Rows so far apart in memory that an SM fetches them slowly.
struct FarRows {
    double fetch_cycles = 0;  ///< SM cycles per 32 bytes of rows of `length` or more; in proportion below
    Bytes length;
    double rows = 0;  ///< rows of an operand at full cost; fewer rows cost in proportion
};

/// Facts of an architecture that kernel models use.
struct ArchitectureFigures {
    std::optional<ComputeCapability> default_capability;       ///< default of minimal profiles
    double fp32_units_per_sm = 0;                              ///< CUDA cores per SM; each does one multiply-add (two FLOPs) per clock
    double integer_units_per_sm = 0;                           ///< INT32 cores per SM, one instruction per clock; 0: not known
    std::array<double, precision_count> vector_ratio{};        ///< rate on CUDA cores relative to fp32; 0: not supported
    double tensor_flops_per_sm_clock = 0;                      ///< tensor cores on 16-bit inputs, dense; 0: none
    std::array<double, precision_count> tensor_ratio{};        ///< rate on tensor cores relative to 16 bits; 0: not supported
    std::array<double, precision_count> wide_tensor_ratio{};   ///< rate of fp32 and fp64 on tensor cores relative to CUDA cores
    std::array<bool, precision_count> half_rate_accumulate{};  ///< may run at half rate with fp32 accumulation (GeForce)
    double sparse_ratio = 1;                                   ///< rate with structured sparsity relative to dense
    Hertz boost_clock, tensor_clock;                           ///< of the typical chip
    double base_clock_ratio = 0;                               ///< base to boost clock
    Bytes l2_per_sm, shared_memory_per_sm, registers_per_sm;
    Bytes shared_memory_per_clock;  ///< bytes of shared memory that an SM reads or writes per clock; 0: not known
    double threads_per_sm = 0;      ///< resident threads per SM
    Bytes l1_per_sm;                ///< L1 cache size per SM
    int l2_partitions = 1;          ///< L2 partitions; each holds a copy of data that its SMs read
    double warp_mma_fraction = 1;   ///< of the tensor cores' peak that single-warp MMA instructions reach (mma.sync)
    FarRows far_rows;               ///< absent: no slower than other rows
    bool rows_in_turn = false;      ///< few rows on SIMT units take at most the kernel for one row, row by row
    double switch_reduction = 0;    ///< fraction of link bandwidth of all-reduces in NVLink switches (SHARP); 0: none
    int pcie_generation = 0;
    double process_nm = 0;                         ///< nominal process node in nm
    double watts_per_fp32_tflops = 0;              ///< board power over fp32 vector peak
    std::optional<double> idle_fraction;           ///< fraction of TDP that an idle GPU draws at full clocks, without its memory
    std::optional<double> usable_memory_fraction;  ///< fraction of memory that the driver leaves to programs
};

/// Facts common to chips of one architecture and compute capability, from `[typical]` of `gpus/arch/<architecture>.toml`. Fills in
/// minimal profiles; `check_gpu_profile` holds profiles to it.
struct ArchitectureFacts : ArchitectureFigures {
    std::string file, source, vendor;
    std::optional<GpuRanges> gpu_ranges;  ///< absent: too few GPUs are known
    std::string kernels_of;               ///< architecture whose library kernels also run on these chips; empty: their own
    std::vector<MemoryTypeIdlePower> idle_powers;
    std::vector<MemoryTypeBandwidth> memory_types;
    std::vector<FormFactorMachine> machines;
};

}  // namespace roofcast
