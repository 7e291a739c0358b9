#include <algorithm>

#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// Blocks of 128 threads that an SM holds, one row each.
constexpr double rows_of_sm = 8;

/// Layer norm reads its rows once for their mean and variance and once to scale them. The second time L2 holds them, as long as the rows
/// in flight fit there beside what is written for them.
Bytes read_again(const RowWise& op, Bytes read_and_written, double sms, Bytes l2) {
    if (op.kind != RowOp::layernorm || op.rows == 0) return {};
    const double rows = static_cast<double>(op.rows);
    const Bytes in_flight = read_and_written * std::min(1.0, rows_of_sm * sms / rows);
    return in_flight > l2 ? read_and_written / 2 * (1 - l2 / in_flight) : Bytes{};
}

/// A short row takes as long as one load, the sums over warps and block, and the store need. Seen in ConvNeXts of 40 to 80 channels, alike
/// on the RTX 3090 and 4090.
Seconds short_rows_time(const RowWise& op, double sms) {
    constexpr Seconds shortest_row = 0.93 * us;
    return static_cast<double>(op.rows) / (rows_of_sm * sms) * shortest_row;
}

}  // namespace

/// One block a row: few rows fill few SMs, each of which pulls at most `fill` times its share of the bandwidth.
KernelCost cost(const RowWise& op, const Gpu& gpu, Cache cache) {
    const auto& values = gpu.parameters.values;
    const auto& p = values.row_wise;
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const Work w = work(op);
    const BytesPerSecond bandwidth = gpu.profile.bandwidth * p.bandwidth_fraction;
    Terms t;
    t.flops = w.vector;
    t.compute = t.flops / lane_rate(gpu.profile, op.precision);
    t.dram_bytes = after_l2(w.bytes, gpu.profile.l2, values.streaming.l2_residency, cache) + read_again(op, w.bytes, sms, gpu.profile.l2);
    t.dram = t.dram_bytes / bandwidth;
    const Bytes row = w.bytes / static_cast<double>(std::max<std::int64_t>(op.rows, 1));
    t.l2 = waves(static_cast<double>(op.rows), sms, 1) * row / (bandwidth * std::min(p.fill, sms) / sms);
    if (op.kind == RowOp::layernorm) t.l2 = max(t.l2, short_rows_time(op, sms));
    t.latency = p.fixed;
    return combine(t, gpu);
}

}  // namespace roofcast
