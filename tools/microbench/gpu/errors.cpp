#include "gpu/errors.hpp"

#include <string>

#include "host/case_error.hpp"

namespace roofcast::microbench {

namespace {

/// Errors that leave the context unusable, by CUDA's documentation of each.
bool ends_context(cudaError_t status) {
    switch (status) {
        case cudaErrorAssert:
        case cudaErrorDevicesUnavailable:
        case cudaErrorECCUncorrectable:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalAddress:
        case cudaErrorIllegalInstruction:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure:
        case cudaErrorLaunchTimeout:
        case cudaErrorMisalignedAddress:
        case cudaErrorUnknown:
            return true;
        default:
            return false;
    }
}

}  // namespace

void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    const std::string text = std::string(what) + ": " + cudaGetErrorString(status);
    cudaGetLastError();  // errors that a case may survive are cleared by reading them
    if (status == cudaErrorMemoryAllocation) throw CaseError("out of memory: " + text);
    if (ends_context(status)) throw DeviceLost(text);
    throw CaseError(text);
}

}  // namespace roofcast::microbench
