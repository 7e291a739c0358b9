#pragma once
/// CUDA errors as the run understands them: those that end one case, and those after which the device cannot be trusted.

#include <cuda_runtime.h>

namespace roofcast::microbench {

/// Throws CaseError with `what` was attempted, or DeviceLost when the context is beyond repair.
void check(cudaError_t status, const char* what);

}  // namespace roofcast::microbench
