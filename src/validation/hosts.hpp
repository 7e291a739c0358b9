#pragma once
/// Which of the described hosts measured a row.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/validation.hpp"

namespace roofcast {

inline bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// The host that measured `row`: one of its weights' format before one of its GPU, and that before one of any; nullptr when none stands
/// for it.
const HostStack* host_of(const std::vector<HostStack>& stacks, const KernelRow& row);

}  // namespace roofcast
