#include <algorithm>

#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// Elements of the longest row that a warp of softmax keeps in registers.
std::int64_t longest_of_warp(const RowWise& op) {
    return op.in_registers ? 2048 : 1024;
}

/// Whether a warp computes the softmax of a row; else a block does.
bool by_warps(const RowWise& op) {
    return op.cols <= longest_of_warp(op);
}

/// Threads of a block that keeps a row of softmax in registers, and elements of the longest such row, 9 a thread.
constexpr std::int64_t register_threads = 1024, longest_of_block = 9 * register_threads;

bool kept_in_registers(const RowWise& op) {
    return by_warps(op) || (op.in_registers && op.cols <= longest_of_block);
}

/// Threads of a block that normalizes a row, and elements that they take at once, four a thread.
constexpr double norm_threads = 128;
constexpr std::int64_t norm_step = 512;

/// Share of the rows in flight on an SM that L1 holds: all that fit, then fast less, as each is evicted before it is read again.
double kept_in_l1(Bytes in_flight, Bytes l1) {
    constexpr double edge = 8;  // 1 / share of L1 beyond its size over which all rows are evicted
    return std::clamp(1 - (in_flight / l1 - 1) * edge, 0.0, 1.0);
}

/// What a kernel reads of its rows after their first read. One block has a row.
struct LaterReads {
    double count = 0;       ///< of the whole row
    double rows_of_sm = 1;  ///< in flight at once
    double written = 1;     ///< beside a byte of these
    bool from_l1 = false;   ///< if that holds the rows in flight
};

/// Layer norm reads its rows for their mean and variance and again to scale them, in blocks of 128 threads. Softmax reads rows that it does
/// not keep in registers for their maximum, their sum and the result, with a thread for each 32 bytes, 512 threads at most.
LaterReads later_reads(const RowWise& op, const GpuProfile& gpu) {
    constexpr double bytes_of_thread = 32, most_threads = 512, normalized_rows = 8;
    if (op.kind != RowOp::softmax) return {.count = op.kind == RowOp::layernorm || op.framework ? 1.0 : 0.0, .rows_of_sm = normalized_rows};
    if (kept_in_registers(op)) return {};
    const double threads = static_cast<double>(op.cols) * element_size(op.precision).in(byte) / bytes_of_thread;
    return {.count = 2, .rows_of_sm = gpu.facts.threads_per_sm / std::min(most_threads, threads), .written = 0.5, .from_l1 = true};
}

/// What later reads take from DRAM: what of the rows in flight L1 does not hold, and L2 does not hold beside what is written for them.
Bytes read_again(const RowWise& op, Bytes read_and_written, const GpuProfile& gpu) {
    if (op.rows == 0) return {};
    const LaterReads later = later_reads(op, gpu);
    const double rows = static_cast<double>(op.rows), sms = static_cast<double>(gpu.sm_count);
    const double rows_in_flight = std::min(rows, later.rows_of_sm * sms);
    const Bytes row = read_and_written / rows, in_flight = rows_in_flight * row * (1 + later.written) / 2;
    const Bytes l2 = gpu.shared_l2();
    if (in_flight <= l2) return {};
    const double in_l1 = later.from_l1 ? kept_in_l1(std::max(1.0, rows_in_flight / sms) * row / 2, gpu.facts.l1_per_sm) : 0;
    return later.count * (1 - in_l1) * read_and_written / 2 * (1 - l2 / in_flight);
}

/// Whether a framework's layer norm finds rows that do not start at multiples of four elements: a kernel then finds mean and variance of
/// each row in a block of 512 threads, an element a thread at a time, and another scales them.
bool has_odd_rows(const RowWise& op) {
    constexpr std::int64_t vector = 4;
    return op.framework && op.kind != RowOp::softmax && op.cols % vector != 0;
}

/// Of an SM, for such a row: PyTorch 2.11 on the H100, 17 to 9,429 columns.
double odd_row_cycles(const RowWise& op) {
    constexpr double sums = 950, step = 500;
    return sums + step * blocks(op.cols, norm_step);
}

/// Cycles from the start of a row to its end on an SM that has time, every operand in L2. The block of a norm waits for each of its steps;
/// a warp of softmax takes its elements one by one, those of two bytes more slowly; PyTorch 2.11 on the H100.
double row_latency_cycles(const RowWise& op) {
    constexpr double mean_and_variance = 1100, squares = 500, wide_element = 155, narrow_element = 205, long_row_element = 0.6;
    constexpr std::int64_t warp = 32;
    if (op.kind != RowOp::softmax) return (op.kind == RowOp::rmsnorm ? squares : mean_and_variance) * blocks(op.cols, norm_step);
    if (!by_warps(op)) return long_row_element * static_cast<double>(op.cols);
    return (element_size(op.precision) < 4 * byte ? narrow_element : wide_element) * blocks(op.cols, warp);
}

