#pragma once
/// A GPU's data sheet, and the GPU as the cost model sees it: facts plus tuned parameters.

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/cost_parameters.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/run_shape.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

struct ComputeCapability {
    int major = 0, minor = 0;
    friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

/// Who sells: the `kind` of gpus/providers.csv. Prices of different kinds are not alike.
enum class ProviderKind {
    hyperscaler,  ///< AWS, Azure, GCP
    specialized,  ///< clouds for GPUs with data centers of their own
    community,    ///< machines of private owners, through a marketplace
    retail        ///< a purchase
};
std::string_view name(ProviderKind kind);
/// nullopt when unknown. "specialised" is understood too.
std::optional<ProviderKind> parse_provider_kind(std::string_view text);

/// A dated price. Currency is US dollars.
struct Price {
    std::string kind;      ///< on_demand_hour, spot_hour or purchase
    std::string provider;  ///< "AWS"; empty when unknown
    std::string instance;  ///< "p3.2xlarge (us-east-1)"
    UsDollars usd;         ///< per GPU: an hour's rent, or the purchase
    std::string date;      ///< ISO 8601, as precise as known
    std::string source;
    std::optional<double> gpus_in_instance{};     ///< sold together; a fraction where a GPU is shared; absent: not known
    std::optional<ProviderKind> provider_kind{};  ///< absent: a provider that gpus/providers.csv does not list
};

/// A value that the file did not give and that was derived from the architecture.
struct Assumption {
    std::string key;    ///< "memory.l2_mb"
    std::string value;  ///< as printed, with unit
    std::string reason;
    std::optional<double> relative_error;  ///< nine of ten boards lie within this fraction of the value; absent: not a number, or unknown
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

/// What the boards of an architecture lie within.
struct BoardRanges {
    double fewest_sms = 0, most_sms = 0;
    Hertz lowest_boost_clock, highest_boost_clock;
    Watts least_power_per_sm, most_power_per_sm;  ///< board power over SMs
    BytesPerSecond least_bandwidth_per_sm, most_bandwidth_per_sm;
};

/// The tile of the only kernel that a library has for products of at most m rows and n columns.
struct ShapedTile {
    std::int64_t most_m = 0, most_n = 0;
    int rows = 0, columns = 0;
    double relative_epilogue = 1;  ///< time of the epilogue for an output over that of `epilogue_cycles`
    int cluster_rows = 0;          ///< that a cluster of thread blocks computes together, whether they are there or not; 0: each tile alone
    double padding_cost = 0;       ///< of a cluster's rows that m lacks: share of a step's time (`padding` in docs/model.md)
};

/// Libraries of fused attention, whose launchers cut the work in ways of their own.
enum class AttentionLibrary { any, flash_attention_2, flash_attention_3, flashinfer, trtllm_gen, tensorrt, cudnn };

/// Rows that lie so far apart in memory that an SM fetches them slowly.
struct FarRows {
    double fetch_cycles = 0;  ///< of an SM for 32 bytes of a row of `length` and more; in proportion below
    Bytes length;
    double rows = 0;  ///< of an operand that cost as much each; of fewer, which blocks share, in proportion
};

/// What chips of one architecture and compute capability have in common, from `[typical]` of `gpus/arch/<architecture>.toml`. Fills in
/// minimal profiles; `check_gpu_profile` holds profiles to it.
struct ArchitectureFacts {
    std::string file, source, vendor;
    std::optional<ComputeCapability> default_capability;       ///< taken when a minimal profile states none
    double fp32_lanes_per_sm = 0;                              ///< a lane does one multiply-add, two FLOPs, per clock
    double integer_lanes_per_sm = 0;                           ///< an instruction a clock each; 0: not known
    std::array<double, precision_count> vector_ratio{};        ///< rate on SIMT lanes to fp32's; 0: no such arithmetic
    double tensor_flops_per_sm_clock = 0;                      ///< matrix units on 16-bit inputs, dense; 0: none
    std::array<double, precision_count> tensor_ratio{};        ///< rate on matrix units to that one; 0: no such inputs
    std::array<double, precision_count> wide_tensor_ratio{};   ///< fp32, fp64 on matrix units, to the fp32 lanes
    std::array<bool, precision_count> half_rate_accumulate{};  ///< may run at half rate with fp32 accumulation (GeForce)
    double sparse_ratio = 1;                                   ///< rate on structured sparse inputs, which vendors quote too, to dense
    std::optional<BoardRanges> boards;                         ///< absent: too few boards are known
    Hertz boost_clock, tensor_clock;                           ///< of the typical chip
    double base_clock_ratio = 0;                               ///< base to boost clock
    Bytes l2_per_sm, shared_memory_per_sm, registers_per_sm;
    Bytes shared_memory_per_clock;                                         ///< that an SM's lanes read or write in a clock; 0: not known
    double threads_per_sm = 0;                                             ///< that an SM holds at once
    Bytes l1_per_sm;                                                       ///< cache of loads from memory
    int l2_partitions = 1;                                                 ///< of L2, each of which holds a copy of what its SMs read
    std::array<AttentionLibrary, cache_format_count> attention_library{};  ///< of serving engines, by format of the KV cache
    int attention_query_block = 128;  ///< queries of one head that a thread block of fused attention takes, of heads up to 128 wide
    std::array<std::vector<std::int64_t>, cache_format_count> attention_general_dims;  ///< head widths that only a general kernel takes
    int least_tile_rows = 0;                 ///< of products on matrix units, by the software's library; 0: any
    double warp_matrix_fraction = 1;         ///< of the matrix units' peak that instructions of single warps reach (mma.sync)
    std::array<int, 2> batched_lane_tile{};  ///< rows and columns of the library's only one for batched products on SIMT lanes; 0: several
    FarRows far_rows;                        ///< no slower than others where the architecture says nothing
    int linear_lane_rows = 128;              ///< rows of the lowest large tile that it runs for linear layers on them: 64 or 128
    bool rows_in_turn = false;               ///< few rows on SIMT units take at most the kernel for one row, row by row
    std::vector<ShapedTile> expert_tiles;    ///< of serving engines' kernels for experts, by tokens; empty: the fastest tile of many
    std::vector<ShapedTile> fp8_tiles;       ///< of serving engines' fp8 products, the first that fits; empty: the fastest tile of many
    bool quantizes_by_tensors = false;       ///< activations: two kernels find one scale and apply it; else one kernel scales each row
    Seconds fp8_single_row;                  ///< that these products of one row take longer than those of two
    std::string kernels_of;                  ///< architecture whose kernels libraries run on these chips too; empty: they have their own
    double switch_reduction = 0;             ///< of a link's bandwidth that an all-reduce in NVLink's switches reaches; 0: they do not add
    int pcie_generation = 0;
    double process_nm = 0;                         ///< of the chips' manufacturing process, as it is named
    double watts_per_fp32_tflops = 0;              ///< board power over fp32 vector peak
    std::optional<double> idle_fraction;           ///< of TDP that boards draw at full clocks without work, besides what their memory draws
    std::optional<double> usable_memory_fraction;  ///< of memory that the driver, or what shares it, leaves to programs
    std::vector<MemoryTypeIdlePower> idle_powers;
    std::vector<MemoryTypeBandwidth> memory_types;
    std::vector<FormFactorMachine> machines;
};

/// Reason for a value that differs from what `gpu check` expects.
struct Explanation {
    std::string key;  ///< "fp16_tensor_tflops"
    std::string reason;
};

/// What DRAM does most while a kernel streams.
enum class Traffic {
    read,    ///< nearly all bytes are read: weights, KV cache
    copied,  ///< about as many are written as read
};

/// Latest generation of PCI Express whose bandwidth is known.
inline constexpr int newest_pcie = 6;

/// What check bits take where inline ECC keeps them among the data: a sixteenth of the capacity, and traffic over that of data, which is as
/// much when data is read. Copies pay for writes also: lattice-Boltzmann steps reach 0.74 of the data sheet's bandwidth on A40 and A10, and
/// 0.88 on RTX A6000 and A5000, which have the same chips and ECC off (docs/inline_ecc.md).
inline constexpr double inline_ecc_of_capacity = 1.0 / 16, inline_ecc_of_reads = 1.0 / 16, inline_ecc_of_copies = 0.19;

/// Facts of one device, from `gpus/<id>.toml`. Peaks are dense and at boost clock.
struct GpuProfile {
    std::string id, name, vendor, architecture;           ///< architecture in lower case with hyphens: "ada", "blackwell"
    std::vector<std::string> aliases;                     ///< names that stand for this device
    std::vector<std::string> also_called;                 ///< names it shares with the device that takes them by default
    std::string file;                                     ///< where it was read from
    std::optional<ComputeCapability> compute_capability;  ///< NVIDIA only
    int release_year = 0;
    std::string form_factor, source, notes;

