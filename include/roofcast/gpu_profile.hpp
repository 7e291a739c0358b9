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

#include "roofcast/architecture_facts.hpp"
#include "roofcast/caller.hpp"
#include "roofcast/cost_parameters.hpp"
#include "roofcast/library_facts.hpp"
#include "roofcast/pcie_topology.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/run.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// Kind of seller: the `kind` of gpus/providers.csv. Prices of different kinds are not comparable.
enum class ProviderKind {
    hyperscaler,  ///< AWS, Azure, GCP
    specialized,  ///< GPU clouds with their own data centers
    community,    ///< machines of private owners, through a marketplace
    retail        ///< a purchase
};
std::string_view name(ProviderKind kind);
/// nullopt when unknown. Accepts "specialised" too.
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
    std::optional<double> relative_error;  ///< nine of ten GPUs lie within this fraction of the value; absent: not a number, or unknown
};

/// Reason for a value that differs from what `gpu check` expects.
struct Explanation {
    std::string key;  ///< "fp16_tensor_tflops"
    std::string reason;
};

/// Traffic of a streaming kernel.
enum class Traffic {
    read,    ///< mostly reads: weights, KV cache
    copied,  ///< about as many writes as reads
};

/// Latest generation of PCI Express whose bandwidth is known.
inline constexpr int newest_pcie = 6;

/// Cost of inline ECC, which stores check bits among the data: a sixteenth of the capacity, and traffic over that of data, which is as
/// much when data is read. Copies pay for writes also: lattice-Boltzmann steps reach 0.74 of the data sheet's bandwidth on A40 and A10, and
/// 0.88 on RTX A6000 and A5000, which have the same chips and ECC off (docs/model/memory.md).
inline constexpr double inline_ecc_of_capacity = 1.0 / 16, inline_ecc_of_reads = 1.0 / 16, inline_ecc_of_copies = 0.19;

/// Facts of a device that kernel models use. Peaks are dense, at boost clock.
struct GpuFigures {
    std::optional<ComputeCapability> compute_capability;  ///< NVIDIA only
    int release_year = 0;

    std::int64_t sm_count = 0;  ///< streaming multiprocessors, compute units or cores
    Hertz boost_clock, base_clock;
    Hertz peak_clock, tensor_clock;  ///< clocks at which the vector and the tensor peaks are quoted; the boost clock if not stated
    Hertz sustained_clock;           ///< clock under load if power allows; 0: not known to exceed the boost clock
    double fp32_units_per_sm = 0;
    std::array<std::optional<FlopsPerSecond>, precision_count> vector_peak{};  ///< CUDA cores: fp64, fp32, fp16, bf16; int8: dp4a
    std::array<std::optional<FlopsPerSecond>, precision_count>
        tensor_peak{};                                   ///< tensor cores, with the accumulation that frameworks use by default
    std::optional<FlopsPerSecond> fp16_accumulate_peak;  ///< fp16 tensor with fp16 accumulation, where it is faster (GeForce)
    std::optional<FlopsPerSecond> fp8_accumulate_peak;   ///< fp8 tensor with fp16 accumulation, where it is faster (GeForce)

    std::optional<Bytes> capacity;  ///< memory size (a data sheet's GB are 2^30 bytes); absent for CPUs with pluggable memory
    BytesPerSecond bandwidth;
    double delivered_fraction = 1;  ///< achieved fraction of `bandwidth`, relative to Volta and later
    bool inline_ecc = false;        ///< check bits are stored among the data and take bandwidth (GDDR with ECC on)
    Bytes l2;
    Bytes shared_memory_per_sm, registers_per_sm;

    bool nvlink_switch = false;                ///< switches connect all GPUs of a machine; false: bridges
    std::optional<std::int64_t> nvlink_gpus;   ///< GPUs per NVLink bridge, further ones use PCIe; absent: all of a machine
    std::optional<BytesPerSecond> nvlink;      ///< total of both directions; Infinity Fabric on AMD
    int pcie_generation = 0, pcie_lanes = 16;  ///< 1 to `newest_pcie`, 1 to 256
    std::int64_t gpus_per_machine = 8;         ///< most GPUs in one machine
    PcieTopology pcie = PcieTopology::host;    ///< of its machines, unless a run overrides it
    double process_nm = 0;                     ///< nominal process node in nm: 7 for TSMC N7
    Watts tdp;
    Watts idle;                      ///< board power at full clocks while no kernel runs
    bool thermally_limited = false;  ///< measured below base clock under sustained load
};