/// Times that a row waits for DRAM: a norm in each step, softmax once.
double waits(const RowWise& op) {
    return op.kind == RowOp::softmax ? 1 : blocks(op.cols, norm_step);
}

/// Rows that an SM works on at once: a norm's block of 128 threads has one, a warp of softmax too.
double rows_at_once(const RowWise& op, const GpuProfile& gpu) {
    constexpr double warp = 32, long_row_threads = 512;
    const double row_threads = op.kind != RowOp::softmax ? norm_threads : by_warps(op) ? warp : long_row_threads;
    return gpu.facts.threads_per_sm / row_threads;
}

/// Layer norm keeps an SM busy where rows are short: a block of 128 threads takes four elements a thread at a time, and adds the sums of
/// its threads up once a row. PyTorch computes in fp32 whatever it reads, twice as fast where an SM has two fp32 lanes for each integer
/// lane (ConvNeXt, EdgeNeXt and XCiT on RTX 3090 and 4090 against kernels of V100 and A100); engines take pairs of 16-bit elements at once.
Seconds busy_with_rows(const RowWise& op, double cycles, const GpuProfile& gpu) {
    const double sums = op.kind == RowOp::rmsnorm ? 0.5 : 2;  // PyTorch 2.11 on the H100: no mean, no differences from it
    if (op.kind == RowOp::softmax || (op.kind == RowOp::rmsnorm && !op.framework)) return {};
    if (has_odd_rows(op)) return lasting(static_cast<double>(op.rows) / static_cast<double>(gpu.sm_count) * odd_row_cycles(op), gpu);
    const double steps = sums + blocks(op.cols, norm_step);
    const double lanes = gpu.facts.integer_lanes_per_sm > 0 ? gpu.facts.integer_lanes_per_sm / gpu.fp32_lanes_per_sm : 1;
    const double share = op.framework ? lanes : element_size(op.precision) / element_size(Precision::fp32);
    return lasting(static_cast<double>(op.rows) / static_cast<double>(gpu.sm_count) * steps * share * cycles, gpu);
}

/// Instructions of the lanes for a row of softmax: two exponentials an element, walks, and sums over the threads; those of an engine's
/// warps are not known, and few. A block that keeps the row in registers computes as many elements a thread as the longest has, and from
/// seven on shares its SM with no other (PyTorch 2.11 on the H100).
double softmax_instructions(const RowWise& op) {
    constexpr double of_warp = 56, of_block = 95, alone = 1.3;
    constexpr std::int64_t warp = 32, most_shared = 6 * register_threads;
    if (by_warps(op)) return op.framework ? of_warp * static_cast<double>(std::max(op.cols, warp)) : 0;
    if (!kept_in_registers(op)) return of_block * static_cast<double>(op.cols);
    return of_block * (op.cols > most_shared ? alone : 1) * static_cast<double>(register_threads) * blocks(op.cols, register_threads);
}

/// Softmax keeps the lanes busy. What few rows take is their own reading, see `fill`.
Seconds busy_with_exponentials(const RowWise& op, const GpuProfile& gpu) {
    if (op.kind != RowOp::softmax) return {};
    return static_cast<double>(op.rows) * softmax_instructions(op) * 2 * flop / lane_rate(gpu, Precision::fp32);
}

}  // namespace

/// One block a row: few rows fill few SMs, each of which pulls at most `fill` times its share of the bandwidth.
KernelCost cost(const RowWise& op, const Gpu& gpu, Cache cache) {
    const auto& values = gpu.parameters.values;
    const auto& p = values.row_wise;
    const double sms = static_cast<double>(gpu.profile.sm_count);
    const Work w = work(op);
    const BytesPerSecond bandwidth = gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction;
    Terms t;
    t.flops = w.vector;
    t.compute = t.flops / lane_rate(gpu.profile, op.precision);
    t.dram_bytes = after_l2(w.bytes, gpu.profile.l2, values.streaming.l2_residency, cache) + read_again(op, w.bytes, gpu.profile);
    t.dram = t.dram_bytes / bandwidth;
    const Bytes row = w.bytes / static_cast<double>(std::max<std::int64_t>(op.rows, 1));
    t.l2 = waves(static_cast<double>(op.rows), sms, 1) * row / (bandwidth * std::min(p.fill, sms) / sms);
    if (op.framework && gpu.profile.facts.threads_per_sm > 0) {
        const Seconds waited = lasting(row_latency_cycles(op), gpu.profile) + waits(op) * first_wait(t.dram_bytes, w.bytes, gpu);
        t.l2 = max(t.l2, waves(static_cast<double>(op.rows), sms * rows_at_once(op, gpu.profile), 1) * waited);
    }
    t.compute = max(t.compute, max(busy_with_rows(op, p.row_cycles, gpu.profile), busy_with_exponentials(op, gpu.profile)));
    t.latency = (has_odd_rows(op) ? 2 : 1) * p.fixed;
    return combine(t, gpu);
}

}  // namespace roofcast
