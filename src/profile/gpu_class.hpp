#pragma once
/// GPUs with full profiles as evidence about a board of which little is stated.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profile/prices.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// Mean and standard deviation of logarithms: of figures that differ by factors.
struct LogNormal {
    double mean = 0, deviation = 1;
    [[nodiscard]] double typical() const;         ///< the median
    [[nodiscard]] double relative_error() const;  ///< nine of ten values lie within this fraction above it, or as far below as a factor
    [[nodiscard]] double log_density(double value) const;
    [[nodiscard]] double distance(double value) const;  ///< in standard deviations
};

/// What the next value of a kind is expected to be after `values`. `usual_deviation` is that of such figures over GPUs of one kind; it
/// counts as much as four values, so that one or two GPUs do not pass for all.
LogNormal expected_after(const std::vector<double>& values, double usual_deviation);

/// GPUs that compute alike: of one compute capability, with tensor cores or without, with fp32 accumulation at full or at half rate.
struct GpuClass {
    std::vector<GpuProfile> gpus;  ///< at least one
    bool tensor_cores = false, half_rate = false;

    [[nodiscard]] LogNormal fp32_tflops() const;
    [[nodiscard]] LogNormal bandwidth_per_tflops() const;  ///< GB/s for each fp32 TFLOPS; so the next two
    [[nodiscard]] LogNormal capacity_per_tflops() const;   ///< GiB
    [[nodiscard]] LogNormal watts_per_tflops() const;
    [[nodiscard]] LogNormal clock_mhz() const;  ///< at which the fp32 peak is quoted
    [[nodiscard]] LogNormal l2_kib_per_sm() const;
    [[nodiscard]] LogNormal base_clock_ratio() const;
    [[nodiscard]] LogNormal sustained_clock_ratio() const;
};

/// Facts of one architecture that were read before.
using FactsByCapability = std::map<std::optional<ComputeCapability>, ArchitectureFacts>;

/// `load_gpu_profile` that looks for facts in `facts` first, and leaves there what it read: for several profiles of one architecture.
GpuProfile load_gpu_profile(const std::filesystem::path& file, const std::filesystem::path& gpus_folder, const PriceList& prices,
                            FactsByCapability& facts);

/// Full profiles in `gpus_folder` of GPUs of `architecture`. Profiles that cannot be read say nothing here: whoever asks for them is
/// told.
std::vector<GpuProfile> known_gpus(const std::filesystem::path& gpus_folder, const std::string& architecture);

/// The same, sorted into classes. GPUs without a memory capacity (CPU sockets) are left out.
std::vector<GpuClass> gpu_classes(std::vector<GpuProfile> gpus);

}  // namespace roofcast
