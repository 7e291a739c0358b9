#pragma once
/// Files that are too large for the memory there is.

#include <filesystem>
#include <new>

#include "roofcast/error.hpp"

namespace roofcast {

/// What `read` returns. Throws Error with the name of `file` where the memory does not suffice.
template <class Read>
auto within_memory(const std::filesystem::path& file, Read read) {
    try {
        return read();
    } catch (const std::bad_alloc&) {
        throw Error({.what = "not enough memory to read this file",
                     .file = file.string(),
                     .suggestion = "split it into smaller files, or free memory"});
    }
}

}  // namespace roofcast
