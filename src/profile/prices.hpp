#pragma once
/// Prices of the GPUs of a folder (prices.csv) and the kinds of those who sell them (providers.csv).

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// One row of providers.csv.
struct Provider {
    std::string name;      ///< in any case
    std::string instance;  ///< that the instance contains; empty: any
    ProviderKind kind = ProviderKind::hyperscaler;
};

struct PriceList {
    std::vector<Provider> providers;
    std::map<std::string, std::vector<Price>, std::less<>> of_gpu;  ///< by id
    std::map<std::string, int, std::less<>> first_line;             ///< of an id in prices.csv

    /// Kind in the first matching row; nullopt when none matches.
    [[nodiscard]] std::optional<ProviderKind> kind_of(std::string_view provider, std::string_view instance) const;
};

/// Both files of `gpus_folder`; empty without them. Throws Error naming file, line and column.
PriceList load_price_list(const std::filesystem::path& gpus_folder);

/// `load_gpu_profile` with the list already read.
GpuProfile load_gpu_profile(const std::filesystem::path& file, const std::filesystem::path& gpus_folder, const PriceList& prices);

}  // namespace roofcast
