#pragma once
/// Charts as SVG files: light, and dark where the reader's system is; no script, no font of its own.

#include <string>

#include "document/chart.hpp"

namespace roofcast {

/// A whole SVG document, 720 wide; 440 high, or as high as its categories need.
std::string as_svg(const Chart& chart);

}  // namespace roofcast
