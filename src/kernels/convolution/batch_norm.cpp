#include "kernels/convolution/batch_norm.hpp"

#include <algorithm>

#include "kernels/terms.hpp"

namespace roofcast {

namespace {

constexpr double usual_threads = 512;  // of a block

/// How a kernel cuts a map. Counts are real numbers where kernels round to powers of two, so that time grows with the map.
struct Cut {
    double blocks, threads;   ///< of each
    double turns;             ///< of a thread over its elements
    double waits, from_dram;  ///< cycles of a turn: for memory, and longer where that is DRAM
    double beside;            ///< cycles for every 512 threads that an SM holds
    double start = 0;         ///< cycles, of blocks that follow others on an SM
};

double images_of(const Elementwise& op) {
    return static_cast<double>(std::max<std::int64_t>(op.normalized.images, 1));
}

/// PyTorch's in channels last (Normalization.cuh, flexible_launch_configs): a thread a channel, 32 channels a block; of rows, 16 a thread
/// until 128 blocks cover them, and four at once.
Cut own_rows(const Elementwise& op) {
    constexpr double channels = 32, rows_of_thread = 16, most = 128, at_once = 4;
    const double all_rows = static_cast<double>(op.elements) / static_cast<double>(op.normalized.channels);
    const double width = std::min(channels, static_cast<double>(op.normalized.channels));
    const double height = std::clamp(all_rows / rows_of_thread, 1.0, usual_threads / width);
    const double parts = std::clamp(all_rows / (height * rows_of_thread), 1.0, most);
    return {.blocks = blocks(op.normalized.channels, static_cast<std::int64_t>(channels)) * parts,
            .threads = width * height,
            .turns = std::max(1.0, all_rows / (parts * height * at_once)),
            .waits = 1150,
            .from_dram = 830,
            .beside = 280};
}

/// cuDNN's in channels last (bn_fw_inf_1C11_kernel_NHWC): up to 13 blocks an image, 16 elements a thread until then.
Cut library_rows(const Elementwise& op) {
    constexpr double elements = 8192, most = 13;
    const double images = images_of(op), map = static_cast<double>(op.elements) / images, parts = std::clamp(map / elements, 1.0, most);
    return {.blocks = images * parts,
            .threads = usual_threads,
            .turns = map / (parts * usual_threads),
            .waits = 650,
            .from_dram = 260,
            .beside = 125};
}

/// Either's over planes: a block for each, of 64 to 512 threads with three elements each or more.
Cut planes(const Elementwise& op) {
    constexpr double of_thread = 3, least = 64;
    const double count = images_of(op) * static_cast<double>(op.normalized.channels), plane = static_cast<double>(op.elements) / count;
    const double threads = std::clamp(plane / of_thread, least, usual_threads);
    return {.blocks = count, .threads = threads, .turns = plane / threads, .waits = 400, .from_dram = 400, .beside = 80, .start = 1900};
}

/// Whether the framework leaves the map to the vendor's library.
bool by_library(const Elementwise& op) {
    return op.normalized.fp32_weights && op.precision != Precision::bf16;
}

Cut cut_of(const Elementwise& op) {
    if (!op.normalized.channels_last) return planes(op);
    return by_library(op) ? library_rows(op) : own_rows(op);
}

}  // namespace

// Grids and cycles: traces of PyTorch 2.11 and cuDNN 9.19 on H100 and H200, maps of 0.03 to 51 million elements in batches of 1 to 256.
// With them the nets of the RTX 3090, whose memory answers in fewer cycles, fit worse (4.6 % for 4.0): other generations keep to their
// bandwidth.
Seconds batch_norm_time(const Elementwise& op, double from_dram, const GpuProfile& gpu) {
    if (!gpu.libraries.convolutions.batch_norm_by_grid) return {};
    const Cut cut = cut_of(op);
    const double held = std::max(1.0, gpu.facts.threads_per_sm / cut.threads);
    const double of_sm = cut.blocks / static_cast<double>(gpu.sm_count);
    const double rounds = std::max(1.0, of_sm / held);
    const double load = std::min(of_sm, held) * cut.threads / usual_threads;
    const double turn = cut.waits + cut.from_dram * from_dram + cut.beside * load;
    return time_of_cycles(rounds * cut.turns * turn + (rounds - 1) * cut.start, gpu);
}

}  // namespace roofcast
