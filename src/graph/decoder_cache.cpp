// What layers keep of a sequence between passes.

#include <algorithm>

#include "graph/decoder.hpp"
#include "roofcast/decoder_figures.hpp"

namespace roofcast {

namespace {

/// What a layer keeps of a sequence on one of `gpus`.
struct CacheOf {
    Count gpus, image_tokens;
    Bytes element, activation;  ///< of the cache, and of what convolutions read again

    CacheKind operator()(std::monostate) const { return {}; }
    CacheKind operator()(const GroupedAttention& a) const {
        const Count keys = shard(a.kv_heads, gpus) * (a.head_dim + a.value_width());
        return {.per_token = as_count(keys + (a.index && a.index->selects ? a.index->dim : 0)) * element,
                .window = std::max(a.window, a.chunk),
                .image_tokens = a.cross ? image_tokens : Count(0)};
    }
    CacheKind operator()(const LatentAttention& a) const {  // one latent for all heads: every GPU holds it
        const bool index = a.index && a.index->selects;
        return {.per_token = as_count(Count(a.shape.kv_rank) + a.shape.rope_dim + (index ? a.index->dim : 0)) * element};
    }
    CacheKind operator()(const CompressedAttention& a) const {
        CacheKind cache{.per_token = static_cast<double>(a.head_dim) * element, .window = a.window};
        if (a.ratio > 0)
            cache.compressed = static_cast<double>(a.head_dim + (a.index ? a.index->dim : 0)) / static_cast<double>(a.ratio) * element;
        return cache;
    }
    CacheKind operator()(const GatedDelta& a) const {
        const Count keys = shard(a.key_heads, gpus) * a.key_dim, values = shard(a.value_heads, gpus) * a.value_dim;
        return recurrent(values * a.key_dim, 2 * keys + values, a.convolution);
    }
    CacheKind operator()(const KimiDelta& a) const {
        const Count width = shard(a.heads, gpus) * a.dim;
        return recurrent(width * a.dim, 3 * width, a.convolution);
    }
    CacheKind operator()(const Mamba2& a) const {
        const Count inner = shard(a.heads, gpus) * a.head_dim, groups = shard(a.groups, gpus);
        return recurrent(inner * a.state, inner + 2 * groups * a.state, a.convolution);
    }

    /// A state in fp32 (`mamba_ssm_dtype` of the configurations), and what a convolution over so many tokens reads again.
    [[nodiscard]] CacheKind recurrent(Count state, Count channels, Count convolution) const {
        return {.state = as_count(state) * element_size(Precision::fp32) + as_count(channels * (convolution - 1)) * activation};
    }
};

/// But for the number of layers.
bool alike(const CacheKind& a, const CacheKind& b) {
    return a.per_token == b.per_token && a.window == b.window && a.image_tokens == b.image_tokens && a.compressed == b.compressed &&
           a.state == b.state;
}

/// Sums `bytes_of` over the layers of one pipeline stage.
template <class BytesOf>
Bytes sum_over_layers(const DecoderLlm& model, const Run& run, BytesOf bytes_of) {
    Bytes total;
    for (const CacheKind& kind : cache_kinds(model, run)) total += static_cast<double>(kind.layers) * bytes_of(kind);
    return total * (static_cast<double>(shard(model.layers, run.parallel.pipeline)) / static_cast<double>(model.layers));
}

}  // namespace

std::vector<CacheKind> cache_kinds(const DecoderLlm& model, const Run& run) {
    const CacheOf cache_of{run.parallel.attention_tensor(), model.cross_attention_tokens, element_size(run.cache_precision()),
                           element_size(activation_precision(run.precision))};
    std::vector<CacheKind> kinds;
    for (const LayerGroup& group : layer_groups(model)) {
        CacheKind kind = std::visit(cache_of, group.tokens);
        kind.layers = group.layers;
        if (kind.per_token <= Bytes{} && kind.compressed <= Bytes{} && kind.state <= Bytes{}) continue;
        const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const CacheKind& known) { return alike(known, kind); });
        if (same == kinds.end()) {
            kinds.push_back(kind);
        } else {
            same->layers += kind.layers;
        }
    }
    return kinds;
}

Bytes kv_cache_size(const DecoderLlm& model, const Run& run, std::int64_t tokens) {
    return sum_over_layers(model, run, [&](const CacheKind& kind) {
        std::int64_t held = kind.window > 0 ? std::min(tokens, kind.window) : tokens;
        if (kind.image_tokens > 0) held = kind.image_tokens;
        return static_cast<double>(held) * kind.per_token + static_cast<double>(tokens) * kind.compressed + kind.state;
    });
}

Bytes cache_per_token(const DecoderLlm& model, const Run& run) {
    return sum_over_layers(model, run, [&](const CacheKind& kind) {
        const bool grows = kind.window == 0 && kind.image_tokens == 0;
        return (grows ? kind.per_token : Bytes{}) + kind.compressed;
    });
}

Bytes fixed_cache(const DecoderLlm& model, const Run& run) {
    return sum_over_layers(model, run, [&](const CacheKind& kind) {
        return static_cast<double>(kind.image_tokens > 0 ? kind.image_tokens : kind.window) * kind.per_token + kind.state;
    });
}

}  // namespace roofcast
