#pragma once
/// Attention of one layer with its projections, as benchmarks of engines time it.

#include <array>
#include <cstdint>
#include <string_view>

namespace roofcast {

/// Kinds of layers that are measured so.
enum class AttentionBlockKind {
    latent,             ///< all tokens
    sparse_latent,      ///< those that an index chooses
    sparse_grouped,     ///< the same for heads that share keys
    compressed_chosen,  ///< a window, and compressed keys that an index chooses
    compressed_all      ///< a window, and all compressed keys
};
inline constexpr std::array<std::string_view, 5> attention_block_names{"mla", "dsa", "msa", "dsv4_csa", "dsv4_hca"};

/// `heads` of a layer's heads on a GPU; of each sequence `query_len` tokens, the last of `kv_len`.
struct AttentionBlock {
    AttentionBlockKind kind = AttentionBlockKind::latent;
    bool decodes = false;
    std::int64_t heads = 0, query_len = 0, kv_len = 0;
};

}  // namespace roofcast
