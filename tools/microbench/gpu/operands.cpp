#include "gpu/operands.hpp"

#include "gpu/kernels.hpp"

namespace roofcast::microbench {

namespace {

constexpr std::size_t alignment = 256;
constexpr std::uint64_t data_seed = 20260101;

std::size_t aligned(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

Operands::Operands(const Device& device, const std::vector<TensorSpec>& tensors, CacheState cache) {
    for (const TensorSpec& tensor : tensors) {
        offsets_.push_back(stride_);
        stride_ += aligned(tensor.bytes);
    }
    copies_ = wanted_copies(device, static_cast<double>(stride_), cache);
    buffer_ = Buffer(static_cast<std::size_t>(copies_) * stride_);
    for (int copy = 0; copy < copies_; ++copy) {
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            if (!tensors[t].random) continue;
            const auto count = static_cast<std::size_t>(static_cast<double>(tensors[t].bytes) / element_size(tensors[t].precision));
            enqueue_random(at(copy, t), tensors[t].precision, count, data_seed + 100 * static_cast<std::uint64_t>(copy) + t,
                           device.stream());
        }
    }
    check(cudaStreamSynchronize(device.stream()), "filling operands");
}

}  // namespace roofcast::microbench
