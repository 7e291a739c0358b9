#pragma once
/// The columns of measurement files and typed access to one row's cells.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/pcie_topology.hpp"
#include "roofcast/precision.hpp"

namespace roofcast {

enum class MeasuredColumn {
    gpu,
    op,
    model,
    precision,
    weight_precision,
    kv_precision,
    function,
    kernel,
    batch,
    m,
    n,
    k,
    in_channels,
    height,
    width,
    out_channels,
    kernel_size,
    stride,
    padding,
    groups,
    layout,
    heads,
    kv_heads,
    head_dim,
    query_len,
    kv_len,
    causal,
    sliding_window,
    architecture,
    k_heads,
    k_head_dim,
    v_heads,
    v_head_dim,
    conv_width,
    state,
    chunk,
    sites,
    streams,
    sinkhorn_iterations,
    elements,
    rows,
    cols,
    tokens,
    hidden,
    intermediate,
    experts,
    top_k,
    expert_parallel,
    gpus,
    bytes,
    pcie,
    prompt_tokens,
    output_tokens,
    image_size,
    gmacs,
    mactivations,
    mparams,
    family,
    tensor_parallel,
    pipeline_parallel,
    data_parallel,
    attention_data_parallel,
    expert_tensor_parallel,
    dense_format,
    expert_format,
    requests,
    rate_per_s,
    concurrency,
    max_seqs,
    max_tokens,
    memory_fraction,
    context_tokens,
    gpu_memory_gib,
    admission,
    mode,
    prefill_workers,
    prefill_tensor_parallel,
    prefill_attention_data_parallel,
    prefill_expert_parallel,
    decode_workers,
    decode_tensor_parallel,
    decode_attention_data_parallel,
    decode_expert_parallel,
    phase,
    execution,
    launch,
    cache,
    software,
    source,
    metric,
    value,
    latency_us,
    latency_std_us,
    latency_mean_us,
    latency_min_us,
    latency_max_us,
    latency_p95_us,
    latency_p99_us,
    value_std,
    value_mean,
    value_min,
    value_max,
    value_p95,
    value_p99,
    drift,
    ttft_ms,
    tpot_ms,
    measured,
    runs
};
inline constexpr std::size_t column_count = static_cast<std::size_t>(MeasuredColumn::runs) + 1;

std::string_view name(MeasuredColumn c);

/// Whether the column holds what was measured, rather than what it was measured of; `metric` identifies.
bool is_measured(MeasuredColumn c);

/// Columns that hold a value each of the metric they are named after, in rows without `metric` and `value`.
inline constexpr std::array wide_metrics{MeasuredColumn::ttft_ms, MeasuredColumn::tpot_ms};

/// Why a row cannot be used. Caught by the reader, which adds file and line.
struct Unusable {
    std::string reason;
};

/// Cells of one row by column; absent columns are blank.
class Row {
public:
    void clear() { cells_.fill({}); }
    void set(MeasuredColumn c, std::string_view text);

    /// Without surrounding blanks; empty when absent.
    [[nodiscard]] std::string_view text(MeasuredColumn c) const { return cells_[static_cast<std::size_t>(c)]; }
    [[nodiscard]] std::string required_text(MeasuredColumn c) const;
    /// One of `known`, or `fallback` when blank.
    [[nodiscard]] std::string_view choice(MeasuredColumn c, const std::vector<std::string_view>& known, std::string_view fallback) const;
    [[nodiscard]] std::string_view required_choice(MeasuredColumn c, const std::vector<std::string_view>& known) const;

    // Finite numbers; Unusable when present and not one, or out of range.
    [[nodiscard]] std::optional<double> number_if(MeasuredColumn c) const;
    [[nodiscard]] double number(MeasuredColumn c) const;
    /// Whole numbers of at least `lower`, and at most what keeps products of a few of them within what a kernel can address.
    [[nodiscard]] std::optional<std::int64_t> count_if(MeasuredColumn c, std::int64_t lower = 1) const;
    [[nodiscard]] std::int64_t count(MeasuredColumn c, std::int64_t lower = 1) const;
    [[nodiscard]] bool flag(MeasuredColumn c) const;  ///< 1, true, yes; false when blank

    [[nodiscard]] std::optional<Precision> precision_if(MeasuredColumn c) const;
    [[nodiscard]] std::optional<WeightFormat> weights_if(MeasuredColumn c = MeasuredColumn::weight_precision) const;
    [[nodiscard]] std::optional<PcieTopology> pcie_if() const;  ///< the pcie column

    /// All that identifies the measurement: every cell but the measured value, its deviation and the number of runs.
    [[nodiscard]] std::string identity() const;

private:
    [[nodiscard]] std::string missing(MeasuredColumn c) const;
    std::array<std::string_view, column_count> cells_{};
};

/// Maps a header's fields to columns. Throws Error for an unknown or repeated column.
std::vector<MeasuredColumn> parse_header(const std::vector<std::string_view>& fields, const std::string& file, int line);

}  // namespace roofcast
