// What passes over whole maps: normalizations, activations, sums, learned factors and the casts between them.

#include <fmt/format.h>

#include <array>

#include "graph/conv_builder.hpp"
#include "graph/layer_builder.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

struct ActivationFact {
    std::string_view name;
    double flops;  ///< of one element: exponentials and divisions count as one operation each
};
/// In the order of Activation.
constexpr std::array<ActivationFact, 10> activation_facts{{
    {"identity", 0},
    {"relu", 1},
    {"relu6", 2},
    {"leaky_relu", 2},
    {"hardswish", 5},
    {"hardsigmoid", 4},
    {"sigmoid", 4},
    {"silu", 5},
    {"gelu", 8},
    {"star_relu", 4},
}};

const ActivationFact& fact_of(Activation activation) {
    return activation_facts[static_cast<std::size_t>(activation)];
}

double flops_of(Activation activation) {
    return fact_of(activation).flops;
}

/// 2 FLOPs scale and shift with folded statistics.
constexpr double norm_flops = 2;

}  // namespace

Elementwise ConvBuilder::elementwise(const Map& map, double reads, double flops) const {
    return {.elements = map.elements() * run_.batch, .reads = reads, .flops_per_element = flops, .precision = format(map)};
}

OpNode& ConvBuilder::pointwise(std::string name, const Map& map, double reads, double flops, Fusion fusion, double weights) {
    const Count written = lowering_.framework() ? map.elements() : Count(0);  // eager frameworks write another map
    OpNode& node = emit(std::move(name), elementwise(map, reads, flops), fusion, map.taken(), written);
    node.weights = weights;
    return node;
}

OpNode& ConvBuilder::add_in_place(std::string name, const Map& map, double reads, Fusion fusion) {
    return emit(std::move(name), elementwise(map, reads, 1), fusion, map.taken(), 0);
}

OpNode& ConvBuilder::convert(std::string name, const Map& map, Elementwise op) {
    return emit(std::move(name), op, Fusion::chain, map.taken(), 0);
}

Map ConvBuilder::normalized(const Map& map, ConvNorm norm, bool wide) {
    if (norm == ConvNorm::none || norm == ConvNorm::standardized) return map;
    if (norm == ConvNorm::batch || norm == ConvNorm::frozen) {
        if (norm == ConvNorm::frozen && by_eager_pytorch())
            frozen_norm(map);
        else
            batch_norm(map, norm);
        return map;
    }
    if (norm == ConvNorm::evo || norm == ConvNorm::filter_response) return normalize_and_activate(map, norm, Activation::none);
    if (norm == ConvNorm::global_response) {
        global_response_norm(map);
        return map;
    }
    Map out = map;
    out.wide = norm_ != stored_ || (wide && mixed_precision());
    if (out.wide && !map.wide) convert("cast", map, widening(map.elements() * run_.batch, stored_, wide_));
    if (!out.wide) out = narrowed(map);
    if (norm == ConvNorm::group) return group_norm(out, net.norm_groups);
    normalize_rows(out, norm == ConvNorm::layer ? map.rows() : map.channels);
    return out;
}

void ConvBuilder::batch_norm(const Map& map, ConvNorm norm) {
    const bool by_kernel = norm == ConvNorm::batch && by_eager_pytorch();
    const bool wide_weights = mixed_precision() || element_size(format(map)) > 2 * byte;
    if (by_kernel && (!wide_weights || format(map) == Precision::bf16)) {
        // PyTorch's own path, in one call: the variance is widened and its root taken before the kernel over the map.
        constexpr double kernels = 2;
        OpNode& statistics =
            emit("norm_statistics", Elementwise{.elements = map.channels, .precision = Precision::fp32}, Fusion::folded, 0, 0);
        statistics.eager_kernels = kernels;
        statistics.same_call = true;
    }
    const double weights = norm == ConvNorm::batch ? 2.0 * static_cast<double>(map.channels) : 0;
    OpNode& node = pointwise("batchnorm", map, 1, norm_flops, Fusion::folded, weights);
    if (by_kernel) std::get<Elementwise>(node.op).normalized = {run_.batch, map.channels, channels_last(map), wide_weights};
}

