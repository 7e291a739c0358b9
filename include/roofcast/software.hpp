#pragma once
/// Software as data: how engines and frameworks run a model, and what they cost the host. Facts of `software/`, apart from those of GPUs.

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

/// What kernels of a family have in place of what the architecture's usual ones have.
struct KernelFacts {
    std::optional<AttentionKernels> attention{};
    std::optional<int> query_block{};                ///< queries of a head that a thread block takes
    bool quantizes_by_tensors = false;               ///< as `LibraryFacts`'
    std::optional<std::vector<ShapedTile>> tiles{};  ///< of GEMMs in 8 bits, or of routed experts
    RecurrentKernels recurrent{};
    SparseKernels sparse{};
};

/// Whether a list of what is taken has `value`; an empty one takes everything.
template <class T>
bool takes_any(const std::vector<T>& taken, const T& value) {
    return taken.empty() || std::find(taken.begin(), taken.end(), value) != taken.end();
}

/// Kernels of a library that are alike enough to share parameters: "deepgemm". A table `[[family]]` of `software/libraries/`.
/// Empty lists and absent flags take everything.
struct KernelFamily {
    std::string name, source;
    std::string op;  ///< "gemm", "moe", "attention", "causal_convolution", "recurrence", "hyper_connection" or "sparse_attention"
    std::vector<std::string> kernels;  ///< values of the column `kernel` of measurements that mean it …
    std::vector<std::string> engines;  ///< … where the column `software` begins with one of these words
    std::vector<std::string> architectures;
    std::vector<Precision> precisions, kv_precisions;
    std::vector<WeightFormat> weights;
    std::optional<bool> cached;             ///< attention with a KV cache, or without one
    std::optional<bool> windowed;           ///< attention over a sliding window, or over all keys
    std::optional<bool> prompts{};          ///< of sequences without earlier tokens or several queries each, or of all others (decoding)
    std::vector<std::int64_t> head_dims{};  ///< widths of a head
    std::vector<RecurrentLayer> layers{};   ///< that convolutions and recurrences belong to
    std::optional<bool> verifies{};         ///< updates of several tokens a sequence, or of one
    std::optional<GroupSizes> groups{};     ///< query heads that share a KV head
    std::optional<GroupSizes> sharing_groups{};  ///< in place of the caller's
    bool converts_cache = true;                  ///< the same
    std::optional<bool> batched{};               ///< GEMMs of several pairs of matrices at once, or of one
    std::optional<bool> gated;                   ///< experts' inner layer; absent: as the row or model says
    bool needs_fit = true;                       ///< false: without a fit it runs on the GPU's parameters, as its design says enough
    bool rows_include_quantization = false;      ///< measured times hold the kernel that quantizes activations
    KernelFacts facts{};
    std::vector<std::pair<std::size_t, double>> values{};  ///< by index of a parameter: where the family has no fit, in place of the GPU's
    [[nodiscard]] bool runs_on(const GpuProfile& gpu) const;
    /// `caller` as the family's kernels have it.
    [[nodiscard]] Caller called_by(Caller caller) const;
};

/// Attention of one query per sequence where each KV head serves `least_group` query heads or more: by other kernels, at `rate` of the rate
/// of kernels that split the cache.
struct GroupedDecoding {
    std::int64_t least_group = 2;
    double rate = 1;
};

/// How an engine runs sequences of more than `beyond` tokens, prompt and output together, where that differs.
struct LongContexts {
    std::int64_t beyond = 0;
    std::int64_t prefill_chunk = 0;    ///< tokens of all sequences in one pass of prefill
    double decode_attention_rate = 1;  ///< in place of `SoftwareStack::decode_attention_rate`
};

/// How an engine runs decoders, where that differs from what else it runs.
struct DecoderSettings {
    double matmul_rate = 1;  ///< in place of `SoftwareStack::matmul_rate`
    Seconds host_per_pass;   ///< in place of `SoftwareStack::host_per_pass`
};

/// Encoders measured on sequences of which half is padding.
struct HalfPadded {
    /// Runs of so many tokens a sequence are of the other half alone: padding was removed before.
    std::vector<std::int64_t> removed_tokens;
    Seconds host_per_pass;  ///< that removing it takes more, and that nothing hides
};

