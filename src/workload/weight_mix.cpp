#include "workload/weight_mix.hpp"

#include <algorithm>
#include <initializer_list>

#include "units/weight_formats.hpp"

namespace roofcast {

namespace {

bool has_more_bits(std::int64_t layer, std::int64_t layers) {
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

bool in_layers(const MixRule& rule, std::int64_t layer, std::int64_t layers) {
    switch (rule.layers) {
        case MixLayers::all:
            return true;
        case MixLayers::first:
            return layer < rule.first;
        case MixLayers::first_eighth:
            return layer < layers / 8;
        case MixLayers::first_sixteenth:
            return layer < layers / 16;
        case MixLayers::middle:
            return layer >= layers / 8 && layer < 7 * layers / 8;
        case MixLayers::more_bits:
            return has_more_bits(layer, layers);
    }
    return false;
}

/// One matrix of a layer: rows of `width` weights, and its part of all weights of its role.
struct MixMatrix {
    MixTensor tensor;
    std::int64_t width = 0;
    double weights = 1;
};

class MixOfModel {
public:
    MixOfModel(const WeightMix& mix, const WeightTables& tables, const DecoderLlm& model) : mix_(mix), tables_(tables), m_(model) {}

    [[nodiscard]] TensorFormats formats() const {
        TensorFormats formats;
        constexpr double fp32_bits = 32;
        formats.vector_bits = fp32_bits;
        const auto set = [&](TensorRole role, const RoleFormat& format) { formats.roles[index(role)] = format; };
        const auto real = [](std::int64_t n) { return static_cast<double>(n); };
        const std::int64_t embedding = m_.embedding_dim > 0 ? m_.embedding_dim : m_.hidden;
        set(TensorRole::head, table(MixTensor::output, embedding));
        set(TensorRole::embedding, m_.tied_embeddings ? formats.of(TensorRole::head) : table(MixTensor::token_embd, embedding));
        // Projections of latent attention have names of their own, which no rule is for.
        const double keys = m_.mla ? 0 : real(m_.kv_heads);
        set(TensorRole::attention, mean(0, m_.layers,
                                        {{MixTensor::attn_q, m_.hidden, real(m_.heads)},
                                         {MixTensor::attn_k, m_.hidden, keys},
                                         {MixTensor::attn_v, m_.hidden, keys}}));
        const std::int64_t value_dim = m_.mla ? m_.mla->value_dim : m_.head_dim;
        set(TensorRole::attention_output, mean(0, m_.layers, {{MixTensor::attn_output, m_.heads * value_dim}}));
        const std::int64_t dense = m_.moe ? m_.moe->dense_layers : m_.layers, of_dense = dense > 0 ? dense : m_.layers;
        set(TensorRole::mlp_up, mean(0, of_dense, {{MixTensor::ffn_up, m_.hidden}}));
        set(TensorRole::mlp_down, mean(0, of_dense, {{MixTensor::ffn_down, m_.intermediate}}));
        set(TensorRole::router, {fp32_bits, 0});
        if (!m_.moe) return formats;
        const MoeShape& moe = *m_.moe;
        const std::int64_t first = std::min(moe.dense_layers, m_.layers - 1);
        const double ups = m_.gated_mlp ? 2 : 1;
        set(TensorRole::experts,
            mean(first, m_.layers, {{MixTensor::ffn_up, m_.hidden, ups}, {MixTensor::ffn_down, moe.expert_intermediate}}, true));
        set(TensorRole::shared_up, mean(first, m_.layers, {{MixTensor::ffn_up, m_.hidden}}));
        set(TensorRole::shared_down, mean(first, m_.layers, {{MixTensor::ffn_down, moe.shared_intermediate}}));
        return formats;
    }

private:
    [[nodiscard]] bool applies(const MixRule& rule, MixTensor tensor, std::int64_t layer) const {
        const std::int64_t experts = m_.moe ? m_.moe->experts : 0, group = m_.kv_heads > 0 ? m_.heads / m_.kv_heads : 1;
        return std::find(rule.tensors.begin(), rule.tensors.end(), tensor) != rule.tensors.end() && in_layers(rule, layer, m_.layers) &&
               (rule.experts == 0 || rule.experts == experts) && rule.least_experts <= experts && rule.least_group <= group &&
               (rule.model_layers == 0 || rule.model_layers == m_.layers);
    }

    [[nodiscard]] const StoredFormat& chosen(MixTensor tensor, std::int64_t layer, bool of_experts) const {
        for (const MixRule& rule : mix_.rules) {
            if (applies(rule, tensor, layer) || (of_experts && applies(rule, MixTensor::experts, layer)))
                return tables_.formats[rule.format];
        }
        return tables_.formats[mix_.format];
    }

    /// `format`, or what the quantizer takes in its place where rows of `width` are not whole blocks.
    [[nodiscard]] RoleFormat fitting(const StoredFormat& format, std::int64_t width) const {
        const StoredFormat* fits = &format;
        if (width % fits->block_weights != 0 && fits->short_rows) fits = &tables_.formats[*fits->short_rows];
        constexpr RoleFormat in_16_bits{16, 0};
        return width % fits->block_weights == 0 ? fits->of_role() : in_16_bits;
    }

    [[nodiscard]] RoleFormat mean(std::int64_t first, std::int64_t end, std::initializer_list<MixMatrix> matrices,
                                  bool of_experts = false) const {
        RoleFormat sum;
        double weights = 0;
        for (std::int64_t layer = first; layer < end; ++layer) {
            for (const MixMatrix& matrix : matrices) {
                const RoleFormat format = fitting(chosen(matrix.tensor, layer, of_experts), matrix.width);
                sum.bits += matrix.weights * format.bits;
                sum.unpack_cycles += matrix.weights * format.unpack_cycles;
                weights += matrix.weights;
            }
        }
        return weights > 0 ? RoleFormat{sum.bits / weights, sum.unpack_cycles / weights} : sum;
    }

    /// Of the embedding or the LM head. The head's format is `short_output` where its rows are not whole blocks of
    /// the mix's own format.
    [[nodiscard]] RoleFormat table(MixTensor tensor, std::int64_t width) const {
        const bool whole = width % tables_.formats[mix_.format].block_weights == 0;
        if (tensor == MixTensor::output && !whole) return fitting(tables_.formats[tables_.short_output], width);
        return fitting(chosen(tensor, 0, false), width);
    }

    const WeightMix& mix_;
    const WeightTables& tables_;
    const DecoderLlm& m_;
};

}  // namespace

TensorFormats mixed_tensors(const WeightMix& mix, const WeightTables& tables, const DecoderLlm& model) {
    return MixOfModel(mix, tables, model).formats();
}

TensorFormats mixed_tensors(std::string_view label, const DecoderLlm& model) {
    return mixed_tensors(*weight_tables().mix(label), weight_tables(), model);
}

}  // namespace roofcast
