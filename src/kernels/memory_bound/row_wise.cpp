#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// The operator, and whether softmax keeps long rows in registers.
struct Rows : RowWise {
    bool in_registers = true;
};

/// Elements of the longest row that a warp of softmax keeps in registers.
std::int64_t longest_of_warp(const Rows& op) {
    return op.in_registers ? 2048 : 1024;
}

/// Whether a warp computes the softmax of a row; else a block does.
bool by_warps(const Rows& op) {
    return op.cols <= longest_of_warp(op);
}

/// Threads of a block that keeps a row of softmax in registers, and elements of the longest such row, 9 a thread.
constexpr std::int64_t register_threads = 1024, longest_of_block = 9 * register_threads;

bool kept_in_registers(const Rows& op) {
    return by_warps(op) || (op.in_registers && op.cols <= longest_of_block);
}

/// Threads of a block that normalizes a row, and elements that they take at once, four a thread.
constexpr double norm_threads = 128;
constexpr std::int64_t norm_step = 512;

/// Fraction of the rows in flight on an SM that L1 holds: all that fit, then fast less, as each is evicted before it is read again.
double kept_in_l1(Bytes in_flight, Bytes l1) {
    constexpr double edge = 8;  // 1 / fraction of L1 beyond its size over which all rows are evicted
    return std::clamp(1 - (in_flight / l1 - 1) * edge, 0.0, 1.0);
}

/// What a kernel reads of its rows after their first read. One block has a row.
struct LaterReads {
    double count = 0;       ///< of the whole row
    double rows_of_sm = 1;  ///< in flight at once
    double written = 1;     ///< in addition to a byte of these
    bool from_l1 = false;   ///< if that holds the rows in flight
};

/// Layer norm reads its rows for their mean and variance and again to scale them, in blocks of 128 threads. Softmax reads rows that it does
/// not keep in registers for their maximum, their sum and the result, with a thread for each 32 bytes, 512 threads at most.
LaterReads later_reads(const Rows& op, const GpuProfile& gpu) {
    constexpr double bytes_of_thread = 32, most_threads = 512, normalized_rows = 8;
    if (op.kind != RowOp::softmax)
        return {.count = op.kind == RowOp::layernorm || op.any_operands ? 1.0 : 0.0, .rows_of_sm = normalized_rows};
    if (kept_in_registers(op)) return {};
    const double threads = static_cast<double>(op.cols) * element_size(op.precision).in(byte) / bytes_of_thread;
    return {.count = 2, .rows_of_sm = gpu.facts.threads_per_sm / std::min(most_threads, threads), .written = 0.5, .from_l1 = true};
}

/// What later reads take from DRAM: what of the rows in flight L1 does not hold, and L2 does not hold together with what is written for
/// them.
Bytes read_again(const Rows& op, Bytes read_and_written, const GpuProfile& gpu) {
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
bool has_odd_rows(const Rows& op) {
    constexpr std::int64_t vector = 4;
    return op.any_operands && op.kind != RowOp::softmax && op.cols % vector != 0;
}

/// SM cycles for such a row: PyTorch 2.11 on the H100, 17 to 9,429 columns.
double odd_row_cycles(const Rows& op) {
    constexpr double sums = 950, step = 500;
    return sums + step * blocks(op.cols, norm_step);
}

/// Cycles from the start of a row to its end on an SM that has time, every operand in L2. The block of a norm waits for each of its steps,
/// RMS norm, with rows that start at multiples of four elements, not for the mean; a warp of softmax takes its elements one by one, those
/// of two bytes more slowly; PyTorch 2.11 on the H100.
double row_latency_cycles(const Rows& op) {
    constexpr double mean_and_variance = 1100, squares = 500, wide_start = 500, wide_element = 155, narrow_element = 205,
                     long_row_element = 0.6;
    constexpr std::int64_t warp = 32;
    const bool wide = element_size(op.precision) >= 4 * byte;
    if (op.kind == RowOp::rmsnorm && !has_odd_rows(op)) return squares * blocks(op.cols, norm_step);
    if (op.kind != RowOp::softmax) return (wide ? wide_start : 0) + mean_and_variance * blocks(op.cols, norm_step);
    if (!by_warps(op)) return long_row_element * real(op.cols);
    return (wide ? wide_element : narrow_element) * blocks(op.cols, warp);
}

/// Times that a row waits for DRAM: a norm in each step, longer where both kernels of odd rows do, softmax once.
double waits(const Rows& op) {
    constexpr double both = 1.7;
    return op.kind == RowOp::softmax ? 1 : blocks(op.cols, norm_step) * (has_odd_rows(op) ? both : 1);
}

/// Rows that an SM works on at once: a norm's block of 128 threads has one, a warp of softmax too.
double rows_at_once(const Rows& op, const GpuProfile& gpu) {
    constexpr double warp = 32, long_row_threads = 512;
    const double row_threads = op.kind != RowOp::softmax ? norm_threads : by_warps(op) ? warp : long_row_threads;
    return gpu.facts.threads_per_sm / row_threads;
}

/// A norm keeps an SM busy: a block adds the sums of its threads up once a row, and its 128 threads take four elements each at a time. RMS
/// norm has no mean and no differences from it. PyTorch computes in fp32 whatever it reads, twice as fast where an SM has two FP32 cores
/// for each INT32 core (ConvNeXt, EdgeNeXt and XCiT on RTX 3090 and 4090 against kernels of V100 and A100), and waits longer for elements
/// of four bytes; engines take pairs of 16-bit elements at once. PyTorch 2.11 on H100 and H200.
Seconds busy_with_rows(const Rows& op, double cycles, const GpuProfile& gpu) {
    constexpr double sums = 1.4, squares = 0.58, wide = 1.35;
    if (op.kind == RowOp::softmax || (op.kind == RowOp::rmsnorm && !op.any_operands)) return {};
    const double of_sm = real(op.rows) / real(gpu.sm_count);
    if (has_odd_rows(op)) return time_of_cycles(of_sm * odd_row_cycles(op), gpu);
    const double steps = (sums + real(op.cols) / real(norm_step)) * (op.kind == RowOp::rmsnorm ? squares : 1);
    const double element = element_size(op.precision) / element_size(Precision::fp32);
    const double int32_fraction = gpu.facts.integer_units_per_sm > 0 ? gpu.facts.integer_units_per_sm / gpu.fp32_units_per_sm : 1;
    return time_of_cycles(of_sm * steps * cycles * (op.any_operands ? int32_fraction * (element < 1 ? 1 : wide) : element), gpu);
}

/// Instructions of CUDA cores for a row of softmax: two exponentials an element, walks, and sums over the threads; those of an engine's
/// warps are not known, and few. A warp has registers for the next power of two of elements, and skips those beyond the row; long ones
/// leave an SM room for fewer. A block that keeps the row in registers computes as many elements a thread as the longest has, and from
/// seven on shares its SM with no other. PyTorch 2.11 on H100 and H200.
double softmax_instructions(const Rows& op) {
    constexpr double of_warp = 58, of_idle = 18, crowded = 1.25, of_row = 50000, of_block = 93, of_passes = 95, alone = 1.33;
    constexpr std::int64_t warp = 32, most_shared = 6 * register_threads, most_roomy = 1024;
    if (by_warps(op)) {
        const auto slots = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(op.cols, warp))));
        const double instructions = of_warp * real(op.cols) + of_idle * real(slots - op.cols);
        return op.any_operands ? instructions * (slots > most_roomy ? crowded : 1) : 0;
    }
    if (!kept_in_registers(op)) return of_passes * real(op.cols);
    return of_row + of_block * (op.cols > most_shared ? alone : 1) * real(register_threads) * blocks(op.cols, register_threads);
}

