#include "cli/engine_memory_options.hpp"

#include <fmt/format.h>

#include "prediction/shapes.hpp"
#include "report/run_parts.hpp"

namespace roofcast::cli {

namespace {

void require_count(const std::optional<std::int64_t>& value, const char* option, std::int64_t most) {
    if (!value || (*value >= 1 && *value <= most)) return;
    throw Error({.what = "out of range",
                 .key = option,
                 .found = std::to_string(*value),
                 .expected = fmt::format("a whole number from 1 to {}", most)});
}

/// Options of batches, which engines form themselves.
void refuse_batches(const RunOptions& run) {
    const std::pair<bool, const char*> given[] = {
        {run.batch.has_value(), "--batch"}, {run.prompt.has_value(), "--prompt"}, {run.generate.has_value(), "--generate"}};
    for (const auto& [is_given, option] : given) {
        if (!is_given) continue;
        throw Error({.what = "an engine forms its batches from the sequences that its KV cache holds",
                     .key = option,
                     .suggestion = "use --context for the length of a sequence, and --max-seqs for the sequences of a step"});
    }
    const TechniqueSettings& t = run.techniques;
    const std::pair<const std::string*, const char*> techniques[] = {{&t.cached_prefix, "--cached-prefix"},
                                                                     {&t.prefill_chunk, "--prefill-chunk"},
                                                                     {&t.kv_block, "--kv-block"},
                                                                     {&t.offload, "--offload"},
                                                                     {&t.draft, "--draft"},
                                                                     {&t.mtp, "--mtp"}};
    for (const auto& [text, option] : techniques) {
        if (text->empty()) continue;
        throw Error({.what = "an engine's memory does not depend on this option",
                     .key = option,
                     .found = *text,
                     .suggestion = "leave it out, or leave out --software"});
    }
}

}  // namespace

void add_engine_memory_options(CLI::App& command, EngineMemoryOptions& o) {
    command.add_option("--memory-fraction", o.fraction,
                       "Fraction of the memory that the engine takes: gpu_memory_utilization (vLLM), mem_fraction_static (SGLang) or "
                       "free_gpu_memory_fraction (TensorRT-LLM) (default: the engine's)");
    command.add_option("--max-tokens", o.max_tokens, "Tokens in the largest step: max_num_batched_tokens (vLLM) (default: the engine's)");
    command.add_option("--max-seqs", o.max_sequences, "Sequences in the largest step: max_num_seqs (vLLM) (default: the engine's)");
    command.add_option("--context", o.context, "Tokens in the longest sequence: max_model_len (vLLM) (default: the model's)");
}

EngineSettings engine_settings(const EngineMemoryOptions& o) {
    constexpr std::int64_t most_in_step = std::int64_t{1} << 20, longest = std::int64_t{1} << 30;
    if (o.fraction && !(*o.fraction > 0 && *o.fraction <= 1))
        throw Error({.what = "out of range",
                     .key = "--memory-fraction",
                     .found = fmt::format("{:g}", *o.fraction),
                     .expected = "a number above 0, at most 1"});
    require_count(o.max_tokens, "--max-tokens", most_in_step);
    require_count(o.max_sequences, "--max-seqs", most_in_step);
    require_count(o.context, "--context", longest);
    return {.fraction = o.fraction, .max_tokens = o.max_tokens, .max_sequences = o.max_sequences, .context = o.context, .gpu_memory = {}};
}

bool divides_as_engine(const EngineMemoryOptions& options, const RunOptions& run, const SoftwareStacks& software, bool any_gpu) {
    const bool described = engine_memory_of(software.memory, run.software) != nullptr;
    if (described && any_gpu) {
        refuse_batches(run);
        return true;
    }
    if (!options.any()) return false;
    const char* missing = run.software.empty() || !described ? "--software" : "--gpu";
    throw Error({.what = "--memory-fraction, --max-tokens, --max-seqs and --context need an engine and a GPU",
                 .key = missing,
                 .found = described ? "none" : run.software,
                 .expected = described ? "a GPU" : engine_memory_names(software.memory),
                 .suggestion = "such as --software vllm --gpu h100"});
}

NamedMemory named_memory(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                         const EngineSettings& settings) {
    const Run run = completed_sizes(request, workload);
    NamedMemory named{.model_id = workload.id,
                      .model_name = workload.name,
                      .gpu_id = gpu.id,
                      .gpu_name = gpu.name,
                      .software = run.software,
                      .weights = weights_text(run),
                      .cache = std::string(name(run.cache_precision())),
                      .gpus = run.parallel.gpus(),
                      .memory = engine_memory(workload, run, software, gpu, settings),
                      .remedies = {},
                      .given = settings};
    named.remedies = engine_memory_remedies(named.memory, workload, run, software, gpu);
    return named;
}

}  // namespace roofcast::cli
