#pragma once
/// Software as data: how engines and frameworks run a model, and how much CPU time they need. Facts of `software/`, apart from those of
/// GPUs.

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofcast/caller.hpp"
#include "roofcast/engine_memory.hpp"
#include "roofcast/gpu_profile.hpp"
#include "roofcast/kernel_library.hpp"
#include "roofcast/lowering.hpp"
#include "roofcast/run.hpp"
#include "roofcast/scheduler_options.hpp"

namespace roofcast {

/// Facts of a kernel family that replace those of the architecture's usual kernels.
struct KernelFacts {
    std::optional<AttentionKernels> attention{};
    std::optional<int> query_block{};                ///< queries of a head per thread block
    bool quantizes_by_tensors = false;               ///< as in `LibraryFacts`
    std::optional<std::vector<ShapedTile>> tiles{};  ///< tiles of 8-bit GEMMs, or of routed experts
    RecurrentKernels recurrent{};
    SparseKernels sparse{};
};

/// Whether the list of accepted values has `value`. An empty list accepts everything.
template <class T>
bool takes_any(const std::vector<T>& taken, const T& value) {
    return taken.empty() || std::find(taken.begin(), taken.end(), value) != taken.end();
}

/// Kernels of a library that share parameters, such as "deepgemm": a table `[[family]]` of `software/libraries/`.
/// Empty lists and absent flags accept everything.
struct KernelFamily {
    std::string name, source;
    std::string op;  ///< "gemm", "moe", "attention", "causal_convolution", "recurrence", "hyper_connection" or "sparse_attention"
    std::vector<std::string> kernels;  ///< values of the measurement column `kernel` that name it …
    std::vector<std::string> engines;  ///< … where the column `software` begins with one of these words
    std::vector<std::string> architectures;
    std::vector<Precision> precisions, kv_precisions;
    std::vector<WeightFormat> weights;
    std::optional<bool> cached;                  ///< true: attention with a KV cache; false: without one
    std::optional<bool> windowed;                ///< true: attention over a sliding window; false: over all keys
    std::optional<bool> prompts{};               ///< true: prefill (no earlier tokens, or several queries a sequence); false: decode
    std::vector<std::int64_t> head_dims{};       ///< head widths
    std::vector<RecurrentLayer> layers{};        ///< layers whose convolutions and recurrences it runs
    std::optional<bool> verifies{};              ///< true: updates of several tokens a sequence; false: of one
    std::optional<GroupSizes> groups{};          ///< query heads that share a KV head
    std::optional<GroupSizes> sharing_groups{};  ///< replaces the caller's
    bool converts_cache = true;                  ///< replaces the caller's
    std::optional<bool> batched{};               ///< true: batched GEMMs; false: single ones
    std::optional<bool> gated;                   ///< gated MLP in experts; absent: as the row or model says
    bool needs_fit = true;                       ///< false: without a fit it uses the GPU's parameters
    bool rows_include_quantization = false;      ///< measured times include the kernel that quantizes activations
    KernelFacts facts{};
    std::vector<std::pair<std::size_t, double>> values{};  ///< values by parameter index that replace the GPU's while the family has no fit
    [[nodiscard]] bool runs_on(const GpuProfile& gpu) const;
    /// `caller` with the flags that the family replaces.
    [[nodiscard]] Caller called_by(Caller caller) const;
};

/// Decode attention where `least_group` or more query heads share a KV head. Its kernels reach `rate` of the rate of split-KV kernels.
struct GroupedDecoding {
    std::int64_t least_group = 2;
    double rate = 1;
};

/// Settings of an engine for sequences of more than `beyond` tokens (prompt and output together).
struct LongContexts {
    std::int64_t beyond = 0;
    std::int64_t prefill_chunk = 0;    ///< tokens of all sequences in one prefill pass
    double decode_attention_rate = 1;  ///< replaces `SoftwareStack::decode_attention_rate`
};

/// Settings of an engine for decoders that differ from its other models.
struct DecoderSettings {
    double matmul_rate = 1;  ///< replaces `SoftwareStack::matmul_rate`
    Seconds host_per_pass;   ///< replaces `SoftwareStack::host_per_pass`
};

/// Encoders measured on half-padded sequences.
struct HalfPadded {
    /// Numbers of tokens a sequence at which padding was removed before the run.
    std::vector<std::int64_t> removed_tokens;
    Seconds host_per_pass;  ///< further CPU time to remove padding, which nothing hides
};

/// What an execution mode or a named engine does, and what it costs. Keys, units and meanings: src/software/keys.cpp and
/// docs/reference/software.md.
struct SoftwareStack {
    std::string name;  ///< "eager", …, or the engine's: "llama.cpp"
    Execution execution = Execution::eager;
    Lowering lowering{.kernels = KernelSet::framework};  ///< `half_padded` and `folds_norms` belong to a run; tables do not set them
    Caller caller{};                                     ///< what its kernels need to know about it
    Seconds host_per_kernel;                             ///< CPU time to launch one kernel
    Seconds host_per_convolution;                        ///< further CPU time of a convolution: the library looks up an algorithm
    Seconds host_per_pass;                               ///< CPU time per pass that nothing hides: Python, scheduler, graph launch
    Seconds device_gap;                                  ///< gap between two dependent kernels on the GPU, beyond the kernel's own latency
    SchedulerOptions scheduler{};                        ///< defaults of the scheduler that serves many requests
    int streams = 1;                                     ///< CUDA streams for independent operators of decoders
    Seconds prompt_host_per_kernel;                      ///< CPU time to launch a kernel of an uncaptured pass (`OpGraph::captured`)
    Seconds prompt_token_time;                           ///< time of a request outside scheduler steps, per prompt token
    Seconds request_time;                                ///< time of a request outside scheduler steps: text, tokenizer, network
    bool joint_attention = false;                        ///< mixed steps run one attention kernel for prefill and decode
    std::int64_t prefill_chunk = 0;                      ///< tokens of all sequences in one prefill pass; 0: whole prompts
    std::optional<HalfPadded> half_padded{};             ///< absent: sequences are full
    bool casts_weights = false;             ///< a kernel casts weights (and biases in frameworks) before each GEMM of a 16-bit run
    double extra_kernels_4bit = 0;          ///< further launches for each GEMM with weights below 8 bits, to unpack them
    double extra_kernels_8bit = 0;          ///< further launches for each GEMM with 8-bit weights
    std::int64_t unpacks_from_rows = 0;     ///< GEMMs of this many rows or more unpack their weights to 16 bits first; 0: none
    bool fp32_activations = false;          ///< 16-bit runs keep activations in fp32 and convert inputs and outputs of GEMMs
    int least_tile_rows = 0;                ///< GEMMs on WGMMA hardware are padded to this many rows, without split-K; 0: any
    double least_tile_rate = 1;             ///< fraction of the 16-bit rate that padded GEMMs reach
    int fp8_tile = 0;                       ///< side of the only tile of fp8 GEMMs that quantize activations; 0: the library's tiles
    bool fp16_accumulation = false;         ///< fp16 GEMMs accumulate in 16 bits: twice the rate on GeForce
    bool fastest_precision = false;         ///< runs an 8-bit layer in fp16 where that is faster
    std::int64_t pipeline_chunk = 0;        ///< prompt tokens that pass through pipeline stages together; 0: the whole prompt
    bool splits_layers = false;             ///< several GPUs hold consecutive layers by default; false: each holds a part of every layer
    double pipeline_overlap = 1;            ///< fraction of the ideal gain from stages that work at the same time
    bool warp_mma = false;                  ///< its GEMMs use single-warp MMA instructions (mma.sync)
    bool warp_mma_experts = false;          ///< its 8-bit GEMMs of routed experts use them
    double gemv_bytes_per_sm_clock = 0;     ///< most weight bytes that an SM streams per clock in GEMVs; 0: no GEMV kernels
    bool waits_for_8bit_gemms = false;      ///< the CPU launches nothing until a dense 8-bit GEMM has finished
    double unpacked_4bit_per_sm_clock = 0;  ///< most weights below 8 bits that 16-bit GEMMs unpack per SM and clock; 0: no limit
    double unpacked_8bit_per_sm_clock = 0;  ///< the same for 8-bit weights
    double matmul_rate = 1;                 ///< fraction of the vendor libraries' rate that GEMMs and attention reach
    Seconds expert_launch{};                ///< launch of each expert's own kernel in 4-bit GEMMs, with or without tokens; 0: one for all
    double expert_rate = 1;                 ///< fraction of `matmul_rate` that grouped 8-bit GEMMs of routed experts reach
    double decode_attention_rate = 1;       ///< fraction of the split-KV rate that decode attention reaches
    std::optional<GroupedDecoding> grouped_decode_attention{};  ///< where many query heads share a KV head; absent: as others
    std::optional<LongContexts> long_contexts{};                ///< absent: as others
    std::optional<DecoderSettings> decoders{};                  ///< absent: as others
    Seconds send_gap;                                           ///< further time of each transfer between pipeline stages
    double streaming_rate = 1;        ///< fraction of the rate of well-written kernels that its other kernels reach
    double element_instructions = 0;  ///< SIMT instructions per element that streaming kernels write; 0: hidden behind the bytes
    Bytes memory_overhead;            ///< memory of context, workspaces and allocator
    Seconds cold_context;             ///< first run only: context and libraries
    Seconds cold_per_kernel;          ///< first run only: loading or compiling each kernel, those of repeated layers once
    std::shared_ptr<const KernelLibrary> all_reduce{};          ///< library of all-reduce kernels; null: the vendor's
    std::vector<std::shared_ptr<const KernelFamily>> families;  ///< its own kernels: the first family that accepts an operator runs it
    /// Facts of the libraries that run unless the stack or a family replaces them; null: the GPU's facts stay.
    std::shared_ptr<const std::vector<LibraryFactsTable>> library_facts{};
    std::string source;
};

/// What one key of the tables in `software/` means.
struct SoftwareKeyInfo {
    std::string_view name;
    std::string_view unit;     ///< empty: flags and tables
    std::string_view meaning;  ///< one sentence
    bool required = false;     ///< required in tables of execution modes
    std::string fallback{};    ///< default, as TOML
};
/// All keys but `source`, in the order of docs/reference/software.md.
std::vector<SoftwareKeyInfo> software_keys();

/// Keys and values of `stack` that differ from a table without keys, as TOML.
std::vector<std::pair<std::string_view, std::string>> stated_keys(const SoftwareStack& stack);

/// Range of engine versions in which its facts were observed.
struct KnownVersions {
    std::string first, last;  ///< "0.8", "0.24"
    /// Whether the version at the end of `software` is in the range, minor versions of `last` included. True without a version.
    [[nodiscard]] bool hold(std::string_view software) const;
};

/// An engine that differs from its execution mode's own table.
struct Engine {
    std::string family;                       ///< its file in `software/engines/`: "vllm"
    std::vector<std::string> match;           ///< lower-case first words of the `software` column that name it; the longest match wins
    std::vector<Execution> executions;        ///< execution modes that it is for
    std::string vendor;                       ///< vendor of the GPUs that it runs on; empty: any
    std::optional<KnownVersions> versions{};  ///< versions in which its facts were observed; absent: not stated
    SoftwareStack stack;
};

/// Whether `software` begins with the whole words `match`, ignoring case: "tensorrt-llm v0.9" matches "tensorrt-llm", not
/// "tensorrt". Words end at a space, '/', ':', '.' or '+'; '*' matches anything up to the next space.
bool begins_with_words(std::string_view software, std::string_view match);

/// All software that is described.
struct SoftwareStacks {
    std::array<SoftwareStack, execution_count> by_execution;
    std::vector<Engine> engines;
    std::vector<EngineMemory> memory;  ///< how engines split a GPU's memory
    KernelLibraries libraries;
    std::vector<std::shared_ptr<const KernelFamily>> families;              ///< kernel families of all libraries
    std::shared_ptr<const std::vector<LibraryFactsTable>> library_facts{};  ///< facts of the default libraries, for all stacks

