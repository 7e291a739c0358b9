#include "roofcast/precision.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "units/weight_formats.hpp"

namespace roofcast {

namespace {

constexpr std::array<std::string_view, precision_count> precision_names{"fp64", "fp32", "tf32", "fp16", "bf16",
                                                                        "fp8",  "int8", "int4", "fp4"};

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

}  // namespace

std::string_view name(Precision p) {
    return precision_names[index(p)];
}

std::string_view name(MathUnit u) {
    constexpr std::array<std::string_view, math_unit_count> names{"simt", "tensor16", "tensor8", "integer8", "tensor4"};
    return names[index(u)];
}

std::string_view name(CacheFormat f) {
    constexpr std::string_view names[] = {"plain", "narrow"};
    return names[index(f)];
}

std::optional<Precision> parse_precision(std::string_view text) {
    const std::string wanted = lower(text);
    for (const Precision p : all_precisions) {
        if (wanted == name(p)) return p;
    }
    constexpr std::pair<std::string_view, Precision> spellings[] = {
        {"double", Precision::fp64}, {"float64", Precision::fp64}, {"float", Precision::fp32},    {"float32", Precision::fp32},
        {"half", Precision::fp16},   {"float16", Precision::fp16}, {"bfloat16", Precision::bf16}, {"fp8_e4m3", Precision::fp8},
        {"float8", Precision::fp8},  {"e4m3", Precision::fp8},     {"nvfp4", Precision::fp4},     {"mxfp4", Precision::fp4}};
    for (const auto& [spelling, p] : spellings) {
        if (wanted == spelling) return p;
    }
    return std::nullopt;
}

std::string name(const WeightFormat& format) {
    return format.label.empty() ? std::string(name(format.precision)) : format.label;
}

WeightFormat native_weights(Precision p) {
    return {p, element_size(p).in(byte)*8, {}};
}

namespace {

/// ExLlamaV2 names its formats by their mean bits per weight: "exl2-2.5-bpw".
std::optional<WeightFormat> parse_exl2(const std::string& text) {
    constexpr std::string_view before = "exl2-", after = "-bpw";
    constexpr double most_bits = 8;
    if (text.size() <= before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after)) return std::nullopt;
    double bits = 0;
    const char* end = text.data() + text.size() - after.size();
    const auto parsed = std::from_chars(text.data() + before.size(), end, bits);
    if (parsed.ec != std::errc{} || parsed.ptr != end || !(bits > 0 && bits <= most_bits)) return std::nullopt;
    return WeightFormat{.precision = Precision::int4, .bits = bits, .label = text};
}

}  // namespace

std::optional<WeightFormat> parse_weight_format(std::string_view text) {
    const std::string wanted = lower(text);
    if (auto exl2 = parse_exl2(wanted)) return exl2;
    if (auto named = named_weight_format(wanted)) return named;
    const auto p = parse_precision(wanted);
    if (!p) return std::nullopt;
    WeightFormat format = native_weights(*p);
    format.label = std::string(name(*p));
    return format;
}

std::optional<Precision> multiplied_in(const WeightFormat& format) {
    constexpr std::string_view microscaled = "nvfp4";
    if (format.precision == Precision::fp8) return Precision::fp8;
    return format.label == microscaled ? std::optional(Precision::fp4) : std::nullopt;
}

std::vector<std::string> weight_format_names() {
    std::vector<std::string> names;
    for (const Precision p : all_precisions) names.emplace_back(name(p));
    for (std::string& format : named_weight_formats()) {
        if (std::find(names.begin(), names.end(), format) == names.end()) names.push_back(std::move(format));
    }
    return names;
}

}  // namespace roofcast
