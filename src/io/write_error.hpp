#pragma once
/// Output that could not be written.

#include "roofcast/error.hpp"

namespace roofcast {

/// The system refused to write what was computed: a full disk, missing permission, a closed pipe. The input may be right all the same.
class WriteError : public Error {
public:
    using Error::Error;
};

}  // namespace roofcast
