// Operators that change the shape of a tensor and keep its elements, or make one of a shape.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/tensor/inference.hpp"

namespace roofcast {

namespace {

/// Output 0 has the elements of input 0 in the same order.
void as_shape(Inference& n, TensorShape shape) {
    n.give(0, std::move(shape));
    const std::vector<double>* x = n.values(0);
    if (x != nullptr && n.wants_values(static_cast<std::int64_t>(x->size()))) n.give_values(*x);
}

void shape_of(Inference& n) {
    const TensorShape& shape = n.shape(0);
    const auto rank = static_cast<std::int64_t>(shape.size());
    const auto place = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
    const std::int64_t start = place(n.node().integer("start", 0)), end = std::max(start, place(n.node().integer("end", rank)));
    std::vector<double> values(shape.begin() + start, shape.begin() + end);
    n.give(0, {end - start}, ElementType::int64);
    n.give_values(std::move(values));
}

void size_of(Inference& n) {
    const Count elements = elements_of(n.shape(0));
    n.give(0, {}, ElementType::int64);
    n.give_values({static_cast<double>(elements)});
}

void reshape(Inference& n) {
    std::optional<TensorShape> target = n.setting("shape", 1);
    if (!target) return;
    const TensorShape& from = n.shape(0);
    const bool zeros = n.node().integer("allowzero", 0) != 0;
    Count known = 1;
    std::optional<std::size_t> open;
    for (std::size_t i = 0; i < target->size(); ++i) {
        std::int64_t& size = (*target)[i];
        if (size == 0 && !zeros) {
            if (i >= from.size()) n.refuse("a copied dimension is not there");
            size = from[i];
        }
        if (size == -1 && open) n.refuse("two dimensions are open");
        if (size == -1) open = i;
        if (size >= 0) known *= size;
    }
    const Count elements = elements_of(from);
    if (open) (*target)[*open] = known == 0 ? Count(0) : elements / known;
    if (std::any_of(target->begin(), target->end(), [](std::int64_t size) { return size < 0; }) || elements_of(*target) != elements)
        n.refuse("the elements do not fit into the new shape",
                 fmt::format("[{}] into [{}]", fmt::join(from, ", "), fmt::join(*target, ", ")));
    as_shape(n, *target);
}

void flatten(Inference& n) {
    const TensorShape& from = n.shape(0);
    const std::int64_t written = n.node().integer("axis", 1);
    const auto rank = static_cast<std::int64_t>(from.size());
    const std::int64_t axis = std::clamp<std::int64_t>(written < 0 ? written + rank : written, 0, rank);
    const TensorShape outer(from.begin(), from.begin() + axis), inner(from.begin() + axis, from.end());
    as_shape(n, {elements_of(outer), elements_of(inner)});
}

void squeeze(Inference& n) {
    const TensorShape& from = n.shape(0);
    const std::optional<TensorShape> axes = n.setting("axes", 1);
    if (n.in(1) != nullptr && !axes) return;  // data decide
    std::vector<bool> dropped(from.size(), false);
    if (axes) {
        for (const std::int64_t axis : *axes) dropped[n.axis(axis, from.size())] = true;
    } else {
        for (std::size_t i = 0; i < from.size(); ++i) dropped[i] = from[i] == 1;
    }
    TensorShape to;
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (!dropped[i]) to.push_back(from[i]);
        if (dropped[i] && from[i] != 1) n.refuse("a dimension that is dropped is not 1", std::to_string(from[i]));
    }
    as_shape(n, to);
}

void unsqueeze(Inference& n) {
    const TensorShape& from = n.shape(0);
    const std::optional<TensorShape> axes = n.setting("axes", 1);
    if (!axes) return;
    const std::size_t rank = from.size() + axes->size();
    constexpr std::size_t most = 32;
    if (rank > most) n.refuse("the tensor would have too many dimensions", std::to_string(rank));
    std::vector<bool> added(rank, false);
    for (const std::int64_t axis : *axes) added[n.axis(axis, rank)] = true;
    TensorShape to;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; ++i) to.push_back(added[i] || next >= from.size() ? 1 : from[next++]);
    if (next < from.size()) n.refuse("an axis is named twice");
    as_shape(n, to);
}

