// What layers keep of a sequence between passes.

#include <algorithm>

#include "graph/decoder.hpp"
#include "roofcast/decoder_figures.hpp"

namespace roofcast {

namespace {

constexpr double state_bytes = 4;  // recurrent states are kept in fp32 (`mamba_ssm_dtype` of the configurations)

/// Cache of one layer on one GPU, in elements of the cache's precision.
struct LayerCache {
    double of_token = 0;      ///< elements for each token, up to `window` of them
    std::int64_t window = 0;  ///< 0: all tokens
    bool cross = false;       ///< image tokens are kept in place of the sequence's own
    double compressed = 0;    ///< elements for each token in addition to those in the window
    double state = 0;         ///< elements of the recurrent state, in fp32
    double activations = 0;   ///< elements of the last tokens that a convolution reads again, as activations
};

struct CacheOf {
    Count gpus;

    LayerCache operator()(std::monostate) const { return {}; }
    LayerCache operator()(const GroupedAttention& a) const {
        const Count keys = shard(a.kv_heads, gpus) * (a.head_dim + a.value_width());
        return {.of_token = as_count(keys + (a.index && a.index->selects ? a.index->dim : 0)),
                .window = std::max(a.window, a.chunk),
                .cross = a.cross};
    }
    LayerCache operator()(const LatentAttention& a) const {  // one latent for all heads: every GPU holds it
        const bool index = a.index && a.index->selects;
        return {.of_token = as_count(Count(a.shape.kv_rank) + a.shape.rope_dim + (index ? a.index->dim : 0))};
    }
    LayerCache operator()(const CompressedAttention& a) const {
        LayerCache cache{.of_token = static_cast<double>(a.head_dim), .window = a.window};
        if (a.ratio > 0) cache.compressed = static_cast<double>(a.head_dim + (a.index ? a.index->dim : 0)) / static_cast<double>(a.ratio);
        return cache;
    }
    LayerCache operator()(const GatedDelta& a) const {
        const Count keys = shard(a.key_heads, gpus) * a.key_dim, values = shard(a.value_heads, gpus) * a.value_dim;
        return {.state = as_count(values * a.key_dim), .activations = as_count((2 * keys + values) * (a.convolution - 1))};
    }
    LayerCache operator()(const KimiDelta& a) const {
        const Count width = shard(a.heads, gpus) * a.dim;
        return {.state = as_count(width * a.dim), .activations = as_count(3 * width * (a.convolution - 1))};
    }
    LayerCache operator()(const Mamba2& a) const {
        const Count inner = shard(a.heads, gpus) * a.head_dim, groups = shard(a.groups, gpus);
        return {.state = as_count(inner * a.state), .activations = as_count((inner + 2 * groups * a.state) * (a.convolution - 1))};
    }
};

/// Sums `bytes_of` over the layers of one pipeline stage.
template <class BytesOf>
Bytes sum_over_layers(const DecoderLlm& model, const Run& run, BytesOf bytes_of) {
    Bytes total;
    for (const LayerGroup& group : layer_groups(model)) {
        const LayerCache layer = std::visit(CacheOf{run.parallel.attention_tensor()}, group.tokens);
        total += static_cast<double>(group.layers) * bytes_of(layer);
    }
    return total * (static_cast<double>(shard(model.layers, run.parallel.pipeline)) / static_cast<double>(model.layers));
}

/// But for the number of layers.
bool alike(const CacheKind& a, const CacheKind& b) {
    return a.per_token == b.per_token && a.window == b.window && a.image_tokens == b.image_tokens && a.compressed == b.compressed &&
           a.state == b.state;
}

Bytes states(const LayerCache& layer, const Run& run) {
    return layer.state * state_bytes * byte + layer.activations * element_size(activation_precision(run.precision));
}

}  // namespace

std::vector<CacheKind> cache_kinds(const DecoderLlm& model, const Run& run) {
    const Bytes element = element_size(run.cache_precision());
    std::vector<CacheKind> kinds;
    for (const LayerGroup& group : layer_groups(model)) {
        const LayerCache layer = std::visit(CacheOf{run.parallel.attention_tensor()}, group.tokens);
        const CacheKind kind{.per_token = layer.of_token * element,
                             .window = layer.window,
                             .image_tokens = layer.cross ? model.cross_attention_tokens : 0,
                             .compressed = layer.compressed * element,
                             .state = states(layer, run),
                             .layers = group.layers};
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
    const Bytes element = element_size(run.cache_precision());
    return sum_over_layers(model, run, [&](const LayerCache& layer) {
        std::int64_t held = layer.window > 0 ? std::min(tokens, layer.window) : tokens;
        if (layer.cross) held = model.cross_attention_tokens;
        const double elements = layer.of_token * static_cast<double>(held) + layer.compressed * static_cast<double>(tokens);
        return elements * element + states(layer, run);
    });
}

Bytes cache_per_token(const DecoderLlm& model, const Run& run) {
    const Bytes element = element_size(run.cache_precision());
    return sum_over_layers(model, run, [&](const LayerCache& layer) {
        const bool grows = layer.window == 0 && !layer.cross;
        return ((grows ? layer.of_token : 0) + layer.compressed) * element;
    });
}

Bytes fixed_cache(const DecoderLlm& model, const Run& run) {
    const Bytes element = element_size(run.cache_precision());
    return sum_over_layers(model, run, [&](const LayerCache& layer) {
        const double held = static_cast<double>(layer.cross ? model.cross_attention_tokens : layer.window);
        return held * layer.of_token * element + states(layer, run);
    });
}

}  // namespace roofcast
