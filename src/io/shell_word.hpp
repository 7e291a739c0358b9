#pragma once
/// Words of command lines that a person pastes into a shell.

#include <string>
#include <string_view>

namespace roofcast {

/// `word` as a POSIX shell reads it back: in single quotes where it has more than letters, digits and the signs of paths.
std::string shell_word(std::string_view word);

}  // namespace roofcast