/// What an execution mode, or a named engine, does and costs. Keys, units and meanings: src/software/keys.cpp and docs/software.md.
struct SoftwareStack {
    std::string name;  ///< "eager", …, or the engine's: "llama.cpp"
    Execution execution = Execution::eager;
    Lowering lowering{.kernels = KernelSet::framework};  ///< its `half_padded` and `folds_norms` are of a run, and not read from tables
    Caller caller{};                                     ///< of its kernels
    Seconds host_per_kernel;                             ///< host time to issue one kernel
    Seconds host_per_convolution;                        ///< beside that of its kernels: the library looks an algorithm up
    Seconds host_per_pass;                               ///< host time of one pass that nothing hides: Python, scheduler, graph launch
    Seconds device_gap;                                  ///< between two dependent kernels on the GPU beyond the kernel's own latency
    bool cache_of_free = false;    ///< its fraction of memory for the cache is of what weights and activations leave, not of all with them
    SchedulerOptions scheduler{};  ///< of steps that serve many requests
    int streams = 1;               ///< that independent operators of decoders run on
    Seconds prompt_host_per_kernel;           ///< host time to issue one kernel of a pass that is not captured (`OpGraph::captured`)
    Seconds prompt_token_time;                ///< of a request outside of steps for each token of its prompt
    Seconds request_time;                     ///< of a request outside of steps: its text, tokens and network
    bool joint_attention = false;             ///< steps of prompts and decodes have one attention kernel for both
    std::int64_t prefill_chunk = 0;           ///< tokens of all sequences in one pass of prefill; 0: whole prompts
    std::optional<HalfPadded> half_padded{};  ///< absent: sequences are full
    bool casts_weights = false;          ///< before each GEMM of a 16-bit run kernels narrow weights, in frameworks biases of linear layers
    double extra_kernels_4bit = 0;       ///< issued beside each GEMM of weights in 4 bits (below 8): its unpacking
    double extra_kernels_8bit = 0;       ///< the same of weights in 8 bits
    std::int64_t unpacks_from_rows = 0;  ///< GEMMs of so many rows or more run in 16 bits after their weights were unpacked; 0: none
    bool fp32_activations = false;       ///< 16-bit runs keep activations in fp32, and convert what GEMMs take and give
    int least_tile_rows = 0;             ///< that its GEMMs pad to, without split-K, if MMA instructions span several warps; 0: any
    double least_tile_rate = 1;          ///< of the rate in 16 bits, that GEMMs padded to these rows reach
    int fp8_tile = 0;  ///< rows and columns of the only tile of fp8 GEMMs that quantize activations; 0: as the GPU's facts say
    bool fp16_accumulation = false;         ///< fp16 products accumulate in 16 bits: twice the rate on GeForce
    bool fastest_precision = false;         ///< runs an 8-bit layer in fp16 where that is faster
    std::int64_t pipeline_chunk = 0;        ///< tokens of a prompt that travel through pipeline stages together; 0: the whole prompt
    bool splits_layers = false;             ///< over several GPUs, where nothing else is said: consecutive layers; false: every layer
    double pipeline_overlap = 1;            ///< fraction of the ideal gain from stages working at the same time
    bool warp_mma = false;                  ///< its GEMMs are made of single-warp MMA instructions (mma.sync)
    bool warp_mma_experts = false;          ///< those of routed experts in 8 bits are
    double gemv_bytes_per_sm_clock = 0;     ///< most that an SM takes in of weights that GEMMs of few rows stream past vectors; 0: there
                                            ///< are no such kernels
    bool waits_for_8bit_gemms = false;      ///< the CPU issues nothing before a dense GEMM that computes in 8 bits has finished
    double unpacked_4bit_per_sm_clock = 0;  ///< most weights in 4 bits (below 8) that its 16-bit GEMMs unpack; 0: no limit
    double unpacked_8bit_per_sm_clock = 0;  ///< the same of weights in 8 bits
    double matmul_rate = 1;                 ///< of the rate of vendors' libraries that its GEMMs and attention reach
    Seconds expert_launch{};                ///< of an expert's own kernel in GEMMs with 4-bit weights, tokens or not; 0: they share one
    double expert_rate = 1;                 ///< of that rate that its grouped GEMMs of routed experts in 8 bits reach
    double decode_attention_rate = 1;       ///< of the rate of kernels that split the cache, attention of one query per sequence
    std::optional<GroupedDecoding> grouped_decode_attention{};  ///< where many query heads share keys; none: as others
    std::optional<LongContexts> long_contexts{};                ///< absent: as others
    std::optional<DecoderSettings> decoders{};                  ///< absent: as others
    Seconds send_gap;                                           ///< beside each transfer between pipeline stages
    double streaming_rate = 1;                                  ///< of the rate of well-written kernels that its other kernels reach
    double element_instructions = 0;  ///< of CUDA cores, for each element that its streaming kernels write; 0: hidden behind the bytes
    Bytes memory_overhead;            ///< context, workspaces, allocator
    Seconds cold_context;             ///< first run only: context and libraries
    Seconds cold_per_kernel;          ///< first run only: loading or compiling each kernel, those of repeated layers once
    std::shared_ptr<const KernelLibrary> all_reduce{};          ///< whose kernels run all-reduces; null: the vendor's
    std::vector<std::shared_ptr<const KernelFamily>> families;  ///< of its own kernels: the first that takes an operator runs it
    /// Facts of the libraries that run where neither the stack nor a family says otherwise; null: a GPU's stay as they are.
    std::shared_ptr<const std::vector<LibraryFactsTable>> library_facts{};
    std::string source;
};

