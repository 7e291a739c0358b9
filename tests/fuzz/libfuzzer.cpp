/// The entry of libFuzzer for one target, which ROOFCAST_FUZZ_TARGET names.

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return roofcast::fuzz::ROOFCAST_FUZZ_TARGET(data, size);
}
