// Convolutions, pools and resizing.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/tensor/inference.hpp"

namespace roofcast {

namespace {

/// Settings of a window along each of the dimensions behind batch and channels.
struct Windows {
    TensorShape kernel, strides, dilations, before, after;
};

Windows windows(Inference& n, TensorShape kernel, std::size_t dimensions) {
    const TensorNode& node = n.node();
    const auto filled = [&](std::string_view name, std::size_t count, std::int64_t standard) {
        TensorShape values = node.integers(name);
        if (values.empty()) values.assign(count, standard);
        if (values.size() != count) n.refuse(fmt::format("{} do not fit the dimensions", name));
        return values;
    };
    Windows w;
    w.kernel = node.find("kernel_shape") != nullptr ? filled("kernel_shape", dimensions, 1) : std::move(kernel);
    w.strides = filled("strides", dimensions, 1);
    w.dilations = filled("dilations", dimensions, 1);
    const TensorShape pads = filled("pads", 2 * dimensions, 0);
    w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dimensions));
    w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(dimensions), pads.end());
    constexpr std::int64_t most = std::int64_t{1} << 24;
    for (const TensorShape* values : {&w.kernel, &w.strides, &w.dilations}) {
        if (std::any_of(values->begin(), values->end(), [](std::int64_t v) { return v < 1 || v > most; }))
            n.refuse("kernel, strides and dilations must be positive");
    }
    if (std::any_of(pads.begin(), pads.end(), [](std::int64_t v) { return v < -most || v > most; })) n.refuse("the padding is implausible");
    return w;
}

/// Places of a window along a side.
std::int64_t places(Inference& n, const Windows& w, std::size_t i, std::int64_t side) {
    const std::string_view padding = n.node().text("auto_pad", "NOTSET");
    if (padding.starts_with("SAME")) return (side + w.strides[i] - 1) / w.strides[i];
    const std::int64_t reach = w.dilations[i] * (w.kernel[i] - 1) + 1;
    const std::int64_t padded = padding == "VALID" ? side : side + w.before[i] + w.after[i];
    if (padded < reach) n.refuse("the image is too small: a layer would have no output", std::to_string(side));
    const std::int64_t rounding = n.node().integer("ceil_mode", 0) != 0 ? w.strides[i] - 1 : 0;
    return (padded - reach + rounding) / w.strides[i] + 1;
}

void convolve(Inference& n, std::size_t weights, ElementType type) {
    const TensorShape &x = n.shape(0), &w = n.shape(weights);
    if (x.size() < 3 || x.size() != w.size()) n.refuse("input and weights have different numbers of dimensions");
    const std::int64_t groups = n.node().integer("group", 1);
    if (groups < 1 || x[1] != Count(w[1]) * groups || w[0] % groups != 0)
        n.refuse("the groups of the convolution do not fit its channels", fmt::format("{} groups, {} to {} channels", groups, x[1], w[0]));
    const std::size_t dimensions = x.size() - 2;
    const Windows window = windows(n, {w.begin() + 2, w.end()}, dimensions);
    TensorShape out{x[0], w[0]};
    for (std::size_t i = 0; i < dimensions; ++i) out.push_back(places(n, window, i, x[i + 2]));
    n.give(0, out, type);
}

void conv(Inference& n) {
    convolve(n, 1, n.type(0));
}

void quantized_conv(Inference& n) {
    convolve(n, 3, n.type(0));
}

void integer_conv(Inference& n) {
    convolve(n, 1, ElementType::int32);
}

void transposed_conv(Inference& n) {
    const TensorShape &x = n.shape(0), &w = n.shape(1);
    if (x.size() < 3 || x.size() != w.size() || x[1] != w[0]) n.refuse("the weights do not fit the input");
    const std::size_t dimensions = x.size() - 2;
    const Windows window = windows(n, {w.begin() + 2, w.end()}, dimensions);
    const TensorShape sizes = n.node().integers("output_shape");
    TensorShape added = n.node().integers("output_padding");
    added.resize(dimensions, 0);
    TensorShape out{x[0], Count(w[1]) * n.node().integer("group", 1)};
    const bool same = n.node().text("auto_pad", "NOTSET").starts_with("SAME");
    for (std::size_t i = 0; i < dimensions; ++i) {
        if (sizes.size() >= dimensions) {
            out.push_back(sizes[sizes.size() - dimensions + i]);
        } else if (same) {
            out.push_back(Count(x[i + 2]) * window.strides[i]);
        } else {
            out.push_back(Count(x[i + 2] - 1) * window.strides[i] + added[i] + window.dilations[i] * (window.kernel[i] - 1) + 1 -
                          window.before[i] - window.after[i]);
        }
    }
    n.give(0, out);
}

void pool(Inference& n) {
    const TensorShape& x = n.shape(0);
    if (x.size() < 3) n.refuse("the input is no map");
    const Windows window = windows(n, TensorShape(x.size() - 2, 1), x.size() - 2);
    TensorShape out{x[0], x[1]};
    for (std::size_t i = 0; i + 2 < x.size(); ++i) out.push_back(places(n, window, i, x[i + 2]));
    const ElementType type = n.type(0);
    n.give(0, out, type);
    n.give(1, out, ElementType::int64);
}

void global_pool(Inference& n) {
    TensorShape out = n.shape(0);
    for (std::size_t i = 2; i < out.size(); ++i) out[i] = 1;
    n.give(0, out);
}

/// Scales or sizes, whichever is there: version 10 and Upsample have scales as the second input, later ones behind a region.
void resize(Inference& n) {
    const TensorShape& x = n.shape(0);
    const auto sizes = n.whole(3);
    const std::size_t place = n.node().kind == "Upsample" || n.inputs() == 2 ? 1 : 2;
    const TensorAttribute* attribute = n.node().find("scales");
    const std::vector<double>* scales = attribute != nullptr ? &attribute->numbers : n.values(place);
    TensorShape axes = n.node().integers("axes");
    if (axes.empty()) {
        for (std::size_t i = 0; i < x.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    }
    TensorShape out = x;
    if (sizes && sizes->size() == axes.size()) {
        for (std::size_t i = 0; i < axes.size(); ++i) out[n.axis(axes[i], x.size())] = (*sizes)[i];
    } else if (scales != nullptr && scales->size() == axes.size()) {
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const std::size_t axis = n.axis(axes[i], x.size());
            out[axis] = Count(std::floor(static_cast<double>(x[axis]) * (*scales)[i]));
        }
    } else {
        return;
    }
    n.give(0, out);
}

}  // namespace

void add_window_rules(ShapeRules& rules) {
    rules.emplace("Conv", conv);
    rules.emplace("com.microsoft.FusedConv", conv);
    rules.emplace("QLinearConv", quantized_conv);
    rules.emplace("ConvInteger", integer_conv);
    rules.emplace("ConvTranspose", transposed_conv);
    for (const char* kind : {"MaxPool", "AveragePool", "LpPool"}) rules.emplace(kind, pool);
    for (const char* kind : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) rules.emplace(kind, global_pool);
    rules.emplace("Resize", resize);
    rules.emplace("Upsample", resize);
}

}  // namespace roofcast