/// What one key of the tables in `software/` means.
struct SoftwareKeyInfo {
    std::string_view name;
    std::string_view unit;     ///< empty: flags and tables
    std::string_view meaning;  ///< one sentence
    bool required = false;     ///< in tables of execution modes
    std::string fallback{};    ///< value of tables without the key, as TOML
};
/// All keys but `source`, in the order of docs/software.md.
std::vector<SoftwareKeyInfo> software_keys();

/// Keys and values of `stack` that differ from a table without keys, as TOML.
std::vector<std::pair<std::string_view, std::string>> stated_keys(const SoftwareStack& stack);

/// Versions of an engine, from the first to the last that its facts were seen in.
struct KnownVersions {
    std::string first, last;  ///< "0.8", "0.24"
    /// Whether the version that `software` ends in lies between them, minor versions of the last one included; true without a version.
    [[nodiscard]] bool hold(std::string_view software) const;
};

/// An engine that differs from its execution mode's own table.
struct Engine {
    std::string family;                       ///< its file in `software/engines/`: "vllm"
    std::vector<std::string> match;           ///< first words of the `software` column that mean it, in lower case; the longest match wins
    std::vector<Execution> executions;        ///< in these ways
    std::string vendor;                       ///< of the GPUs that it is for; empty: of all
    std::optional<KnownVersions> versions{};  ///< that its facts were seen in; absent: not stated
    SoftwareStack stack;
};

/// Whether `software` begins with the whole words `match` in any case: "tensorrt-llm v0.9" does with "tensorrt-llm" and not with
/// "tensorrt". Words end at a space, '/', ':', '.' or '+';
/// '*' stands for anything up to the next space.
bool begins_with_words(std::string_view software, std::string_view match);

/// All software that is described.
struct SoftwareStacks {
    std::array<SoftwareStack, execution_count> by_execution;
    std::vector<Engine> engines;
    std::vector<EngineMemory> memory;  ///< how engines divide a GPU's memory
    KernelLibraries libraries;
    std::vector<std::shared_ptr<const KernelFamily>> families;              ///< of all libraries
    std::shared_ptr<const std::vector<LibraryFactsTable>> library_facts{};  ///< of those that run by default; of all stacks

    /// The engine that runs that way and whose `match` is the longest run of words that `software` begins with (words end at a space, '/',
    /// ':' or '.'), in any case; of equal ones that for GPUs of `vendor`. nullptr when there is none.
    [[nodiscard]] const Engine* engine(Execution execution, std::string_view software, std::string_view vendor = {}) const;
    /// All engines of that family or name, else those that `software` begins with, in any execution mode.
    [[nodiscard]] std::vector<const Engine*> named(std::string_view software) const;
    /// That engine's costs, else the execution mode's own table.
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
