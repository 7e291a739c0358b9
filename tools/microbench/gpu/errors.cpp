#include "gpu/errors.hpp"

#include <string>

#include "host/case_error.hpp"

namespace roofcast::microbench {

void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    const std::string text = std::string(what) + ": " + cudaGetErrorString(status);
    cudaGetLastError();  // errors that a case may survive are cleared by reading them
    if (status == cudaErrorMemoryAllocation) throw CaseError("out of memory: " + text);
    if (cudaDeviceSynchronize() != cudaSuccess) throw DeviceLost(text);
    throw CaseError(text);
}

}  // namespace roofcast::microbench
