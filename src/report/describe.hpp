#pragma once
/// Runs in words.

#include <nlohmann/json.hpp>
#include <string>

#include "roofcast/run.hpp"

namespace roofcast {

/// Formats of weights: "bf16"; "bf16, experts mxfp4".
std::string weights_text(const Run& run);

/// ", 8 GPUs (tp 8, pp 1, dp 1)"; empty for one.
std::string parallel_text(const Parallelism& p);
/// The degrees by name, with the GPUs in all.
nlohmann::ordered_json parallel_json(const Parallelism& p);

}  // namespace roofcast
