#pragma once
/// What errors show of a TOML value.

#include <toml++/toml.h>

#include <string>

namespace roofcast {

/// `node` on one line, lists and tables too, cut after some 60 characters.
std::string value_text(const toml::node& node);

}  // namespace roofcast
