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

/// Layer norm keeps an SM busy where rows are short: a block of 128 threads takes four elements a thread at a time, and adds the sums of
/// its threads up once a row. In 16 bits it takes half as long as in 32.
Seconds busy_with_rows(const RowWise& op, double cycles, const GpuProfile& gpu) {
    constexpr std::int64_t elements_at_once = 512;
    constexpr double sums = 2;
    if (op.kind != RowOp::layernorm) return {};
    const double steps = sums + blocks(op.cols, elements_at_once), width = element_size(op.precision) / element_size(Precision::fp32);
    return lasting(static_cast<double>(op.rows) / static_cast<double>(gpu.sm_count) * steps * width * cycles, gpu);
}

/// Softmax keeps rows of up to 1024 elements in registers. Longer ones it reads again for their sum and for the result, from L2.
Seconds time_of_later_passes(const RowWise& op, Bytes read_and_written, const GpuProfile& gpu) {
    constexpr std::int64_t kept_in_registers = 1024;
    constexpr Bytes sm_reads_a_clock = 32 * byte;
    if (op.kind != RowOp::softmax || op.cols <= kept_in_registers) return {};
    return lasting(read_and_written / (sm_reads_a_clock * static_cast<double>(gpu.sm_count)), gpu);
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
    t.dram = t.dram_bytes / bandwidth + time_of_later_passes(op, w.bytes, gpu.profile);
    const Bytes row = w.bytes / static_cast<double>(std::max<std::int64_t>(op.rows, 1));
    t.l2 = waves(static_cast<double>(op.rows), sms, 1) * row / (bandwidth * std::min(p.fill, sms) / sms);
    t.compute = max(t.compute, busy_with_rows(op, p.row_cycles, gpu.profile));
    t.latency = p.fixed;
    return combine(t, gpu);
}

}  // namespace roofcast
