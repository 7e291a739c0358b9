#pragma once
/// What `gpu list`, `gpu show` and `gpu check` print.

#include <string>
#include <utility>
#include <vector>

#include "document/table.hpp"
#include "roofcast/gpu_profile.hpp"

namespace roofcast {

/// One line a GPU: size, bandwidth, main peaks, power, and which of its values are assumed.
Report gpu_list_report(const std::vector<GpuProfile>& gpus);

/// All there is about one GPU: facts, precisions, prices, parameters; assumed values marked.
Report gpu_report(const Gpu& gpu);

/// Findings of one profile.
struct CheckedProfile {
    GpuProfile gpu;
    std::vector<ProfileFinding> findings;
};

/// A file beside the profiles that was read and found in order.
struct CheckedFile {
    std::string file;
    std::string kind;         ///< fit, architecture, software, prices or providers
    std::size_t entries = 0;  ///< parameters; execution modes and engines; rows
};

/// One line a finding.
Report gpu_check_report(const std::vector<CheckedProfile>& checked, const std::vector<CheckedFile>& files);

/// Findings that no `[explained]` entry gives a reason for.
std::size_t unexplained(const std::vector<CheckedProfile>& checked);

}  // namespace roofcast
