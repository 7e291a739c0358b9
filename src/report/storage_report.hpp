#pragma once
/// Memory of models by the format of their weights, as text, JSON and CSV.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// Memory of a model with its weights stored in one format.
struct StoredMemory {
    std::string model, storage, activations;  ///< model id, format of weights, format of activations
    MemoryEstimate memory;
};

/// What would make a model fit a GPU where it does not in any format.
struct StorageRemedies {
    std::string model, gpu;
    std::vector<std::string> remedies;
};

/// Whether `gpu` holds `stored`; a GPU whose memory is not known refuses nothing.
bool may_hold(const GpuProfile& gpu, const StoredMemory& stored);

/// A row each, with whether each of `gpus` holds it. `hints` stand below.
Report storage_report(const std::vector<StoredMemory>& stored, const std::vector<GpuProfile>& gpus,
                      const std::vector<StorageRemedies>& remedies, const std::vector<std::string>& hints);

}  // namespace roofcast