void transpose(Inference& n) {
    const TensorShape& from = n.shape(0);
    TensorShape order = n.node().integers("perm");
    if (order.empty()) {
        for (std::size_t i = from.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
    }
    if (order.size() != from.size()) n.refuse("the order does not have all dimensions");
    TensorShape to;
    for (const std::int64_t axis : order) to.push_back(from[n.axis(axis, from.size())]);
    if (elements_of(to) != elements_of(from)) n.refuse("the order names a dimension twice");
    n.give(0, to);
    if (from.size() == 1 && n.values(0) != nullptr && n.wants_values(from.front())) n.give_values(*n.values(0));
}

/// Values of input 0 repeated to `out`, where it is one number.
void fill_values(Inference& n, const TensorShape& out) {
    const std::vector<double>* x = n.values(0);
    const Count elements = elements_of(out);
    if (x == nullptr || !n.wants_values(elements)) return;
    if (x->size() == 1) n.give_values(std::vector<double>(static_cast<std::size_t>(elements), x->front()));
    if (x->size() == static_cast<std::size_t>(elements)) n.give_values(*x);
}

void expand(Inference& n) {
    const auto target = n.whole(1);
    if (!target) return;
    const TensorShape out = broadcast(n, n.shape(0), *target);
    n.give(0, out);
    fill_values(n, out);
}

void tile(Inference& n) {
    const auto times = n.whole(1);
    if (!times) return;
    TensorShape out = n.shape(0);
    if (times->size() != out.size()) n.refuse("the repetitions do not fit the dimensions");
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = Count(out[i]) * (*times)[i];
    n.give(0, out);
    fill_values(n, out);
}

void constant_of_shape(Inference& n) {
    const auto shape = n.whole(0);
    if (!shape) return;
    n.give(0, *shape, ElementType::other);
    // The value is a tensor, which the reader does not keep: ones and zeros are what shapes are made of.
    const Count elements = elements_of(*shape);
    if (n.wants_values(elements)) n.give_values(std::vector<double>(static_cast<std::size_t>(elements), n.node().number("value", 0)));
}

void range(Inference& n) {
    const std::vector<double>*start = n.values(0), *limit = n.values(1), *step = n.values(2);
    if (start == nullptr || limit == nullptr || step == nullptr || start->empty() || limit->empty() || step->empty()) return;
    if (step->front() == 0) n.refuse("the step is 0");
    const Count size(std::max(0.0, std::ceil((limit->front() - start->front()) / step->front())));
    n.give(0, {size});
    if (!n.wants_values(size)) return;
    std::vector<double> values;
    for (std::int64_t i = 0; i < size; ++i) values.push_back(start->front() + static_cast<double>(i) * step->front());
    n.give_values(std::move(values));
}

void concat(Inference& n) {
    TensorShape out = n.shape(0);
    const std::size_t axis = n.axis(n.node().integer("axis", 0), out.size());
    Count total = 0;
    std::vector<double> values;
    bool all = out.size() == 1;
    for (std::size_t i = 0; i < n.inputs(); ++i) {
        const TensorShape& part = n.shape(i);
        if (part.size() != out.size()) n.refuse("the parts have different numbers of dimensions");
        for (std::size_t k = 0; k < part.size(); ++k) {
            if (k != axis && part[k] != out[k])
                n.refuse("the parts do not fit together", fmt::format("[{}] and [{}]", fmt::join(out, ", "), fmt::join(part, ", ")));
        }
        total += part[axis];
        all = all && (n.values(i) != nullptr || part[axis] == 0);
        if (all && part[axis] > 0) values.insert(values.end(), n.values(i)->begin(), n.values(i)->end());
    }
    out[axis] = total;
    n.give(0, out);
    if (all && n.wants_values(total)) n.give_values(std::move(values));
}

void split(Inference& n) {
    const TensorShape from = n.shape(0);
    const std::size_t axis = n.axis(n.node().integer("axis", 0), from.size());
    const auto parts = static_cast<std::int64_t>(n.outputs());
    const std::optional<TensorShape> given = n.setting("split", 1);
    if (n.in(1) != nullptr && !given) return;  // data decide
    TensorShape sizes = given.value_or(TensorShape{});
    if (sizes.empty()) {
        const std::int64_t part = (from[axis] + parts - 1) / parts;
        for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(from[axis] - i * part, 0, part));
    }
    if (sizes.size() != n.outputs()) n.refuse("the sizes do not fit the outputs");
    Count total = 0;
    for (const std::int64_t size : sizes) total += size;
    if (total != from[axis]) n.refuse("the parts do not make up the tensor");
    const ElementType type = n.type(0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        TensorShape part = from;
        part[axis] = sizes[i];
        n.give(i, part, type);
    }
    const std::vector<double>* x = n.values(0);
    if (x != nullptr && from.size() == 1 && n.outputs() == 1) n.give_values(*x);
}

void pad(Inference& n) {
    const auto pads = n.setting("pads", 1);
    if (!pads) return;
    TensorShape out = n.shape(0);
    const auto axes = n.whole(3);
    const std::size_t count = axes ? axes->size() : out.size();
    if (pads->size() != 2 * count) n.refuse("the padding does not fit the dimensions");
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t axis = axes ? n.axis((*axes)[i], out.size()) : i;
        out[axis] = Count(out[axis]) + (*pads)[i] + (*pads)[i + count];
    }
    n.give(0, out);
}

void depth_to_space(Inference& n) {
    const TensorShape& from = n.shape(0);
    const Count block = n.node().integer("blocksize", 1);
    if (from.size() != 4 || block < 1) n.refuse("the tensor is no image");
    if (n.node().kind == "DepthToSpace") return n.give(0, {from[0], from[1] / (block * block), from[2] * block, from[3] * block});
    n.give(0, {from[0], from[1] * (block * block), from[2] / block, from[3] / block});
}

}  // namespace

void add_layout_rules(ShapeRules& rules) {
    rules.emplace("Shape", shape_of);
    rules.emplace("Size", size_of);
    rules.emplace("Reshape", reshape);
    rules.emplace("Flatten", flatten);
    rules.emplace("Squeeze", squeeze);
    rules.emplace("Unsqueeze", unsqueeze);
    rules.emplace("Transpose", transpose);
    rules.emplace("Expand", expand);
    rules.emplace("Tile", tile);
    rules.emplace("ConstantOfShape", constant_of_shape);
    rules.emplace("Range", range);
    rules.emplace("Concat", concat);
    rules.emplace("Split", split);
    rules.emplace("Pad", pad);
    rules.emplace("DepthToSpace", depth_to_space);
    rules.emplace("SpaceToDepth", depth_to_space);
}

}  // namespace roofcast