    std::int64_t sm_count = 0;  ///< streaming multiprocessors, compute units or cores
    Hertz boost_clock, base_clock;
    Hertz peak_clock, tensor_clock;  ///< clocks at which the vector and the tensor peaks are quoted; the boost clock if not stated
    Hertz sustained_clock;           ///< that boards hold under load where power allows; 0 where it is not known to exceed the boost clock
    std::string sustained_clock_source;
    double fp32_lanes_per_sm = 0;
    std::array<std::optional<FlopsPerSecond>, precision_count> vector_peak{};  ///< SIMT lanes: fp64, fp32, fp16, bf16; int8: dp4a
    std::array<std::optional<FlopsPerSecond>, precision_count>
        tensor_peak{};                                   ///< matrix units, widest accumulation offered as default by frameworks
    std::optional<FlopsPerSecond> fp16_accumulate_peak;  ///< fp16 tensor with fp16 accumulation, where it is faster (GeForce)
    std::optional<FlopsPerSecond> fp8_accumulate_peak;   ///< fp8 tensor with fp16 accumulation, where it is faster (GeForce)

    std::optional<Bytes> capacity;  ///< of the chips: a data sheet's GB are of 2^30 bytes; absent for sockets with pluggable memory
    std::string memory_type;
    BytesPerSecond bandwidth;
    double delivered_fraction = 1;  ///< of `bandwidth` that the memory controller delivers, over what those of Volta and later deliver
    std::string delivered_source;
    bool inline_ecc = false;  ///< check bits lie among the data, and their traffic takes bandwidth (GDDR with ECC on)
    Bytes l2;
    Bytes shared_memory_per_sm, registers_per_sm;

