#include "roofcast/sweep.hpp"

#include <fmt/format.h>

#include <charconv>

#include "prediction/longest_phase.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t most_shards = 1'000'000;

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

void take_figures(SweepPoint& point, const Prediction& p) {
    point.latency = p.latency;
    point.ttft = p.ttft;
    point.tpot = p.tpot;
    point.items_per_second = p.items_per_second;
    point.tokens_per_second = p.tokens_per_second;
    point.intervals = p.intervals;
    point.bound = longest_phase(p).bound;
    point.utilization = longest_phase(p).utilization;
}

std::int64_t gpus(const SweepPoint& point) {
    return point.request->parallel.gpus();
}

/// The first of those that run and that `comparable` accepts with the smallest `size`; nullptr: none.
template <class Comparable, class Size>
const SweepPoint* smallest(const std::vector<SweepPoint>& points, Comparable comparable, Size size) {
    const SweepPoint* best = nullptr;
    for (const SweepPoint& point : points) {
        if (point.runs() && comparable(point) && (best == nullptr || size(point) < size(*best))) best = &point;
    }
    return best;
}

bool same_degrees(const Parallelism& a, const Parallelism& b) {
    return a.tensor == b.tensor && a.pipeline == b.pipeline && a.data == b.data && a.attention_data == b.attention_data;
}

}  // namespace

Grid::Grid(std::vector<std::int64_t> lengths) : lengths_(std::move(lengths)) {
    for (const std::int64_t length : lengths_) {
        size_ *= length;
        if (size_ > largest_grid)
            throw Error({.what = "the grid is too large",
                         .found = fmt::format("more than {} points", largest_grid),
                         .expected = fmt::format("at most {}", largest_grid),
                         .suggestion = "shorten a list"});
    }
}

std::vector<std::size_t> Grid::point(std::int64_t index) const {
    std::vector<std::size_t> values(lengths_.size());
    for (std::size_t i = lengths_.size(); i-- > 0;) {
        values[i] = static_cast<std::size_t>(index % lengths_[i]);
        index /= lengths_[i];
    }
    return values;
}

Shard parse_shard(std::string_view text) {
    const auto slash = text.find('/');
    const auto index = whole_number(text.substr(0, slash));
    const auto count = slash == std::string_view::npos ? std::nullopt : whole_number(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count && *count <= most_shards) return {*index, *count};
    throw Error({.what = "invalid shard",
                 .key = "shard",
                 .found = std::string(text),
                 .expected = fmt::format("i/n with 1 <= i <= n <= {}, such as 2/8", most_shards)});
}

SweepPoint sweep_point(const Workload& workload, const Gpu& gpu, const Run& request, const SoftwareStacks& software) {
    SweepPoint point;
    try {
        const Prediction p = predict(workload, gpu, request, software);
        point.request = p.request;
        point.memory = p.memory;
        point.reason = obstacle(p);
        if (p.runs()) take_figures(point, p);
    } catch (const Error& e) {
        point.reason = e.what();
        point.refusal = e.detail();
    }
    return point;
}

void relate(std::vector<SweepPoint>& points) {
    for (SweepPoint& point : points) {
        if (!point.runs()) continue;
        const Run& own = *point.request;
        const SweepPoint* fewest = smallest(
            points, [&](const SweepPoint& other) { return other.request->streams == own.streams; }, gpus);
        point.speedup = point.items_per_second / fewest->items_per_second;
        point.parallel_efficiency = *point.speedup * static_cast<double>(gpus(*fewest)) / static_cast<double>(gpus(point));
        const SweepPoint* unsplit = smallest(
            points, [&](const SweepPoint& other) { return same_degrees(other.request->parallel, own.parallel); },
            [](const SweepPoint& other) { return other.request->streams; });
        point.streams_speedup = point.items_per_second / unsplit->items_per_second;
    }
}

}  // namespace roofcast
