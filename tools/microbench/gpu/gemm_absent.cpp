/// In place of gemm_suite.cpp where cublasLt.h was not found.

#include "gpu/suites.hpp"

namespace roofcast::microbench {

namespace {

[[noreturn]] void absent() {
    throw CaseError("this program was built without cuBLASLt: install its headers and build again");
}

}  // namespace

Outcome measure_gemm(const Device&, const Case&, const Gemm&) {
    absent();
}
Outcome measure_sustained(const Device&, const Case&, const Sustained&) {
    absent();
}

}  // namespace roofcast::microbench