    bool nvlink_switch = false;                ///< all GPUs of a machine reach each other through switches, not over bridges
    std::optional<std::int64_t> nvlink_gpus;   ///< that a bridge joins, more reach each other over PCIe; absent: all of a machine
    std::optional<BytesPerSecond> nvlink;      ///< total of both directions; Infinity Fabric on AMD
    int pcie_generation = 0, pcie_lanes = 16;  ///< 1 to `newest_pcie`, 1 to 256
    std::int64_t gpus_per_machine = 8;         ///< the most that one machine joins: between machines there is a network
    std::string gpus_per_machine_source;       ///< begins with "assumed" where nothing says so of this device
    double process_nm = 0;                     ///< of the chip's manufacturing process, as it is named: 7 for TSMC N7
    Watts tdp;
    Watts idle;  ///< of the board at full clocks while no kernel runs
    std::string idle_source;
    bool thermally_limited = false;  ///< measured below base clock under sustained load

    std::vector<Price> prices;
    std::vector<Assumption> assumed;
    std::vector<Explanation> explained;
    ArchitectureFacts facts;

    /// Peak of a matrix product: on matrix units when `p` has them, else on SIMT lanes; nullopt when the GPU has neither.
    [[nodiscard]] std::optional<FlopsPerSecond> matmul_peak(Precision p) const;
    /// Peak of element-wise arithmetic in `p` (fp32 lanes when the format has no lanes of its own).
    [[nodiscard]] FlopsPerSecond vector_rate(Precision p) const;
    /// The unit that a matrix product in `p` runs on.
    [[nodiscard]] MathUnit math_unit(Precision p) const;
    /// Whether it has `unit`: lanes always, others where a format runs on them.
    [[nodiscard]] bool has_unit(MathUnit unit) const;
    [[nodiscard]] bool supports(Precision p) const { return matmul_peak(p).has_value(); }
    /// What reaches the chip as data: the data sheet's bandwidth less what the memory controller and check bits take.
    [[nodiscard]] BytesPerSecond data_bandwidth(Traffic traffic) const {
        const double check_bits = traffic == Traffic::read ? inline_ecc_of_reads : inline_ecc_of_copies;
        return bandwidth * (delivered_fraction / (inline_ecc ? 1 + check_bits : 1));
    }
    /// The capacity less check bits, where these lie among the data; nullopt where there is none.
    [[nodiscard]] std::optional<Bytes> data_capacity() const {
        if (!capacity) return std::nullopt;
        return (inline_ecc ? 1 - inline_ecc_of_capacity : 1) * *capacity;
    }
    /// What the driver leaves of that to programs (docs/usable_memory.md).
    [[nodiscard]] std::optional<Bytes> usable_memory() const {
        const auto data = data_capacity();
        return data ? std::optional(facts.usable_memory_fraction.value_or(1) * *data) : std::nullopt;
    }
    /// Whether so many GPUs of a machine reach each other over NVLink: bridges join few.
    [[nodiscard]] bool over_nvlink(std::int64_t gpus) const { return nvlink.has_value() && gpus <= nvlink_gpus.value_or(gpus); }
    /// How so many GPUs of a machine are joined: "NVLink switches", "NVLink bridge", "PCIe 4.0 x16"; empty for one.
    [[nodiscard]] std::string topology(std::int64_t gpus) const;
    /// L2 for data that all SMs read.
    [[nodiscard]] Bytes shared_l2() const { return l2 / static_cast<double>(facts.l2_partitions); }
    /// How far above the boost clock, at which peaks are quoted, boards run: 1 or a little more.
    [[nodiscard]] double clock_headroom() const { return sustained_clock > Hertz{} ? sustained_clock / boost_clock : 1; }
};

struct Gpu;
struct KernelFamily;

/// A GPU as kernels of one family see it.
struct GpuOfFamily {
    std::shared_ptr<const KernelFamily> family;
    std::shared_ptr<const Gpu> gpu;
};

/// A GPU ready for prediction.
struct Gpu {
    GpuProfile profile;
    ParameterSet parameters;
    std::vector<GpuOfFamily> families{};  ///< of the software in use (`with_software`): the first that takes an operator runs it
};

/// `p` where `gpu` can multiply in it, else the nearest format that it has, in range and accuracy first; `p` again when none is near.
Precision nearest_precision(const GpuProfile& gpu, Precision p);

/// Throws Error unless `gpu` can multiply in `p`; the message lists what it has and offers the nearest.
void require_precision(const GpuProfile& gpu, Precision p);

/// Throws Error unless the GPUs that one copy of a model runs on fit into a machine. Data-parallel copies are independent and may lie in
/// several machines, unless expert parallelism spans them.
void require_one_machine(const Parallelism& parallel, const GpuProfile& gpu);

/// Reads and checks one profile, full or minimal. Architecture facts come from `gpus_folder`/arch; when that is empty, from arch/ beside
/// `file`, else from the shipped data. Throws Error naming file, line and key.
GpuProfile load_gpu_profile(const std::filesystem::path& file, const std::filesystem::path& gpus_folder = {});

/// All profiles of a folder, by id, with the prices of its prices.csv. Throws Error on the first bad file or duplicate id or alias.
std::vector<GpuProfile> load_gpu_catalogue(const std::filesystem::path& gpus_folder);

/// What an id, alias or path given by a user stands for.
struct GpuChoice {
    std::filesystem::path file;
    std::string note;  ///< "v100 is ambiguous: took v100-sxm2-16gb (others: …)"; empty when there is nothing to say
};

/// Resolves `id_or_file` in `gpus_folder`. Throws Error with the nearest names when unknown.
GpuChoice choose_gpu(const std::filesystem::path& gpus_folder, std::string_view id_or_file);

/// What stands in an architecture's place where a file serves all of them.
inline constexpr std::string_view default_architecture = "_default";

/// `gpus_folder`/arch/<architecture>.toml, facts and hand values; whether or not it exists.
std::filesystem::path architecture_file(const std::filesystem::path& gpus_folder, std::string_view architecture);

/// Where the fit of a GPU lies: fits/<id>.fit.toml.
std::filesystem::path gpu_fit_file(const std::filesystem::path& gpus_folder, std::string_view id);
/// The same of a kernel family's fit: fits/<id>/<family>.fit.toml.
std::filesystem::path family_fit_file(const std::filesystem::path& gpus_folder, std::string_view id, std::string_view family);
/// The same of the fit to GPUs of an architecture, or of all: fits/arch/<architecture>.fit.toml.
std::filesystem::path architecture_fit_file(const std::filesystem::path& gpus_folder, std::string_view architecture);

/// Whether `file` lies where files of architectures do.
bool is_of_architecture(const std::filesystem::path& file);

/// Parameters for a profile: architecture defaults, then the architecture's fit, then the GPU's own fit, where the files exist. Fits in
/// `user_fits`, a folder laid out as `gpus_folder` (empty: none), stand in place of the shipped ones.
ParameterSet load_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile,
                             const std::filesystem::path& user_fits = {});

/// The same with the fit in `own_fit`, a file, in place of the GPU's own.
ParameterSet load_parameters_with(const std::filesystem::path& gpus_folder, const GpuProfile& profile,
                                  const std::filesystem::path& own_fit);

/// Whether a user made the fit in `file`, or refined a shipped one to it. Throws Error when the file cannot be read.
bool is_refined_fit(const std::filesystem::path& fit_file);

/// The same without the GPU's own fit and what whole models told the architecture's, of which its own may be some: where a calibration
/// starts for what the GPU has no kernels of.
ParameterSet load_architecture_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile);

