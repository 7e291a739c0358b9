#include "kernels/convolution/batch_norm.hpp"
#include "kernels/terms.hpp"
#include "kernels/work.hpp"

namespace roofcast {

namespace {

/// Latency of a read that misses the caches. Stretching the maps of efficientformerv2 takes 255 ns a plane on the RTX 4090, 310 ns on the
/// RTX 3090.
constexpr Seconds memory_latency = 280 * ns;

/// SM clocks per sector when one element a sector is fetched from L2. Copies between layouts in efficientnet_b0_g8_gn: 1.8 on the RTX
/// 3090, 2.5 on the RTX 4090.
constexpr double clocks_per_sector = 1.8;

/// A framework's element-wise kernel, made for operands of any kind, takes longer to start; one made for its operands has more loads under
/// way and waits half as long for DRAM. A thread takes its elements, 16 bytes of them, one by one where a function has many instructions.
/// PyTorch 2.11 and the benchmark's own kernels on H100 and H200.
StreamStart start_of(const Elementwise& op) {
    constexpr double framework_cycles = 600, function_cycles = 70, made_for_operands = 0.5;
    constexpr Bytes of_thread = 16 * byte;
    const double functions = op.instructions > 0 ? function_cycles * (of_thread / element_size(op.precision)) : 0;
    return op.any_operands ? StreamStart{.cycles = framework_cycles + functions}
                           : StreamStart{.cycles = functions, .wait = made_for_operands};
}

/// Kernels that compute the address of each element keep CUDA cores busy with it: 85 instructions, from Transformer-XL in fp16 on V100 and
/// A100, whose scores they pass over.
KernelCost addressed(const KernelCost& streamed, std::int64_t elements, const GpuProfile& gpu) {
    constexpr double instructions = 85;
    return at_least(streamed, simt_time(static_cast<double>(elements), instructions, gpu), Bound::compute, &KernelCost::compute);
}

/// Kernels for operands of several formats load and convert them one by one: 42 instructions of the INT32 cores an element, and 13 for
/// each operand. PyTorch 2.11 on the H100, nets under automatic mixed precision: 3.3 ps an element that is widened, 4.2 of a sum or a
/// GEMM.
KernelCost converted_singly(const KernelCost& streamed, const Elementwise& op, const GpuProfile& gpu) {
    if (!op.any_operands || op.mixed_operands == 0) return streamed;
    constexpr double of_element = 42, of_operand = 13;
    const double instructions = of_element + of_operand * op.mixed_operands;
    return at_least(streamed, streamed.launch + integer_time(static_cast<double>(op.elements) * instructions, gpu), Bound::compute,
                    &KernelCost::compute);
}

/// `c`, and the time in which each of `elements` is fetched with its sector.
KernelCost fetched_apart(const KernelCost& c, double elements, const GpuProfile& gpu) {
    return by_elements(c, elements, clocks_per_sector, gpu);
}

/// A framework's pooling kernel has one thread an output, which computes the address of each element of its window: 32 instructions of the
/// INT32 cores for maxima, from Inception v3 and v4 on the RTX 3090 and 4090. Means have divisions before, whatever the window: 24 ps an
/// output of 2x2 on the H100 (PyTorch 2.11, MaxViT and ResNet-50d traced), 3x3 of PoolFormer and Inception on the RTX 3090 and 4090.
KernelCost gathered(const KernelCost& streamed, const Reduce& op, const GpuProfile& gpu) {
    constexpr double of_maximum = 32, of_mean = 6, before_mean = 330;
    const double instructions = op.indexed ? of_maximum * op.window : before_mean + of_mean * op.window;
    const Seconds addressing = integer_time(static_cast<double>(op.outputs) * instructions, gpu);
    return at_least(streamed, addressing, Bound::compute, &KernelCost::compute);
}

/// Elements that streaming kernels write; 0 of other operators.
double written_elements(const Op& op) {
    if (const auto* e = std::get_if<Elementwise>(&op)) return static_cast<double>(e->elements);
    if (const auto* r = std::get_if<RowWise>(&op)) return static_cast<double>(r->rows) * static_cast<double>(r->cols);
    if (const auto* m = std::get_if<Move>(&op)) return static_cast<double>(m->written);
    return 0;
}

}  // namespace

Seconds element_time(const Op& op, double instructions, const GpuProfile& gpu) {
    return simt_time(written_elements(op), instructions, gpu);
}

KernelCost cost(const Elementwise& op, const Gpu& gpu, Cache cache) {
    const KernelCost streamed = streaming_cost(work(op).bytes, work(op).vector, op.precision, gpu, cache, start_of(op));
    const KernelCost passed = converted_singly(op.strided ? addressed(streamed, op.elements, gpu.profile) : streamed, op, gpu.profile);
    const KernelCost waited = op.normalized.channels > 0
                                  ? at_least(passed, passed.launch + batch_norm_time(op, passed.dram_bytes / work(op).bytes, gpu.profile),
                                             Bound::latency, &KernelCost::launch)
                                  : passed;
    const Seconds busy = passed.launch + element_time(op, op.instructions, gpu.profile);
    return fetched_apart(at_least(waited, busy, Bound::compute, &KernelCost::compute), op.apart * static_cast<double>(op.elements),
                         gpu.profile);
}

KernelCost cost(const Embedding& op, const Gpu& gpu, Cache cache) {
    return streaming_cost(work(op).bytes, {}, op.precision, gpu, of_weights(cache));
}

KernelCost cost(const Reduce& op, const Gpu& gpu, Cache cache) {
    const KernelCost streamed = streaming_cost(work(op).bytes, work(op).vector, op.precision, gpu, cache);
    return op.addressed ? gathered(streamed, op, gpu.profile) : streamed;
}

KernelCost cost(const Move& op, const Gpu& gpu, Cache cache) {
    const KernelCost streamed = streaming_cost(work(op).bytes, {}, op.precision, gpu, cache);
    const KernelCost strided = op.strided ? addressed(streamed, op.written, gpu.profile) : streamed;
    const Seconds copied = integer_time(static_cast<double>(op.written) * op.integer_instructions, gpu.profile);
    const KernelCost passed =
        op.integer_instructions > 0 ? at_least(strided, strided.launch + copied, Bound::compute, &KernelCost::compute) : strided;
    const KernelCost waited = at_least(passed, static_cast<double>(op.waits) * memory_latency, Bound::latency, &KernelCost::launch);
    return fetched_apart(waited, static_cast<double>(op.apart), gpu.profile);
}

}  // namespace roofcast
