#pragma once
/// The answer of `serve-sim` as JSON (docs/reference/json.md).

#include "report/serving_report.hpp"

namespace roofcast {

nlohmann::ordered_json serving_document(const NamedServing& named);

}  // namespace roofcast
