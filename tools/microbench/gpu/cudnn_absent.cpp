/// In place of convolution_suite.cpp and attention_suite.cpp where cudnn.h was not found.

#include "gpu/suites.hpp"

namespace roofcast::microbench {

namespace {

[[noreturn]] void absent() {
    throw CaseError("this program was built without cuDNN 9: install its headers and build again");
}

}  // namespace

Outcome measure_convolution(const Device&, const Case&, const Convolution&) {
    absent();
}
Outcome measure_attention(const Device&, const Case&, const Attention&) {
    absent();
}

}  // namespace roofcast::microbench