/// The same without any fit: where a calibration starts.
ParameterSet load_unfitted_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile);

/// Hand values for any GPU, without those of its architecture, which may know measurements of the GPU itself.
ParameterSet load_neutral_parameters(const std::filesystem::path& gpus_folder);

/// Reads a file of parameters, `<name>.fit.toml` or `arch/<architecture>.toml`, and returns how many it sets. Throws Error naming file,
/// line and key of a parameter that is unknown, outside its physical bounds, or outside the bounds that the file itself gives.
std::size_t check_parameter_file(const std::filesystem::path& file);

/// The same of `text`, which is to be written to `file`; the parameters as `file` would give them.
ParameterSet parameters_in_fit(std::string_view text, const std::filesystem::path& file);

/// The residual intervals of a fit file. Throws Error as other readers do.
std::vector<ResidualInterval> load_residual_intervals(const std::filesystem::path& fit_file);

/// choose + load profile + load parameters.
Gpu load_gpu(const std::filesystem::path& gpus_folder, std::string_view id_or_file);

/// One finding of `gpu check`.
struct ProfileFinding {
    std::string key, found, expected, rule;
    bool explained = false;  ///< the profile's `[explained]` table gives the reason
    std::string reason;
};

/// Relations that data sheets obey: fp32 = 2 · lanes · clock, tensor peak per SM per clock by architecture, ratios between precisions,
/// bandwidth against memory type, parameters within physical bounds.
std::vector<ProfileFinding> check_gpu_profile(const GpuProfile& profile);

}  // namespace roofcast
