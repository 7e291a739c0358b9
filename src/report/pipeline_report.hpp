#pragma once
/// Pipelines as text, JSON and CSV.

#include <optional>

#include "document/table.hpp"
#include "roofcast/pipeline.hpp"

namespace roofcast {

/// One pipeline: stages, devices; with `other`, both and how they compare.
Report pipeline_report(const PipelineResult& result, const PipelineResult* other);

}  // namespace roofcast