void ConvBuilder::normalize_rows(const Map& map, Count rows) {
    const RowWise op{.kind = RowOp::layernorm,
                     .rows = rows * run_.batch,
                     .cols = map.elements() / rows,
                     .precision = format(map),
                     .any_operands = lowering_.framework()};
    emit("layernorm", op, Fusion::chain, map.taken(), map.elements()).weights = 2.0 * static_cast<double>(map.channels);
}

Map ConvBuilder::group_norm(const Map& map, Count groups) {
    if (map.channels % groups != 0)
        throw Error({.what = "group normalization needs channels that its groups divide",
                     .key = "channels",
                     .found = std::to_string(map.channels),
                     .expected = fmt::format("a multiple of {}", groups)});
    // PyTorch's kernel reads planes of channels, and leaves such.
    const Map planes = to_planes(map);
    normalize_rows(planes, groups);
    return planes;
}

Map ConvBuilder::normalize(const Map& map, ConvNorm norm) {
    return narrowed(normalized(map, norm));
}

Map ConvBuilder::normalize_and_activate(const Map& map, ConvNorm norm, Activation activation) {
    if (norm == ConvNorm::evo || norm == ConvNorm::filter_response) {
        const Map y = narrowed(map);
        const bool activated = activation != Activation::none;
        if (norm == ConvNorm::evo)
            evo_norm(y, activated);
        else
            filter_response_norm(y, activated);
        return y;
    }
    const Map y = norm == ConvNorm::none ? map : normalize(map, norm);
    activate(y, activation);
    return y;
}

void ConvBuilder::activate(const Map& map, Activation activation) {
    if (activation == Activation::none) return;
    constexpr double star_relu_kernels = 4;  // relu, square, scale, shift; the square is computed in fp32
    if (activation == Activation::star_relu) return wide_pointwise("star_relu", map, star_relu_kernels, flops_of(activation), 2);
    OpNode& node = pointwise(std::string(fact_of(activation).name), map, 1, flops_of(activation), Fusion::epilogue);
    if (net.activation_gain) node.eager_kernels = 2;
    if (activation == Activation::gelu) by_error_function(node, lowering_.framework());
}

void ConvBuilder::wide_pointwise(std::string name, const Map& map, double kernels, double flops, double parameters) {
    const Map computed = as_stream(map);
    OpNode& node = pointwise(std::move(name), computed, 1, flops, Fusion::epilogue, parameters);
    // The casts there and back together move what one more kernel does.
    node.eager_kernels = kernels + (computed.wide ? 1 : 0);
}

OpNode& ConvBuilder::pointwise_kernels(std::string name, const Map& map, double kernels, double flops) {
    OpNode& node = pointwise(std::move(name), map, 1, flops, Fusion::chain);
    node.eager_kernels = kernels;
    return node;
}

void ConvBuilder::broadcast_kernels(std::string name, const Map& map, double kernels) {
    std::get<Elementwise>(pointwise_kernels(std::move(name), map, kernels, 1).op).strided = lowering_.framework();
}

void ConvBuilder::parameters(std::string name, double count) {
    if (count > 0)
        emit(std::move(name), Elementwise{.elements = static_cast<Count>(count), .precision = wide_}, Fusion::folded, 0, 0).weights = count;
}

void ConvBuilder::gates(const Map& map, Count steps) {
    constexpr double gates = 4, reads = (2 * gates + 1) / gates, writes = 2 / gates, flops = 8;
    const Elementwise op{
        .elements = map.elements() * run_.batch, .reads = reads, .writes = writes, .flops_per_element = flops, .precision = stored_};
    emit("gates", op, Fusion::none, map.elements(), 0).repeat = steps;
}

