#pragma once
/// Memory of a language model as a serving engine reports it at start-up.
///
/// An engine loads the weights of a GPU, runs one step of its largest size, and gives the rest of its memory fraction to the KV cache
/// (memory: what programs can allocate):
///   vLLM          cache = fraction · memory − weights − activations − framework (− graphs, which newer versions reserve)
///   SGLang        cache = fraction · (memory − framework) − weights
///   TensorRT-LLM  cache = fraction · (memory − framework − weights − activations)
///   llama.cpp     cache = size of the requested context
/// The activation peak is the larger of a forward pass of `max_tokens` tokens and of sampling for `max_sequences` sequences, each with
/// the hidden states of the step. Facts: `EngineMemory`. Sources: `source` of these tables.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/engine_memory.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// Memory of one GPU and capacity of its cache. All bytes are of the fullest GPU.
struct EngineMemoryReport {
    std::string engine;  ///< name of the facts
    FractionOf fraction_of = FractionOf::total;
    double fraction = 1;  ///< 1 for engines without a fraction
    std::int64_t max_tokens = 0, max_sequences = 0, context = 0;
    Bytes gpu_memory;                                      ///< memory that programs can allocate
    Bytes weights, framework, activations, graphs, cache;  ///< `framework`: context, workspaces and communication
    Bytes padding;                                         ///< of experts' matrices, part of `weights`
    Bytes available;                                       ///< memory that weights, framework, activations, reserved graphs and cache share
    std::int64_t cache_tokens = 0;                         ///< as the engine's log counts them
    double concurrency = 0;                                ///< sequences of `context` tokens that fit at once
    std::int64_t sequences = 0;                            ///< the same, whole ones
    std::int64_t largest_context = 0;                      ///< of one sequence, at most the model's; 0: none fits
    [[nodiscard]] bool fits() const { return sequences >= 1; }
};

/// Memory of a completed `request` of a language model under the engine that `request.software` names, on `gpu`. Throws Error when no
/// memory of that engine is described, the model is no language model, the memory of `gpu` is not known or a setting is out of range.
EngineMemoryReport engine_memory(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                                 const EngineSettings& settings);

/// Remedies, in words, that make room for a step and one sequence of `report.context` tokens; `request` as passed to `engine_memory`.
/// Empty if one fits.
std::vector<std::string> engine_memory_remedies(const EngineMemoryReport& report, const Workload& workload, const Run& request,
                                                const SoftwareStacks& software, const GpuProfile& gpu);

/// What padding adds on the fullest GPU to routed experts stored in MXFP4, under the engine that `request.software` names; none where its
/// memory is not described, or its kernels take the experts as they are.
Bytes expert_padding(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu);

}  // namespace roofcast