/// Facts of one device, from `gpus/<id>.toml`.
struct GpuProfile : GpuFigures {
    std::string id, name, vendor, architecture;  ///< architecture in lower case with hyphens: "ada", "blackwell"
    std::vector<std::string> aliases;            ///< other names of this device
    std::vector<std::string> also_called;        ///< names that resolve to another device by default
    std::string changed_from;                    ///< id of the GPU whose fits and prices it has, where it has none of its own; may be empty
    std::string file;                            ///< where it was read from
    std::string form_factor, source, notes;
    std::string sustained_clock_source;
    std::string memory_type;
    std::string delivered_source;
    std::string gpus_per_machine_source;  ///< begins with "assumed" when no source states it for this device
    std::string pcie_source;              ///< begins with "assumed" when no source states it for its machines
    std::string idle_source;
    std::vector<Price> prices;
    std::vector<Assumption> assumed;
    std::vector<Explanation> explained;
    ArchitectureFacts facts;
    LibraryFacts libraries{};  ///< set by `as_software_sees` and `with_libraries`; profiles have none

    /// Id of the GPU that it is, or is a changed copy of.
    [[nodiscard]] const std::string& origin() const { return changed_from.empty() ? id : changed_from; }

    /// The architecture whose library kernels and fits are used: its own unless the architecture's facts name another.
    [[nodiscard]] const std::string& kernel_architecture() const { return facts.kernels_of.empty() ? architecture : facts.kernels_of; }

    /// Peak of a GEMM: on tensor cores when `p` has them, else on CUDA cores; nullopt when the GPU has neither.
    [[nodiscard]] std::optional<FlopsPerSecond> matmul_peak(Precision p) const;
    /// Peak of element-wise arithmetic in `p` (FP32 cores when the format has no CUDA cores of its own).
    [[nodiscard]] FlopsPerSecond vector_rate(Precision p) const;
    /// The unit that a GEMM in `p` runs on.
    [[nodiscard]] MathUnit math_unit(Precision p) const;
    /// Whether it has `unit`: always for CUDA cores, else if a format runs on it.
    [[nodiscard]] bool has_unit(MathUnit unit) const;
    [[nodiscard]] bool supports(Precision p) const { return matmul_peak(p).has_value(); }
    /// Achieved bandwidth of data: the data sheet's, less losses of the memory controller and traffic of check bits.
    [[nodiscard]] BytesPerSecond data_bandwidth(Traffic traffic) const {
        const double check_bits = traffic == Traffic::read ? inline_ecc_of_reads : inline_ecc_of_copies;
        return bandwidth * (delivered_fraction / (inline_ecc ? 1 + check_bits : 1));
    }
    /// Capacity without inline check bits; nullopt when the capacity is not known.
    [[nodiscard]] std::optional<Bytes> data_capacity() const {
        if (!capacity) return std::nullopt;
        return (inline_ecc ? 1 - inline_ecc_of_capacity : 1) * *capacity;
    }
    /// Memory that the driver leaves to programs (docs/model/memory.md).
    [[nodiscard]] std::optional<Bytes> usable_memory() const {
        const auto data = data_capacity();
        return data ? std::optional(facts.usable_memory_fraction.value_or(1) * *data) : std::nullopt;
    }
    /// Whether NVLink connects this many GPUs of a machine. Bridges connect only a few.
    [[nodiscard]] bool over_nvlink(std::int64_t gpus) const { return nvlink.has_value() && gpus <= nvlink_gpus.value_or(gpus); }
    /// How this many GPUs of a machine are connected: "NVLink switches", "NVLink bridge", "PCIe 4.0 x16", "PCIe 5.0 x16 switches"; empty
    /// for one.
    [[nodiscard]] std::string topology(std::int64_t gpus) const;
    /// L2 for data that all SMs read.
    [[nodiscard]] Bytes shared_l2() const { return l2 / static_cast<double>(facts.l2_partitions); }
    /// Sustained clock over the boost clock at which peaks are quoted: 1 or slightly more.
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
    Caller caller{};                      ///< software that calls the kernels (`as_software_sees`)
    std::vector<GpuOfFamily> families{};  ///< set by `as_software_sees`: the first family that accepts an operator runs it
};

/// `p` if `gpu` supports it, else the nearest supported format by range and accuracy; `p` again if none is near.
Precision nearest_precision(const GpuProfile& gpu, Precision p);

/// Throws Error unless `gpu` supports `p`; the message lists the supported formats and the nearest.
void require_precision(const GpuProfile& gpu, Precision p);

/// Throws Error unless the GPUs of one model copy fit into one machine. Data-parallel copies may use several machines, unless expert
/// parallelism spans them.
void require_one_machine(const Parallelism& parallel, const GpuProfile& gpu);

/// GPUs of the largest group of `parallel` that exchanges data over PCIe: a tensor- or expert-parallel group, or two pipeline stages.
/// 1: none does.
std::int64_t gpus_over_pcie(const Parallelism& parallel, const GpuProfile& gpu);

/// Reads and checks one profile, full or minimal. Architecture facts come from `gpus_folder`/arch; when that is empty, from arch/ next to
/// `file`, else from the shipped data. Throws Error naming file, line and key.
GpuProfile load_gpu_profile(const std::filesystem::path& file, const std::filesystem::path& gpus_folder = {});

