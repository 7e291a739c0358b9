#pragma once
/// The software that calls a kernel, as far as the kernel depends on it. Keys of tables in `software/`: src/software/keys.cpp.

#include <compare>
#include <cstdint>
#include <optional>

#include "roofcast/op.hpp"

namespace roofcast {

/// Sizes of groups from `least` to `most`; none where `most` is less.
struct GroupSizes {
    std::int64_t least = 1, most = 0;
    [[nodiscard]] bool has(std::int64_t size) const { return least <= size && size <= most; }
    friend auto operator<=>(const GroupSizes&, const GroupSizes&) = default;
};

/// What kernels depend on beside the operator and the GPU. By default a serving engine of which nothing particular is known.
struct Caller {
    bool framework = false;            ///< an eager framework: kernels for operands of any kind, the vendor's libraries with plain tensors
    bool vendor_library = false;       ///< nobody in between: the vendor's library is called directly
    bool own_convolutions = false;     ///< a framework with depthwise kernels and batch norms of its own (PyTorch)
    bool compiled = false;             ///< a compiler's kernels beside those of libraries that the framework calls
    bool softmax_in_registers = true;  ///< a framework's softmax keeps long rows in registers; false: it reads them thrice
    bool unpacks_on_simt = false;      ///< it has kernels on CUDA cores for GEMMs of up to 4 rows with weights in fewer bits
    bool splits_ungrouped = true;      ///< attention of one query splits keys over blocks also where no heads share them
    bool converts_cache = true;        ///< attention converts a KV cache in fewer bits; false: it computes on it as stored
    bool head_blocks = false;          ///< attention of short sequences without a cache is by kernels of a block a head
    bool general_sinks = false;        ///< attention with sinks is by the general kernel where its library's has none
    std::optional<GroupSizes> sharing_groups{};  ///< of query heads that decode together; others on CUDA cores. Absent: any together
    QuantizeSchedule quantizing = QuantizeSchedule::tensor;  ///< of kernels that quantize activations
    /// Whether operands are plain tensors: no KV cache, and 8-bit GEMMs are the vendor's.
    [[nodiscard]] bool has_plain_tensors() const { return framework || vendor_library; }
    /// Whether the vendor's library sees the convolutions that PyTorch calls, eager or compiled.
    [[nodiscard]] bool convolves_as_pytorch() const { return own_convolutions || compiled; }
    friend auto operator<=>(const Caller&, const Caller&) = default;
};

/// The format of the KV cache that attention kernels see.
inline CacheFormat cache_format(const Attention& op, const Caller& caller) {
    const bool narrower = element_size(op.kv_precision) < element_size(op.precision);
    return caller.converts_cache && narrower ? CacheFormat::narrow : CacheFormat::plain;
}

}  // namespace roofcast
