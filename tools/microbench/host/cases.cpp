#include "host/cases.hpp"

#include <array>

namespace roofcast::microbench {

namespace {

constexpr std::array<std::string_view, suite_count> suite_names{
    "gemm", "convolution", "attention", "elementwise", "row_wise", "embedding", "memory", "copy", "launch", "sustained", "collective"};
constexpr std::array<std::string_view, precision_count> precision_names{"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"};

template <class Enum, std::size_t count>
std::optional<Enum> parsed(const std::array<std::string_view, count>& names, std::string_view text) {
    for (std::size_t i = 0; i < count; ++i) {
        if (names[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

std::string text(std::int64_t value) {
    return std::to_string(value);
}

template <class... Forms>
struct overloaded : Forms... {
    using Forms::operator()...;
};
template <class... Forms>
overloaded(Forms...) -> overloaded<Forms...>;

Cells gemm_cells(const Gemm& w) {
    return {{"op", "gemm"},           {"function", w.batch > 1 ? "bmm" : w.bias ? "linear_bias" : "linear"},
            {"batch", text(w.batch)}, {"m", text(w.m)},
            {"n", text(w.n)},         {"k", text(w.k)}};
}

Cells convolution_cells(const Convolution& w) {
    return {{"op", "conv2d"},
            {"batch", text(w.batch)},
            {"in_channels", text(w.in_channels)},
            {"height", text(w.height)},
            {"width", text(w.width)},
            {"out_channels", text(w.out_channels)},
            {"kernel_size", text(w.kernel_size)},
            {"stride", text(w.stride)},
            {"padding", text(w.padding)},
            {"groups", text(w.groups)},
            {"layout", w.channels_last ? "nhwc" : "nchw"}};
}

Cells attention_cells(const Attention& w) {
    return {{"op", "attention"},
            {"batch", text(w.batch)},
            {"heads", text(w.heads)},
            {"kv_heads", text(w.kv_heads)},
            {"head_dim", text(w.head_dim)},
            {"query_len", text(w.query_len)},
            {"kv_len", text(w.kv_len)},
            {"causal", w.causal ? "1" : "0"}};
}

Cells memory_cells(const Memory& w) {
    if (w.function == "strided_read")
        return {{"quantity", "strided_read_bandwidth_gb_s"}, {"bytes", text(w.bytes)}, {"stride_bytes", text(w.stride)}};
    if (w.function == "random_read") return {{"quantity", "random_read_bandwidth_gb_s"}, {"bytes", text(w.bytes)}};
    return {{"op", "elementwise"}, {"function", w.function}, {"elements", text(w.bytes / 4)}};
}

Cells copy_cells(const Copy& w) {
    if (w.direction == Direction::device_to_device) return {{"op", "memcpy_d2d"}, {"bytes", text(w.bytes)}};
    return {{"op", w.direction == Direction::host_to_device ? "memcpy_h2d" : "memcpy_d2h"},
            {"function", w.pinned ? "pinned" : "pageable"},
            {"bytes", text(w.bytes)}};
}

Cells work_cells(const Work& work) {
    return std::visit(overloaded{[](const Gemm& w) { return gemm_cells(w); }, [](const Convolution& w) { return convolution_cells(w); },
                                 [](const Attention& w) { return attention_cells(w); },
                                 [](const Elementwise& w) -> Cells {
                                     return {{"op", "elementwise"}, {"function", w.function}, {"elements", text(w.elements)}};
                                 },
                                 [](const RowWise& w) -> Cells {
                                     return {{"op", w.op}, {"rows", text(w.rows)}, {"cols", text(w.cols)}};
                                 },
                                 [](const Embedding& w) -> Cells {
                                     return {{"op", "embedding"}, {"tokens", text(w.tokens)}, {"hidden", text(w.hidden)}};
                                 },
                                 [](const Memory& w) { return memory_cells(w); }, [](const Copy& w) { return copy_cells(w); },
                                 [](const Launch& w) -> Cells {
                                     return {{"quantity", w.quantity + "_us"}};
                                 },
                                 [](const Sustained&) -> Cells {
                                     return {{"quantity", "sustained_tflops"}};
                                 },
                                 [](const Collective& w) -> Cells {
                                     return {{"op", w.op}, {"bytes", text(w.bytes)}};
                                 }},
                      work);
}

bool caches_matter(const Case& c) {
    return !measures_device(c) && suite_of(c) != Suite::copy && suite_of(c) != Suite::collective;
}

}  // namespace

std::string_view name(Suite s) {
    return suite_names[static_cast<std::size_t>(s)];
}
std::optional<Suite> parse_suite(std::string_view text) {
    return parsed<Suite>(suite_names, text);
}
std::string_view name(Precision p) {
    return precision_names[static_cast<std::size_t>(p)];
}
std::optional<Precision> parse_precision(std::string_view text) {
    return parsed<Precision>(precision_names, text);
}

double element_size(Precision p) {
    constexpr std::array<double, precision_count> sizes{8, 4, 4, 2, 2, 1, 1};
    return sizes[static_cast<std::size_t>(p)];
}

Suite suite_of(const Case& c) {
    return static_cast<Suite>(c.work.index());
}

bool measures_device(const Case& c) {
    const auto* memory = std::get_if<Memory>(&c.work);
    const bool bandwidth = memory != nullptr && (memory->function == "strided_read" || memory->function == "random_read");
    return bandwidth || suite_of(c) == Suite::launch || suite_of(c) == Suite::sustained;
}

Cells cells(const Case& c) {
    Cells all = work_cells(c.work);
    all.emplace_back("precision", name(c.precision));
    if (suite_of(c) == Suite::gemm && (c.precision == Precision::fp8 || c.precision == Precision::int8))
        all.emplace_back("weight_precision", name(c.precision));
    if (caches_matter(c)) all.emplace_back("cache", c.cache == CacheState::cold ? "cold" : "warm");
    return all;
}

std::string described(const Case& c) {
    std::string out(name(suite_of(c)));
    for (const auto& [column, value] : cells(c)) {
        const bool says_itself = column == "op" || column == "function" || column == "precision" || column == "quantity";
        if (column == "op" && value == out) continue;
        out += " " + (says_itself ? value : std::string(column) + "=" + value);
    }
    return out;
}

}  // namespace roofcast::microbench
