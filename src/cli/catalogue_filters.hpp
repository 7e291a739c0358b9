#pragma once
/// Filters of `gpu list` and `model list`.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "roofcast/gpu_profile.hpp"
#include "roofcast/workload.hpp"

namespace roofcast::cli {

/// As written by the user; empty: any.
struct CatalogueFilter {
    std::string vendor, architecture, family, search;
    bool measured = false;  ///< only GPUs that have a fit of their own
};

/// Adds --vendor, --architecture, --measured and --search.
void add_gpu_filters(CLI::App& command, CatalogueFilter& filter);
/// Adds --family and --search.
void add_model_filters(CLI::App& command, CatalogueFilter& filter);

/// Those that pass, in their order. Throws NoAnswer where none does.
std::vector<GpuProfile> matching(std::vector<GpuProfile> gpus, const CatalogueFilter& filter, const std::filesystem::path& gpus_folder);
std::vector<Workload> matching(std::vector<Workload> models, const CatalogueFilter& filter);

}  // namespace roofcast::cli
