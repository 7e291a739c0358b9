#pragma once
/// Rows that nothing can be said of.

#include <string>
#include <utility>

#include "roofcast/error.hpp"

namespace roofcast {

/// Reason for skipping a row, without its file and line.
inline Error unusable(std::string what) {
    return Error({.what = std::move(what)});
}

}  // namespace roofcast
