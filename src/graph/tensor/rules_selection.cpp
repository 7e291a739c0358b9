// Operators that take some of a tensor's elements, or one number of several.

#include <algorithm>
#include <array>

#include "graph/tensor/inference.hpp"

namespace roofcast {

namespace {

void gather(Inference& n) {
    const TensorShape &from = n.shape(0), &indices = n.shape(1);
    const std::size_t axis = n.axis(n.node().integer("axis", 0), from.size());
    TensorShape out(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(axis));
    out.insert(out.end(), indices.begin(), indices.end());
    out.insert(out.end(), from.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.end());
    n.give(0, out);
    const std::vector<double>* x = n.values(0);
    const auto places = n.whole(1);
    if (x == nullptr || !places || from.size() != 1 || !n.wants_values(elements_of(out))) return;
    std::vector<double> values;
    for (std::int64_t place : *places) {
        if (place < 0) place += from[0];
        if (place < 0 || place >= from[0]) n.refuse("an index is out of range", std::to_string(place));
        values.push_back((*x)[static_cast<std::size_t>(place)]);
    }
    n.give_values(std::move(values));
}

void gather_elements(Inference& n) {
    n.give(0, n.shape(1));
}

void gather_nd(Inference& n) {
    const TensorShape &from = n.shape(0), &indices = n.shape(1);
    const std::int64_t batched = n.node().integer("batch_dims", 0);
    if (indices.empty() || batched < 0) n.refuse("the indices have no dimension");
    const auto rank = static_cast<std::int64_t>(from.size());
    if (batched > rank || indices.back() > rank - batched) n.refuse("the indices have too many numbers");
    const std::int64_t taken = batched + indices.back();
    if (taken > rank) n.refuse("the indices have too many numbers");
    TensorShape out(indices.begin(), indices.end() - 1);
    out.insert(out.end(), from.begin() + taken, from.end());
    n.give(0, out);
}

struct SliceRange {
    std::int64_t start = 0, size = 0, step = 1;
};

SliceRange slice_range(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t length) {
    if (length < 1) return {0, 0, step};
    const auto place = [length](std::int64_t i, std::int64_t least, std::int64_t most) {
        return std::clamp(i < 0 ? i + length : i, least, most);
    };
    if (step > 0) {
        const std::int64_t first = place(start, 0, length), last = place(end, 0, length);
        return {first, std::max<std::int64_t>(0, (last - first + step - 1) / step), step};
    }
    const std::int64_t first = place(start, 0, length - 1), last = end < -length ? -1 : place(end, -1, length - 1);
    return {first, std::max<std::int64_t>(0, (last - first + step + 1) / step), step};
}

void slice(Inference& n) {
    const auto starts = n.setting("starts", 1), ends = n.setting("ends", 2);
    if (!starts || !ends) return;
    const bool given = n.in(3) != nullptr || n.node().find("axes") != nullptr;
    const auto axes = n.setting("axes", 3), steps = n.whole(4);
    if ((given && !axes) || (n.in(4) != nullptr && !steps)) return;
    TensorShape out = n.shape(0);
    if (starts->size() != ends->size() || (axes && axes->size() != starts->size()) || (steps && steps->size() != starts->size()))
        n.refuse("starts, ends, axes and steps have different lengths");
    const std::vector<double>* x = n.values(0);
    const bool row = out.size() == 1 && starts->size() == 1 && x != nullptr;
    SliceRange range;
    for (std::size_t i = 0; i < starts->size(); ++i) {
        const std::size_t axis = n.axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), out.size());
        const std::int64_t step = steps ? (*steps)[i] : 1;
        constexpr std::int64_t farthest = std::int64_t{1} << 40;
        if (step == 0 || step < -farthest || step > farthest) n.refuse("the step is 0 or implausible");
        range = slice_range((*starts)[i], (*ends)[i], step, out[axis]);
        out[axis] = range.size;
    }
    n.give(0, out);
    if (!row || !n.wants_values(range.size)) return;
    std::vector<double> values;
    for (std::int64_t i = 0; i < range.size; ++i) values.push_back((*x)[static_cast<std::size_t>(range.start + i * range.step)]);
    n.give_values(std::move(values));
}

