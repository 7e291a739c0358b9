#pragma once
/// What a minimal profile's one peak is, and what follows from it.

#include "io/toml_reader.hpp"
#include "profile/derive.hpp"

namespace roofcast {

/// The peak of a minimal profile, and the GPUs that it is like.
struct MinimalProfile {
    SinglePeak peak;
    TypicalGpu typical;
    std::optional<GpuProfile> same;  ///< GPU with the same figures
};

/// Reads `compute_tflops` and the keys that say what it is, after memory, power, SMs and clocks. Sets compute capability and facts of `gpu`
/// to those of the GPUs that it is like. nullopt for a full profile. Throws Error at a wrong key, or when the peak may be read in two
/// ways.
std::optional<MinimalProfile> read_minimal_profile(TableReader& top, GpuProfile& gpu, const std::filesystem::path& gpus_folder);

/// Fills in what `gpu` does not state.
void derive(GpuProfile& gpu, const std::optional<MinimalProfile>& minimal);

/// What a chip or GPU can be, with room to spare on either side of all that were ever sold: a slip of the decimal point or of the unit is
/// an error, and nothing derived from these leaves the range of a double.
inline constexpr Range physical_tflops{1e-3, 1e6}, physical_clock_mhz{100, 20'000};

/// The clock at `key`; nullopt when it is absent. Throws Error when it is in another unit than MHz.
std::optional<Hertz> clock_if(TableReader& table, std::string_view key);

}  // namespace roofcast