/// Softmax keeps CUDA cores busy; its warps, whose instructions are of all kinds, the schedulers. What few rows take is their own reading,
/// see `fill`.
Seconds busy_with_exponentials(const Rows& op, const GpuProfile& gpu) {
    if (op.kind != RowOp::softmax) return {};
    const double rows = real(op.rows), instructions = softmax_instructions(op);
    return by_warps(op) ? issue_time(rows * instructions, gpu) : simt_time(rows, instructions, gpu);
}

/// A framework's blocks start later than its warps: they add up over their threads.
Seconds block_start(const Rows& op, const GpuProfile& gpu) {
    constexpr double cycles = 870;
    const bool warps = op.kind == RowOp::softmax && by_warps(op);
    return op.any_operands && !warps ? time_of_cycles(cycles, gpu) : Seconds{};
}

/// What a framework's rows wait for, each wave of them on the SMs.
Seconds waited_for_rows(const Rows& op, Bytes from_dram, Bytes moved, const Gpu& gpu) {
    if (!op.any_operands || gpu.profile.facts.threads_per_sm <= 0) return {};
    const double slots = real(gpu.profile.sm_count) * rows_at_once(op, gpu.profile);
    const Seconds of_row = time_of_cycles(row_latency_cycles(op), gpu.profile) + waits(op) * first_wait(from_dram, moved, gpu);
    return waves(real(op.rows), slots, 1) * of_row;
}

}  // namespace

/// One block a row: few rows fill few SMs, each of which pulls at most `fill` times its part of the bandwidth. An SM works on some rows
/// while others wait: the root of the sum of squares lies between the longer of both times and their sum.
KernelCost cost(const RowWise& row_wise, const Gpu& gpu, Cache cache) {
    const Rows op{row_wise, gpu.caller.softmax_in_registers};
    const auto& values = gpu.parameters.values;
    const auto& p = values.row_wise;
    const double sms = real(gpu.profile.sm_count);
    const Work w = work(row_wise);
    const BytesPerSecond bandwidth = gpu.profile.data_bandwidth(Traffic::copied) * p.bandwidth_fraction;
    Terms t;
    t.flops = w.vector;
    t.dram_bytes = after_l2(w.bytes, gpu.profile.l2, values.streaming.l2_residency, cache) + read_again(op, w.bytes, gpu.profile);
    t.dram = t.dram_bytes / bandwidth;
    const Bytes row = w.bytes / real(std::max<std::int64_t>(op.rows, 1));
    t.l2 = waves(real(op.rows), sms, 1) * row / (bandwidth * std::min(p.fill, sms) / sms);
    const Seconds busy = max(busy_with_rows(op, p.row_cycles, gpu.profile), busy_with_exponentials(op, gpu.profile));
    const Seconds waited = waited_for_rows(op, t.dram_bytes, w.bytes, gpu);
    t.compute = t.flops / simt_rate_of(gpu.profile, op.precision);
    Seconds& longer = busy > waited ? t.compute : t.l2;
    longer = max(longer, std::hypot(busy.in(s), waited.in(s)) * s);
    t.latency = (has_odd_rows(op) ? 2 : 1) * (p.fixed + block_start(op, gpu.profile));
    return combine(t, gpu);
}

}  // namespace roofcast
