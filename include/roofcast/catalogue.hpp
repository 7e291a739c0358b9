#pragma once
/// The shipped GPUs, models and software by name: all that a program needs to ask for predictions.
///
///     const auto catalogue = roofcast::Catalogue::shipped();
///     const roofcast::Run run{.batch = 8, .precision = roofcast::Precision::bf16};
///     const auto p = roofcast::predict(catalogue.model("llama-3.1-8b"), catalogue.gpu("h200"), run);
///     p.tpot->in(roofcast::ms);  // time for each output token

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// A GPU with its shipped fits and the libraries of its architecture, as `cost` takes it, and the software that may run on it.
struct CatalogueGpu : Gpu {
    std::shared_ptr<const SoftwareStacks> software;  ///< never null
};

/// A folder of data: `gpus/`, `software/` and `models/`. Copies share what was read.
class Catalogue {
public:
    /// The folder that ROOFCAST_DATA names, else the one next to the program's build or install, else the current one. Throws Error when
    /// none of them holds the data, and as the readers of `software/` do.
    static Catalogue shipped();

    /// Throws Error when `folder` does not hold the data, and as the readers of `software/` do.
    explicit Catalogue(std::filesystem::path folder);

    /// By id, name or alias in any case, or the file of a profile. Throws Error that names the nearest ones when there is none.
    [[nodiscard]] CatalogueGpu gpu(std::string_view id_or_file) const;

    /// By id, alias or hub id in any case, or a TOML file or config.json. Throws Error that names the nearest ones when there is none.
    [[nodiscard]] Workload model(std::string_view id_or_file) const;

    /// Profiles of all GPUs, by id.
    [[nodiscard]] std::vector<GpuProfile> gpus() const;

    [[nodiscard]] const SoftwareStacks& software() const { return *software_; }

private:
    std::filesystem::path folder_;
    std::shared_ptr<const SoftwareStacks> software_;
};

/// Predicts one run with the software of the catalogue. Throws Error as `completed` does.
Prediction predict(const Workload& workload, const CatalogueGpu& gpu, const Run& run);

}  // namespace roofcast
