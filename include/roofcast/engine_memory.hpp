#pragma once
/// How serving engines divide the memory of a GPU: facts of the tables `[[memory]]` in `software/engines/*.toml`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/units.hpp"

namespace roofcast {

/// What an engine's memory fraction is a fraction of.
enum class FractionOf {
    total,         ///< weights, activations and cache together, of all memory (vLLM's gpu_memory_utilization)
    free_at_load,  ///< weights and cache, of what is free before weights are loaded (SGLang's mem_fraction_static)
    left,          ///< the cache, of what weights and activations leave (TensorRT-LLM's free_gpu_memory_fraction)
    none           ///< there is none: the cache is as large as the context asked for (llama.cpp)
};

/// How the cache of layers of several kinds is laid out.
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

/// Memory that stays out of the default fraction.
struct FractionReserve {
    Bytes base, per_token, per_graph_sequence, per_gpu;
    Bytes least, least_from;        ///< at least so much on GPUs of `least_from` or more
    std::int64_t least_tokens = 1;  ///< of a step that `per_token` counts
    double least_fraction = 0;      ///< that is left for the engine
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
    std::vector<std::string> match;  ///< as of `Engine`
    FractionOf fraction_of = FractionOf::total;
    std::optional<double> fraction;          ///< by default; absent: what `reserve` leaves
    std::optional<FractionReserve> reserve;  ///< absent: `fraction` is stated
    std::vector<StepDefaults> steps;         ///< the last that fits the GPU; at least one
    CacheLayout layout = CacheLayout::groups;
    std::int64_t block_tokens = 16;
    bool counts_requests = false;   ///< its log counts tokens of requests of the longest context, not of blocks
    double window_fraction = 1;     ///< tokens of the pool of window layers over those of full ones
    double state_fraction = 0;      ///< of the cache, for states where layers have them
    std::int64_t state_blocks = 1;  ///< blocks of each group of states that a sequence takes
    double score_copies = 0;        ///< fp32 scores of the vocabulary that sampling keeps, for each sequence
    bool stored_scores = false;     ///< beside one copy in the activations' format
    bool splits_scores = false;     ///< each GPU of tensor parallelism samples a part of the sequences
    Bytes step_buffers;             ///< of a step beside its activations
    Bytes context;                  ///< of CUDA and libraries, taken before weights are loaded
    Bytes framework;                ///< of kernels and workspaces, taken by the first step
    Bytes communication;            ///< with tensor parallelism
    /// Batches of CUDA graphs, up to `graph_sequences` and twice the sequences of a step; empty: one size stands for all.
    std::vector<GraphSizes> graph_sizes;
    Bytes graphs, graphs_per_layer;  ///< of each size
    bool graphs_reserved = false;    ///< before the cache; else they are captured in what the fraction leaves
    bool rope_tables = false;        ///< cosines and sines of every position stand beside the weights
    std::vector<ExpertPadding> padding;
};

/// What a user sets of an engine; absent: its defaults.
struct EngineSettings {
    std::optional<double> fraction;             ///< above 0, at most 1; none for engines without a fraction
    std::optional<std::int64_t> max_tokens;     ///< of one step
    std::optional<std::int64_t> max_sequences;  ///< of one step
    std::optional<std::int64_t> context;        ///< longest sequence, tokens; absent: the model's
    std::optional<Bytes> gpu_memory;            ///< memory that CUDA reports; absent: `GpuProfile::usable_memory`
};

/// The table whose `match` is the longest run of words that `software` begins with; nullptr: no memory of such an engine is described.
const EngineMemory* engine_memory_of(const std::vector<EngineMemory>& tables, std::string_view software);
/// "sglang, tensorrt-llm, vllm": the names of `tables`.
std::string engine_memory_names(const std::vector<EngineMemory>& tables);

}  // namespace roofcast
