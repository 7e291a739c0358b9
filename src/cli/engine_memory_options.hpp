#pragma once
/// `roofcast memory` as a serving engine divides memory.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_options.hpp"
#include "report/run_reports.hpp"

namespace roofcast::cli {

struct EngineMemoryOptions {
    std::optional<double> fraction;
    std::optional<std::int64_t> max_tokens, max_sequences, context;
    [[nodiscard]] bool any() const { return fraction || max_tokens || max_sequences || context; }
};

void add_engine_memory_options(CLI::App& command, EngineMemoryOptions& options);

/// Throws Error where a value is out of range.
EngineSettings engine_settings(const EngineMemoryOptions& options);

/// Whether `run` names an engine whose memory is described and there are GPUs to divide. Throws Error where options of engines, or options
/// that engines have no use for, were given and it is not so.
bool divides_as_engine(const EngineMemoryOptions& options, const RunOptions& run, const SoftwareStacks& software, bool any_gpu);

/// Of a language model with degrees of parallelism and formats of `request`; with remedies where not one sequence fits.
NamedMemory named_memory(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                         const EngineSettings& settings);

}  // namespace roofcast::cli
