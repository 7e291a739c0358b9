#pragma once
/// What the microbenchmarks can measure: one case is one kernel, shape, precision and state of the cache.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace roofcast::microbench {

enum class Suite { gemm, convolution, attention, elementwise, row_wise, embedding, memory, copy, launch, sustained, collective };
inline constexpr int suite_count = static_cast<int>(Suite::collective) + 1;
std::string_view name(Suite s);
std::optional<Suite> parse_suite(std::string_view text);

enum class Precision { fp64, fp32, tf32, fp16, bf16, fp8, int8 };
inline constexpr int precision_count = static_cast<int>(Precision::int8) + 1;
std::string_view name(Precision p);
std::optional<Precision> parse_precision(std::string_view text);
/// Bytes of a stored element.
double element_size(Precision p);

/// C[batch, m, n] = A[batch, m, k] · B[batch, n, k]ᵀ: m is tokens, n outputs, k inputs.
struct Gemm {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    bool bias = false;  ///< added by the epilogue
};

struct Convolution {
    std::int64_t batch = 1, in_channels = 0, height = 0, width = 0, out_channels = 0, kernel_size = 1, stride = 1, padding = 0, groups = 1;
    bool channels_last = false;
    [[nodiscard]] constexpr std::int64_t out_height() const { return (height + 2 * padding - kernel_size) / stride + 1; }
    [[nodiscard]] constexpr std::int64_t out_width() const { return (width + 2 * padding - kernel_size) / stride + 1; }
};

struct Attention {
    std::int64_t batch = 1, heads = 0, kv_heads = 0, head_dim = 0, query_len = 0, kv_len = 0;
    bool causal = false;
};

/// `function` is one of the measurement format's: add, mul, gelu, silu, copy.
struct Elementwise {
    std::string function;
    std::int64_t elements = 0;
};

/// `op` is softmax, layernorm or rmsnorm.
struct RowWise {
    std::string op;
    std::int64_t rows = 0, cols = 0;
};

/// Rows of `hidden` gathered by random index from a table that no cache holds.
struct Embedding {
    std::int64_t tokens = 0, hidden = 0;
};

/// `function` is read, write, copy or triad (kernel rows), strided_read or random_read (device figures).
struct Memory {
    std::string function;
    std::int64_t bytes = 0;   ///< of one array
    std::int64_t stride = 0;  ///< bytes between the 4-byte reads of strided_read
};

enum class Direction { host_to_device, device_to_host, device_to_device };
struct Copy {
    Direction direction = Direction::host_to_device;
    bool pinned = true;
    std::int64_t bytes = 0;
};

/// `quantity` is empty_kernel, launch_latency, launch_interval, graph_launch_latency or graph_kernel_interval; all in us.
struct Launch {
    std::string quantity;
};

/// Clock, power and temperature while large GEMMs run for `seconds`.
struct Sustained {
    double seconds = 0;
};

/// `op` is all_reduce or all_gather; bytes per rank.
struct Collective {
    std::string op;
    std::int64_t bytes = 0;
};

using Work = std::variant<Gemm, Convolution, Attention, Elementwise, RowWise, Embedding, Memory, Copy, Launch, Sustained, Collective>;

enum class CacheState { cold, warm };

struct Case {
    Precision precision = Precision::fp32;
    CacheState cache = CacheState::cold;
    Work work;
};

Suite suite_of(const Case& c);

/// Whether the case's figures go to the device file rather than to the kernel file: what no kernel row can say.
bool measures_device(const Case& c);

/// Floating-point or integer operations, a multiply-add counting two.
double operations(const Case& c);
/// Bytes that must move: inputs read once, outputs written once.
double compulsory_bytes(const Case& c);

/// Columns of the measurement format that identify the case, with their values.
using Cells = std::vector<std::pair<std::string_view, std::string>>;
Cells cells(const Case& c);

/// For people: "gemm bf16 m=8 n=4096 k=4096 cache=cold".
std::string described(const Case& c);

}  // namespace roofcast::microbench