void ConvBuilder::standardize(Count channels, Count filter, bool gain) {
    // Brock et al., High-Performance Large-Scale Image Recognition Without Normalization (2021), equation 1: in fp32, as weights are.
    constexpr double kernels = 3;  // gain, statistics, normalization
    const RowWise op{.kind = RowOp::layernorm, .rows = channels, .cols = filter, .precision = wide_};
    OpNode& node = emit("standardize_weights", op, Fusion::folded, 0, 0);
    node.eager_kernels = kernels;
    if (gain) node.weights = static_cast<double>(channels);
    // Published counts come from a profiler that sees a batch norm in training: five a weight.
    constexpr double counted = 5;
    node.macs = counted * static_cast<double>(channels * filter);
}

void ConvBuilder::add(const Map& map) {
    add_in_place("add", map, 2, Fusion::epilogue);
}

Map ConvBuilder::add(const Map& stream, const Map& branch, std::string name) {
    Map out = branch;
    out.wide = stream.wide || branch.wide;
    // Both are read; the sum is written in the wider format.
    const double read = (element_size(format(stream)) + element_size(format(branch))) / element_size(format(out));
    OpNode& sum = add_in_place(std::move(name), out, read, Fusion::epilogue);
    if (stream.wide != branch.wide) std::get<Elementwise>(sum.op).mixed_operands = 2;
    return out;
}

Map ConvBuilder::weighted_sum(const std::vector<Map>& maps) {
    constexpr double kernels = 3;  // weights are normalized, maps weighed and added
    const auto reads = static_cast<double>(maps.size());
    Map sum = maps.front();
    sum.kept = false;
    pointwise("weighted_sum", sum, reads, 2 * reads, Fusion::chain).eager_kernels = kernels;
    return sum;
}

void ConvBuilder::scale(const Map& map, double parameters) {
    pointwise("scale", map, 1, 1, Fusion::epilogue, parameters);
}

void ConvBuilder::gate(const Map& map) {
    std::get<Elementwise>(pointwise("gate", map, 1, 1, Fusion::chain).op).strided = lowering_.framework();
}

Map ConvBuilder::sum_of_parts(const Map& map, Count parts) {
    Map out = as_stream(map);
    out.channels /= parts;
    out.kept = false;
    Elementwise op = scaling(out.elements() * run_.batch, format(map), format(out));
    op.reads *= static_cast<double>(parts);
    // PyTorch writes sums plane by plane, whatever it reads.
    if (lowering_.framework() && channels_last(map)) {
        out = as_planes(out);
        op.apart = static_cast<double>(parts);
    }
    convert("sum_of_parts", map, op);
    return out;
}

Map ConvBuilder::weigh(const Map& map) {
    const Map out = as_stream(map);
    Elementwise op = scaling(map.elements() * run_.batch, format(map), format(out));
    op.strided = lowering_.framework();
    convert("weigh", map, op);
    return out;
}

Map ConvBuilder::layer_scale(const Map& map) {
    const Map out = as_stream(map);
    Elementwise op = scaling(map.elements() * run_.batch, format(map), format(out));
    op.strided = lowering_.framework();
    OpNode& node = convert("layer_scale", map, op);
    node.fusion = Fusion::epilogue;
    node.weights = static_cast<double>(map.channels);
    return out;
}

Map ConvBuilder::add_positions(const Map& map, Count rows) {
    Map out = as_stream(map);
    convert("add_positions", map, scaling(map.elements() * run_.batch, format(map), format(out))).weights =
        static_cast<double>((rows > 0 ? rows : map.places()) * map.channels);
    return out;
}

Map ConvBuilder::as_rows(const Map& map) const {
    Map out = map;
    out.by_rows = lowering_.framework() && !lowering_.channels_last;
    return out;
}

Map ConvBuilder::as_stream(const Map& map) const {
    Map out = map;
    out.wide = mixed_precision();
    return out;
}

Map ConvBuilder::narrowed(const Map& map) {
    if (!map.wide) return map;
    convert("cast", map, narrowing(map.elements() * run_.batch, wide_, stored_));
    Map out = map;
    out.wide = false;
    return out;
}

}  // namespace roofcast
