#pragma once
/// software/weight-formats.toml, as it was when the program was built.

#include <string_view>

namespace roofcast {

extern const std::string_view weight_formats_text;

}  // namespace roofcast
