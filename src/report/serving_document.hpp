#pragma once
/// The answer of `serve-sim` as JSON (docs/reference/json.md).

#include "report/serving_report.hpp"

namespace roofcast {

/// Whether requests spend time outside of the steps of `engine`, which may be nullptr.
bool times_clients(const Engine* engine);

nlohmann::ordered_json serving_document(const NamedServing& named);

}  // namespace roofcast