    /// The engine with that execution mode whose `match` is the longest run of words that `software` begins with (words end at a space,
    /// '/',
    /// ':' or '.'), in any case; of equal ones that for GPUs of `vendor`. nullptr when there is none.
    [[nodiscard]] const Engine* engine(Execution execution, std::string_view software, std::string_view vendor = {}) const;
    /// All engines of that family or name, else those that `software` begins with, in any execution mode.
    [[nodiscard]] std::vector<const Engine*> named(std::string_view software) const;
    /// The stack of that engine, else of the execution mode itself.
    [[nodiscard]] const SoftwareStack& find(Execution execution, std::string_view software, std::string_view vendor = {}) const;
    /// The caller of kernels measured under `software`, free text: an engine in whatever execution mode, eager first, or a library that is
    /// called directly; unknown software is taken for a serving engine.
    [[nodiscard]] Caller caller(std::string_view software, std::string_view vendor = {}) const;
    /// Names of the kernel families that a run with `software` on GPUs of `vendor` may use, in whatever execution mode.
    [[nodiscard]] std::vector<std::string> families_of(std::string_view software, std::string_view vendor) const;
};

/// Reads `execution.toml` and `engines/*.toml` of the folder. Throws Error naming file, line and key.
SoftwareStacks load_software(const std::filesystem::path& software_folder);

/// Whether the family was fitted on the GPU or its architecture, or runs on the GPU's own parameters (`needs_fit`). Operators of others
/// keep the parameters of their class.
bool has_parameters(const KernelFamily& family, const Gpu& gpu);

/// `gpu` with the family's parameters, as far as it was fitted on it or its architecture, and the facts of its kernels.
Gpu as_family_sees(const Gpu& gpu, const KernelFamily& family);

/// `gpu` with the kernels that libraries have on it where no engine is chosen.
GpuProfile with_libraries(GpuProfile gpu, const SoftwareStacks& software);

/// `gpu` as `stack` uses it: with the kernels that libraries have on it; fp16 GEMMs at the 16-bit accumulation rate where the
/// stack accumulates so and the GPU is then faster. Of the profile it keeps numbers, id, name, vendor and architecture; origins of
/// parameters are left out.
Gpu as_software_sees(const Gpu& gpu, const SoftwareStack& stack);

}  // namespace roofcast
