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

/// Properties of the software that kernels depend on. The default is an unknown serving engine.
struct Caller {
    bool framework = false;                      ///< an eager framework: generic kernels, and the vendor's libraries on plain tensors
    bool vendor_library = false;                 ///< the vendor's library is called directly
    bool own_convolutions = false;               ///< a framework with depthwise kernels and batch norms of its own (PyTorch)
    bool compiled = false;                       ///< a compiler's kernels, and libraries that the framework calls
    bool softmax_in_registers = true;            ///< a framework's softmax keeps long rows in registers; false: it reads them three times
    bool unpacks_on_simt = false;                ///< GEMMs of up to 4 rows with narrow weights run as GEMVs on CUDA cores
    bool splits_ungrouped = true;                ///< decode attention uses split-KV even if no query heads share keys
    bool converts_cache = true;                  ///< attention converts a KV cache in fewer bits; false: it computes on it as stored
    bool head_blocks = false;                    ///< short attention without a cache runs one block per head
    bool general_sinks = false;                  ///< attention with sinks uses the general kernel if its library has no sinks
    std::optional<GroupSizes> sharing_groups{};  ///< query heads that decode together, others on CUDA cores; absent: any
    QuantizeSchedule quantizing = QuantizeSchedule::tensor;  ///< schedule of kernels that quantize activations
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
