#pragma once
/// Operands of a case in as many copies as its cache state wants.

#include <vector>

#include "gpu/timing.hpp"

namespace roofcast::microbench {

/// One tensor of a case.
struct TensorSpec {
    std::size_t bytes = 0;
    Precision precision = Precision::fp32;
    bool random = true;  ///< filled with data; false: written by the kernel
};

/// `copies` copies of some tensors. Each begins at a multiple of 256 bytes, as every vector load and library wants.
class Operands {
public:
    /// Allocates and fills. Throws CaseError when memory is short.
    Operands(const Device& device, const std::vector<TensorSpec>& tensors, CacheState cache);

    [[nodiscard]] int copies() const { return copies_; }
    [[nodiscard]] void* at(int copy, std::size_t tensor) const {
        return buffer_.at(static_cast<std::size_t>(copy) * stride_ + offsets_[tensor]);
    }

private:
    std::vector<std::size_t> offsets_;
    std::size_t stride_ = 0;
    int copies_ = 1;
    Buffer buffer_;
};

}  // namespace roofcast::microbench
