// What moves maps without arithmetic: joining, slicing, and copies from one layout to the other.

#include <algorithm>

#include "graph/conv_builder.hpp"
#include "graph/layer_builder.hpp"

namespace roofcast {

Map ConvBuilder::concat(const std::vector<Map>& parts) {
    Map out = parts.front();
    out.channels = 0;
    out.kept = false;
    // Parts in both layouts leave planes, parts in both formats the wider one.
    for (const Map& part : parts) {
        out.by_rows = out.by_rows && part.by_rows;
        out.planar = out.planar || part.planar;
        out.wide = out.wide || part.wide;
    }
    Count unkept = 0, apart = 0;
    for (const Map& part : parts) {
        out.height = std::min(out.height, part.height);
        out.width = std::min(out.width, part.width);
        out.depth = std::min(out.depth, part.depth);
        out.channels += part.channels;
        unkept += part.taken();
        if (channels_last(part) && !channels_last(out)) apart += part.elements();
        if (out.wide && !part.wide) convert("cast", part, widening(part.elements() * run_.batch, stored_, wide_));
    }
    const Count moved = out.elements() * run_.batch;
    const Move op{.read = moved,
                  .written = moved,
                  .precision = format(out),
                  .apart = apart * run_.batch,
                  .integer_instructions = lowering_.framework() ? strided_copy_instructions : 0};
    emit("concat", op, Fusion::none, unkept, out.elements());
    return out;
}

Map ConvBuilder::stack(const std::vector<Map>& parts) {
    Map out = concat(parts);
    const bool apart = channels_last(out);
    out = as_planes(out);
    auto& op = std::get<Move>(graph_.segments.back().nodes.back().op);
    op.apart = apart ? op.written : 0;
    return out;
}

Map ConvBuilder::slice(const Map& in, Count channels, bool copied) {
    Map out = in;
    out.kept = false;
    out.channels = channels;
    if (copied) copy(out.elements(), "slice");
    return out;
}

void ConvBuilder::copy(Count elements, std::string name, std::optional<Count> taken) {
    const Count moved = elements * run_.batch;
    emit(std::move(name), Move{.read = moved, .written = moved, .precision = stored_}, Fusion::none, taken.value_or(elements), elements);
}

void ConvBuilder::transpose_rows(Count elements, std::string name) {
    copy(elements, std::move(name));
    auto& op = std::get<Move>(graph_.segments.back().nodes.back().op);
    op.apart = op.written;
}

void ConvBuilder::transpose(const Map& map, std::string name) {
    const Count moved = map.elements() * run_.batch;
    const Move op{.read = moved, .written = moved, .precision = format(map), .apart = moved};
    // Compilers and engines write each map in the layout that its reader wants.
    emit(std::move(name), op, Fusion::folded, map.elements(), map.elements());
}

void ConvBuilder::copy_by_image(Count elements, std::string name) {
    copy(elements, std::move(name));
    graph_.segments.back().nodes.back().eager_kernels = static_cast<double>(run_.batch);
}

void ConvBuilder::mask_shifted_windows(Count windows, Count places) {
    if (lowering_.window_mask_time > Seconds{})
        graph_.segments.back().nodes.push_back(window_mask(windows, places, lowering_.window_mask_time));
}

void ConvBuilder::suppress(Count boxes) {
    if (lowering_.suppression_kernels == 0) return;
    segment("suppression");
    graph_.segments.back().after_gpu = true;
    copy(boxes, "suppression");
    graph_.segments.back().nodes.back().eager_kernels = lowering_.suppression_kernels * static_cast<double>(net.classes * run_.batch);
}

void ConvBuilder::sample(const Map& values, Count rows, Count points) {
    // Two rows of a plane lie apart for each number that is written: each is fetched with its sector.
    constexpr double rows_of_plane = 2, flops = 8;
    const Count elements = rows * points * values.channels * run_.batch;
    const double read = static_cast<double>(values.elements() * run_.batch) / static_cast<double>(elements);
    const Elementwise op{.elements = elements, .reads = read, .flops_per_element = flops, .precision = stored_, .apart = rows_of_plane};
    emit("sample", op, Fusion::none, values.elements(), rows * points * values.channels);
}

Map ConvBuilder::to_planes(const Map& map) {
    if (!channels_last(map)) return map;
    transpose(map, "to_planes");
    return as_planes(map);
}

Map ConvBuilder::as_planes(Map map) const {
    map.planar = lowering_.channels_last;
    map.by_rows = false;
    return map;
}

}  // namespace roofcast