/// Ids of the profiles of a folder, by file.
std::vector<std::string> gpu_ids(const std::filesystem::path& gpus_folder);

/// All profiles of a folder, by id, with the prices of its prices.csv. Throws Error on the first bad file or duplicate id or alias.
std::vector<GpuProfile> load_gpu_catalogue(const std::filesystem::path& gpus_folder);

/// Result of resolving an id, alias or path given by a user.
struct GpuChoice {
    std::filesystem::path file;
    std::string note;  ///< "v100 is ambiguous: took v100-sxm2-16gb (others: …)"; empty if unambiguous
};

/// "RTX 4090" of "GeForce RTX 4090", as drivers name GPUs; empty where no maker stands first.
std::string_view without_maker(std::string_view name);

/// Resolves `id_or_file` in `gpus_folder`. Throws Error with the nearest names when unknown.
GpuChoice choose_gpu(const std::filesystem::path& gpus_folder, std::string_view id_or_file);

/// Architecture name of files that serve all architectures.
inline constexpr std::string_view default_architecture = "_default";

/// Path `gpus_folder`/arch/<architecture>.toml: facts and default parameters. The file may not exist.
std::filesystem::path architecture_file(const std::filesystem::path& gpus_folder, std::string_view architecture);

/// Path of a GPU's fit: fits/<id>.fit.toml.
std::filesystem::path gpu_fit_file(const std::filesystem::path& gpus_folder, std::string_view id);
/// Path of a kernel family's fit: fits/<id>/<family>.fit.toml.
std::filesystem::path family_fit_file(const std::filesystem::path& gpus_folder, std::string_view id, std::string_view family);
/// Path of the fit of an architecture, or of all: fits/arch/<architecture>.fit.toml.
std::filesystem::path architecture_fit_file(const std::filesystem::path& gpus_folder, std::string_view architecture);

/// Whether `file` is in the folder of architecture files.
bool is_of_architecture(const std::filesystem::path& file);

/// Whether a changed GPU may come from `id`: a profile of `gpus_folder` has this id, or a fit of it or of `user_fits` is named after it.
bool is_known_origin(const std::filesystem::path& gpus_folder, const std::filesystem::path& user_fits, const std::string& id);

/// Parameters for a profile: architecture defaults, then the architecture's fit, then the GPU's own fit, where the files exist. Fits in
/// `user_fits`, a folder laid out as `gpus_folder` (empty: none), replace the shipped ones. `families`: names of the kernel
/// families whose fits are read (`SoftwareStacks::families_of`); absent: all. Throws Error where `changed_from` is no known GPU.
ParameterSet load_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile,
                             const std::filesystem::path& user_fits = {},
                             const std::optional<std::vector<std::string>>& families = std::nullopt);

/// The same, with the fit file `own_fit` instead of the GPU's own.
ParameterSet load_parameters_with(const std::filesystem::path& gpus_folder, const GpuProfile& profile,
                                  const std::filesystem::path& own_fit);

/// Whether the fit in `file` was made or refined by a user. Throws Error when the file cannot be read.
bool is_refined_fit(const std::filesystem::path& fit_file);

/// The same, without the GPU's own fit and without parameters that the architecture's fit took from whole models. A calibration
/// starts here for parameters without kernel rows.
ParameterSet load_architecture_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile);

/// The same, without any fit: the start of a calibration.
ParameterSet load_unfitted_parameters(const std::filesystem::path& gpus_folder, const GpuProfile& profile);

/// Default parameters for any GPU, without those of its architecture, which may rest on measurements of the GPU itself.
ParameterSet load_neutral_parameters(const std::filesystem::path& gpus_folder);

/// Reads a file of parameters, `<name>.fit.toml` or `arch/<architecture>.toml`, and returns how many it sets. Throws Error naming file,
/// line and key of a parameter that is unknown, outside its physical bounds, or outside the bounds that the file itself gives.
std::size_t check_parameter_file(const std::filesystem::path& file);

/// The parameters that `file` would give if it held `text`.
ParameterSet parameters_in_fit(std::string_view text, const std::filesystem::path& file);

/// The residual intervals of a fit file. Throws Error as other readers do.
std::vector<ResidualInterval> load_residual_intervals(const std::filesystem::path& fit_file);

/// Resolves, loads the profile and its parameters. Facts of libraries are added by `as_software_sees` and `with_libraries`.
Gpu load_gpu(const std::filesystem::path& gpus_folder, std::string_view id_or_file);

/// One finding of `gpu check`.
struct ProfileFinding {
    std::string key, found, expected, rule;
    bool explained = false;  ///< the profile's `[explained]` table gives the reason
    std::string reason;
};

/// Relations that data sheets obey: fp32 = 2 · CUDA cores · clock, tensor peak per SM per clock by architecture, ratios between precisions,
/// bandwidth against memory type, parameters within physical bounds.
std::vector<ProfileFinding> check_gpu_profile(const GpuProfile& profile);

}  // namespace roofcast
