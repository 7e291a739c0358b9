#pragma once
/// Numbers of a JSON document.

#include <nlohmann/json.hpp>

namespace roofcast::test {

inline double as_number(const nlohmann::json& value) {
    return value.get<double>();
}

}  // namespace roofcast::test
