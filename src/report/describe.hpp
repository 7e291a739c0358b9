#pragma once
/// Rows in words, for people who read a table of misses.

#include <nlohmann/json.hpp>
#include <string>

#include "roofcast/measurement.hpp"
#include "roofcast/run.hpp"

namespace roofcast {

/// The dimensions as the columns name them: "m=16 n=32 k=64".
std::string shape_text(const Op& op);
std::string shape_text(const ModelRow& row);

/// Formats of weights: "bf16"; "bf16, experts mxfp4".
std::string weights_text(const Run& run);

/// ", 8 GPUs (tp 8, pp 1, dp 1)"; empty for one.
std::string parallel_text(const Parallelism& p);
/// The degrees by name, with the GPUs in all.
nlohmann::ordered_json parallel_json(const Parallelism& p);

/// "file.csv:12".
std::string place_text(const Origin& origin);

}  // namespace roofcast
