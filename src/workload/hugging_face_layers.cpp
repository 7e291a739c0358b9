#include "workload/hugging_face_layers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast::hugging_face {

Counts numbers(const JsonReader& config, std::string_view key, const Counts& standard, std::int64_t most) {
    Counts values = config.has(key) ? config.counts(key) : standard;
    const bool inside = std::all_of(values.begin(), values.end(), [most](std::int64_t v) { return v >= 1 && v <= most; });
    if (values.empty() || !inside) throw config.error(key, "out of range", fmt::format("whole numbers from 1 to {}", most));
    return values;
}

}  // namespace roofcast::hugging_face
