#include "workload/net_scaling.hpp"

#include <algorithm>
#include <cmath>

#include "units/divisible.hpp"
#include "workload/readers.hpp"

namespace roofcast {

namespace {

bool scales_as_yolo(TableReader& reader) {
    const std::string rule = reader.text_if("scaling").value_or("yolo");
    if (rule == "yolo" || rule == "efficientnet") return rule == "yolo";
    throw reader.error("scaling", "unknown rounding rule", {}, "yolo or efficientnet", did_you_mean(rule, {"yolo", "efficientnet"}));
}

}  // namespace

NetScaling::NetScaling(TableReader& reader)
    : depth_(reader.number_if("depth_multiple", plausible_factor).value_or(1)),
      width_(reader.number_if("width_multiple", plausible_factor).value_or(1)),
      most_channels_(reader.count_if("max_channels", 1, largest_size).value_or(0)),
      divisor_(reader.count_if("channel_divisor", 1, largest_size).value_or(8)),
      as_yolo_(scales_as_yolo(reader)) {}

std::int64_t NetScaling::channels(std::int64_t listed) const {
    const std::int64_t capped = most_channels_ > 0 ? std::min(listed, most_channels_) : listed;
    if (width_ == 1 || capped == 0) return capped;
    const double scaled = static_cast<double>(capped) * width_, divisor = static_cast<double>(divisor_);
    return static_cast<std::int64_t>(as_yolo_ ? std::ceil(scaled / divisor) * divisor : divisible(scaled, divisor));
}

std::int64_t NetScaling::repeats(std::int64_t listed) const {
    if (listed == 0 || (listed == 1 && as_yolo_)) return listed;
    constexpr double noise = 1e-9;
    const double scaled = static_cast<double>(listed) * depth_;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(as_yolo_ ? std::nearbyint(scaled) : std::ceil(scaled - noise)));
}

}  // namespace roofcast
