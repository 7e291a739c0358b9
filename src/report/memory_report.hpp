#pragma once
/// A serving engine's memory as text, JSON and CSV.

#include <string>
#include <vector>

#include "document/table.hpp"
#include "roofcast/memory_report.hpp"

namespace roofcast {

/// A report with what it is of.
struct NamedMemory {
    std::string model_id, model_name, gpu_id, gpu_name, software;
    std::string weights;  ///< format of weights
    std::string cache;    ///< format of the KV cache
    std::int64_t gpus = 1;
    EngineMemoryReport memory;
    std::vector<std::string> remedies;  ///< where not even one sequence fits
    EngineSettings given;               ///< by the user
};

/// The lines of vLLM's log: "GPU KV cache size: 123,456 tokens", "Maximum concurrency for 8,192 tokens per request: 15.07x".
std::vector<std::string> log_lines(const EngineMemoryReport& memory);

/// A table and lines for each of `all`; CSV has a row each.
Report memory_report(const std::vector<NamedMemory>& all);

}  // namespace roofcast
