#pragma once
/// What can go wrong while a case is measured.

#include <stdexcept>

namespace roofcast::microbench {

/// One case cannot be measured: not supported, out of memory, wrong result. The run goes on.
struct CaseError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The device is gone or in an unknown state: what comes after would be wrong. The run ends.
struct DeviceLost : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace roofcast::microbench
