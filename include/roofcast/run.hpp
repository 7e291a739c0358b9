#pragma once
/// What is asked of a model in one run.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "roofcast/pcie_topology.hpp"
#include "roofcast/precision.hpp"
#include "roofcast/techniques.hpp"

namespace roofcast {

/// Degrees of parallelism. Data parallel copies are independent in inference.
struct Parallelism {
    std::int64_t tensor = 1, pipeline = 1, data = 1, expert = 1;
    /// Groups of tensor / attention_data GPUs, each with the whole attention and with sequences of its own; experts lie on all `tensor`
    /// GPUs. Divides `tensor`.
    std::int64_t attention_data = 1;
    [[nodiscard]] std::int64_t gpus() const { return tensor * pipeline * data; }
    /// GPUs that split the attention of one group.
    [[nodiscard]] std::int64_t attention_tensor() const { return tensor / attention_data; }
};

enum class Execution {
    eager,       ///< a framework launches each operator from the CPU
    cuda_graph,  ///< an engine replays a captured graph of its own kernels
    compiled,    ///< kernels that a compiler generated beside a library's, launched by the CPU
    tensorrt,    ///< compiled ahead of time and replayed
    fused        ///< hand-fused engine launched by the CPU (FasterTransformer)
};
inline constexpr std::size_t execution_count = 5;
constexpr std::size_t index(Execution e) {
    return static_cast<std::size_t>(e);
}
std::string_view name(Execution e);
std::optional<Execution> parse_execution(std::string_view text);

/// Of `Run::host_time`.
inline constexpr double least_host_time = 0.1, most_host_time = 10;

/// Of the batch, of tokens and of other counts of a run: beyond anything that fits a GPU, and small enough for every product of sizes in a
/// graph to stay exact in 64 bits, as dimensions of a model are below 2^24.
inline constexpr std::int64_t largest_run_count = std::int64_t{1} << 30;

/// One question. Zeros and absent values mean the defaults of the model and the software, which `completed` fills in; the model's own
/// precision is `default_precision`.
struct Run {
    std::int64_t batch = 1;            ///< sequences or images at once, of each data-parallel copy
    std::int64_t prompt_tokens = 0;    ///< of a sequence
    std::int64_t generate_tokens = 0;  ///< of a sequence
    std::int64_t image_size = 0;       ///< pixels on a side
    std::int64_t images = 1;           ///< of a sequence
    std::int64_t steps = 0;            ///< of denoising
    Precision precision = Precision::fp16;
    std::optional<WeightFormat> weights{};         ///< absent: as the checkpoint is published when that is quantized, else as computed
    std::optional<WeightFormat> expert_weights{};  ///< of routed experts, where they are stored otherwise than `weights`
    std::optional<Precision> kv_precision{};       ///< absent: the activations' precision
    Parallelism parallel{};
    std::optional<bool> channels_last{};  ///< layout of convolutions; absent: the software's
    Execution execution = Execution::cuda_graph;
    std::string software{};              ///< engine, such as "llama.cpp"; empty: the execution mode's own table
    std::optional<PcieTopology> pcie{};  ///< how PCIe joins the GPUs; absent: as in machines of the GPU
    std::optional<int> streams{};        ///< that independent operators run on; absent: the software's
    /// CPU time of each pass, over that of the machines that software/ describes: of the machine, not of its software.
    double host_time = 1;
    Techniques techniques{};  ///< all off as initialized

    /// Sequences of the largest group of attention.
    [[nodiscard]] std::int64_t group_batch() const { return (batch + parallel.attention_data - 1) / parallel.attention_data; }
    /// Sequences or images at once, on all data-parallel copies.
    [[nodiscard]] double items() const { return static_cast<double>(batch * parallel.data); }
    /// Of weights as stored.
    [[nodiscard]] WeightFormat weight_format() const { return weights.value_or(native_weights(precision)); }
    /// Of keys and values as cached.
    [[nodiscard]] Precision cache_precision() const { return kv_precision.value_or(activation_precision(precision)); }
};

}  // namespace roofcast
