#pragma once
/// How serving engines split the memory of a GPU: facts of the tables `[[memory]]` in `software/engines/*.toml`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/units.hpp"

namespace roofcast {

/// The base of an engine's memory fraction.
enum class FractionOf {
    total,         ///< weights, activations and cache, over all memory (vLLM's gpu_memory_utilization)
    free_at_load,  ///< weights and cache, over the memory free before loading (SGLang's mem_fraction_static)
    left,          ///< cache, over the memory left by weights and activations (TensorRT-LLM's free_gpu_memory_fraction)
    none           ///< no fraction: the requested context sets the cache size (llama.cpp)
};

/// Layout of the cache in models with several kinds of layers.
enum class CacheLayout {
    groups,    ///< layers in groups of equal size that share blocks of equal bytes (vLLM V1)
    growing,   ///< every layer keeps every token
    pools,     ///< one pool each for full layers, window layers and states (SGLang)
    sequences  ///< a sequence keeps what its layers need
};

/// Default sizes of a step, on GPUs of at least `from` but those whose id begins with one of `except`.
struct StepDefaults {
    Bytes from;
    std::vector<std::string> except;
    std::int64_t max_tokens = 2048, max_sequences = 256;
    std::int64_t graph_sequences = 0;  ///< largest batch of a CUDA graph
};

/// Memory outside the default fraction.
struct FractionReserve {
    Bytes base, per_token, per_graph_sequence, per_gpu;
    Bytes least, least_from;        ///< minimum on GPUs with `least_from` or more memory
    std::int64_t least_tokens = 1;  ///< least step tokens that `per_token` counts
    double least_fraction = 0;      ///< least fraction left for the engine
};

/// Sizes of routed experts' matrices are rounded up to multiples, where stored in one of `formats` on GPUs of these architectures (empty:
/// any).
struct ExpertPadding {
    std::vector<std::string> formats;
    std::vector<std::string> architectures;
    std::int64_t hidden = 1, intermediate = 1;
};

/// Batches from `from` to `to`, `step` apart, that CUDA graphs are captured for.
struct GraphSizes {
    std::int64_t from = 1, to = 1, step = 1;
};

struct EngineMemory {
    std::string name, source;
    std::vector<std::string> match;  ///< as in `Engine`
    FractionOf fraction_of = FractionOf::total;
    std::optional<double> fraction;          ///< default fraction; absent: what `reserve` leaves
    std::optional<FractionReserve> reserve;  ///< absent: `fraction` is stated
    std::vector<StepDefaults> steps;         ///< the last that fits the GPU; at least one
    bool joint_steps = false;                ///< steps count the tokens of all groups of attention data parallelism, not of one
    CacheLayout layout = CacheLayout::groups;
    std::int64_t block_tokens = 16;
    bool counts_requests = false;   ///< its log counts tokens of requests of the longest context, not of blocks
    double window_fraction = 1;     ///< tokens of the pool of window layers over those of full ones
    double state_fraction = 0;      ///< fraction of the cache for states
    std::int64_t state_blocks = 1;  ///< blocks of each group of states that a sequence takes
    double score_copies = 0;        ///< fp32 scores of the vocabulary that sampling keeps, for each sequence
    bool stored_scores = false;     ///< and one copy of them in the activations' format
    bool splits_scores = false;     ///< each GPU of tensor parallelism samples a part of the sequences
    Bytes step_buffers;             ///< further buffers of a step
    Bytes context;                  ///< CUDA context and libraries, allocated before weights are loaded
    Bytes framework;                ///< kernels and workspaces, allocated by the first step
    Bytes communication;            ///< with tensor parallelism
    /// Batches of CUDA graphs, up to `graph_sequences` and twice the sequences of a step; empty: one size stands for all.
    std::vector<GraphSizes> graph_sizes;
    Bytes graphs, graphs_per_layer;  ///< of each size
    bool graphs_reserved = false;    ///< before the cache; else they are captured in what the fraction leaves
    bool rope_tables = false;        ///< tables of cosines and sines of every position are stored with the weights
    std::vector<ExpertPadding> padding;
};

/// Engine settings of a user; absent: the engine's defaults.
struct EngineSettings {
    std::optional<double> fraction;             ///< above 0, at most 1; none for engines without a fraction
    std::optional<std::int64_t> max_tokens;     ///< tokens in one step
    std::optional<std::int64_t> max_sequences;  ///< sequences in one step
    std::optional<std::int64_t> context;        ///< longest sequence, tokens; absent: the model's
    std::optional<Bytes> gpu_memory;            ///< memory that CUDA reports; absent: `GpuProfile::usable_memory`
};

/// The table whose `match` is the longest run of words that `software` begins with; nullptr: the memory of the engine is not described.
const EngineMemory* engine_memory_of(const std::vector<EngineMemory>& tables, std::string_view software);
/// "sglang, tensorrt-llm, vllm": the names of `tables`.
std::string engine_memory_names(const std::vector<EngineMemory>& tables);

}  // namespace roofcast
