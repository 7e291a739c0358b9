#pragma once
/// Names of the peaks in a profile's `[compute]` table.

#include <string>

#include "roofcast/precision.hpp"

namespace roofcast {

/// "tops" for integers, "tflops" for the rest.
inline std::string rate_unit(Precision p) {
    return p == Precision::int8 || p == Precision::int4 ? "tops" : "tflops";
}
/// "fp16_tflops": on CUDA cores.
inline std::string vector_key(Precision p) {
    return std::string(name(p)) + "_" + rate_unit(p);
}
/// "fp16_tensor_tflops": on tensor cores.
inline std::string tensor_key(Precision p) {
    return std::string(name(p)) + "_tensor_" + rate_unit(p);
}

}  // namespace roofcast