double reduced(std::string_view kind, const std::vector<double>& values) {
    if (kind == "ReduceProd") {
        double product = 1;
        for (const double value : values) product *= value;
        return product;
    }
    if (kind == "ReduceMax") return *std::max_element(values.begin(), values.end());
    if (kind == "ReduceMin") return *std::min_element(values.begin(), values.end());
    double sum = 0;
    for (const double value : values) sum += value;
    return kind == "ReduceMean" ? sum / static_cast<double>(values.size()) : sum;
}

void reduce(Inference& n) {
    const TensorShape& from = n.shape(0);
    const bool listed = n.node().find("axes") != nullptr || n.in(1) != nullptr;
    const auto axes = n.setting("axes", 1);
    if (listed && !axes) return;
    const bool none = !axes || axes->empty();
    if (none && n.node().integer("noop_with_empty_axes", 0) != 0) return n.give(0, from);
    std::vector<bool> gone(from.size(), none);
    if (!none) {
        for (const std::int64_t axis : *axes) gone[n.axis(axis, from.size())] = true;
    }
    const bool keep = n.node().integer("keepdims", 1) != 0;
    TensorShape out;
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (!gone[i]) out.push_back(from[i]);
        if (gone[i] && keep) out.push_back(1);
    }
    n.give(0, out);
    const std::vector<double>* x = n.values(0);
    constexpr std::array<std::string_view, 5> evaluated{"ReduceProd", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean"};
    const bool known = std::find(evaluated.begin(), evaluated.end(), n.node().kind) != evaluated.end();
    if (known && x != nullptr && !x->empty() && elements_of(out) == 1 && n.wants_values(1)) n.give_values({reduced(n.node().kind, *x)});
}

void arg_reduce(Inference& n) {
    TensorShape out = n.shape(0);
    const std::size_t axis = n.axis(n.node().integer("axis", 0), out.size());
    if (n.node().integer("keepdims", 1) != 0)
        out[axis] = 1;
    else
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
    n.give(0, out, ElementType::int64);
}

void top_k(Inference& n) {
    const auto k = n.setting("k", 1);
    if (!k || k->empty()) return;
    TensorShape out = n.shape(0);
    const std::size_t axis = n.axis(n.node().integer("axis", -1), out.size());
    out[axis] = std::min(out[axis], k->front());
    const ElementType type = n.type(0);
    n.give(0, out, type);
    n.give(1, out, ElementType::int64);
}

void one_hot(Inference& n) {
    const auto depth = n.whole(1);
    if (!depth || depth->empty()) return;
    TensorShape out = n.shape(0);
    const std::int64_t written = n.node().integer("axis", -1);
    const std::size_t axis = n.axis(written, out.size() + 1);
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), depth->front());
    n.give(0, out, n.type(2));
}

void non_zero(Inference& n) {
    const std::vector<double>* x = n.values(0);
    const TensorShape& from = n.shape(0);
    if (x == nullptr) return;
    std::vector<double> places;
    for (std::size_t i = 0; i < x->size(); ++i) {
        if ((*x)[i] != 0) places.push_back(static_cast<double>(i));
    }
    const auto found = static_cast<std::int64_t>(places.size());
    n.give(0, {static_cast<std::int64_t>(from.size()), found}, ElementType::int64);
    if (from.size() == 1 && n.wants_values(found)) n.give_values(std::move(places));
}

void eye_like(Inference& n) {
    n.give(0, n.shape(0));
}

}  // namespace

void add_selection_rules(ShapeRules& rules) {
    rules.emplace("Gather", gather);
    rules.emplace("GatherElements", gather_elements);
    rules.emplace("GatherND", gather_nd);
    rules.emplace("Slice", slice);
    for (const char* kind : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
                             "ReduceLogSumExp", "ReduceSumSquare"})
        rules.emplace(kind, reduce);
    rules.emplace("ArgMax", arg_reduce);
    rules.emplace("ArgMin", arg_reduce);
    rules.emplace("TopK", top_k);
    rules.emplace("OneHot", one_hot);
    rules.emplace("NonZero", non_zero);
    rules.emplace("EyeLike", eye_like);
}

}  // namespace roofcast
