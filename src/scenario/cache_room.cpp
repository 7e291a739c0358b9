// How a serving engine divides the memory of a GPU, as the simulator needs it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/pass.hpp"
#include "prediction/shapes.hpp"
#include "prediction/speculative.hpp"
#include "roofcast/decoder_figures.hpp"
#include "roofcast/error.hpp"
#include "roofcast/memory_report.hpp"
#include "roofcast/serving.hpp"
#include "scenario/engine_cache.hpp"
#include "scenario/engine_defaults.hpp"

namespace roofcast {

namespace {

/// Sequences whose images are encoded in one step at most: all that can begin a prompt of images and one token of text, but for what a
/// prefix cache holds.
std::int64_t most_encoded(const VisionLanguage& model, const Run& run, const SchedulerOptions& options) {
    const double computed = (1 - options.prefix_cached) * static_cast<double>(image_tokens(model, run)) + 1;
    const auto budget = static_cast<double>(options.chunked ? std::min(options.max_tokens, options.chunk.value_or(options.max_tokens))
                                                            : options.max_tokens);
    const double begun = options.chunked ? std::ceil(budget / computed) : std::max(1.0, std::floor(budget / computed));
    return static_cast<std::int64_t>(std::min(begun, static_cast<double>(options.max_sequences)));
}

Bytes activations(const Workload& workload, Run request, const SoftwareStacks& software, std::int64_t batch, std::int64_t prompt) {
    request.batch = batch;
    request.prompt_tokens = prompt;
    return memory_estimate(workload, request, software).activations;
}

/// Activations of the largest step: all its tokens as one prompt, or all its sequences with their logits.
Bytes text_activations(const Workload& workload, const Run& request, const SoftwareStacks& software, const SchedulerOptions& options) {
    Workload language = workload;
    if (const VisionLanguage* vlm = vision_language(workload)) language.architecture = vlm->language;
    return max(activations(language, request, software, options.max_sequences, 1),
               activations(language, request, software, 1, options.max_tokens));
}

/// What a sequence of `tokens` tokens keeps in addition to what each token adds: states and windows; of unknown length (up to 2 tokens),
/// full ones.
Bytes kept_of_sequence(const DecoderLlm& decoder, const Run& run, std::int64_t tokens) {
    const Bytes full = fixed_cache(decoder, run);
    if (tokens <= 2) return full;
    return min(full, max(Bytes{}, kv_cache_size(decoder, run, tokens) - static_cast<double>(tokens) * cache_per_token(decoder, run)));
}

/// Activations where images are encoded, if the model has any.
Bytes image_activations(const Workload& workload, const Run& request, const SoftwareStacks& software, const SchedulerOptions& options) {
    const VisionLanguage* vlm = vision_language(workload);
    return vlm == nullptr ? Bytes{} : activations(workload, request, software, most_encoded(*vlm, request, options), 1);
}

/// Engines that nobody described divide memory as `predict` counts it. `one`: a sequence of one token.
CacheRoom usual_room(const Workload& workload, const Run& one, std::int64_t context, const SoftwareStacks& software, const GpuProfile& gpu,
                     const SchedulerOptions& options) {
    constexpr double usual_fraction = 0.9;
    const MemoryEstimate memory = memory_estimate(workload, one, software);
    CacheRoom room{.weights = memory.weights, .overhead = memory.overhead};
    room.fraction = options.memory_fraction.value_or(usual_fraction);
    room.available = room.fraction * *gpu.usable_memory();
    room.activations = max(text_activations(workload, one, software, options), image_activations(workload, one, software, options));
    room.cache = room.available - room.weights - room.activations - room.overhead;
    const DecoderLlm& decoder = *language_model(workload);
    room.per_token = cache_per_token(decoder, one);
    room.kept = kept_of_sequence(decoder, one, context);
    if (room.per_token <= Bytes{}) {  // windows alone: they grow until they are full
        room.per_token = kv_cache_size(decoder, one, 2) - kv_cache_size(decoder, one, 1);
        room.kept = max(Bytes{}, kv_cache_size(decoder, one, 1) - room.per_token);
    }
    return room;
}

/// Groups of attention data parallelism that `engine` gives steps of their own.
std::int64_t groups_with_steps(const EngineMemory& engine, const Run& request) {
    return engine.joint_steps ? 1 : request.parallel.attention_data;
}

/// As `engine` divides memory.
CacheRoom described_room(const EngineMemory& engine, const Workload& workload, const Run& one, std::int64_t context,
                         const SoftwareStacks& software, const GpuProfile& gpu, const SchedulerOptions& options) {
    const std::int64_t groups = groups_with_steps(engine, one);
    const std::int64_t step_tokens = (options.max_tokens + groups - 1) / groups;
    const EngineMemoryReport report = engine_memory(
        workload, one, software, gpu,
        {.fraction = options.memory_fraction, .max_tokens = step_tokens, .max_sequences = (options.max_sequences + groups - 1) / groups});
    CacheRoom room{.weights = report.weights, .activations = report.activations, .overhead = report.framework};
    if (engine.graphs_reserved) room.overhead += report.graphs;
    room.fraction = report.fraction;
    room.available = report.available;
    // SGLang's fraction leaves room for activations, whatever they are.
    const Bytes of_images = max(Bytes{}, image_activations(workload, one, software, options) - room.activations);
    room.activations += of_images;
    if (engine.fraction_of == FractionOf::free_at_load) room.available += of_images;
    room.cache = room.available - room.weights - room.activations - room.overhead;
    if (engine.fraction_of == FractionOf::left) room.cache = room.fraction * room.cache;
    const DecoderLlm& decoder = *language_model(workload);
    EngineMemory sized = engine;
    sized.block_tokens = options.block_tokens;
    const EngineCache cache{.engine = sized, .kinds = kinds_of_stage(decoder, one), .size = room.cache, .step_tokens = step_tokens};
    const CacheGrowth grown = growth(cache, context);
    room.per_token = grown.per_token;
    room.kept = grown.kept;
    return room;
}

}  // namespace

SchedulerOptions engine_scheduler(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu) {
    SchedulerOptions options = stack_of(software, request, workload, gpu.vendor).scheduler;
    const EngineMemory* engine = engine_memory_of(software.memory, request.software);
    if (engine == nullptr) return options;
    const StepDefaults& step = step_defaults(*engine, gpu, gpu.usable_memory().value_or(Bytes{}));
    const std::int64_t groups = groups_with_steps(*engine, request);
    options.max_tokens = groups * step.max_tokens;
    options.max_sequences = groups * step.max_sequences;
    options.block_tokens = engine->block_tokens;
    return options;
}

CacheRoom cache_room_left(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                          const SchedulerOptions& options) {
    if (!gpu.usable_memory())
        throw Error({.what = fmt::format("the memory of {} is not known, so its KV cache cannot be sized", gpu.id), .key = "gpu.capacity"});
    Run one = request;
    one.batch = one.prompt_tokens = one.generate_tokens = 1;
    const std::int64_t context = context_tokens(workload, request) + request.generate_tokens;
    const EngineMemory* engine = engine_memory_of(software.memory, request.software);
    CacheRoom room = engine != nullptr ? described_room(*engine, workload, one, context, software, gpu, options)
                                       : usual_room(workload, one, context, software, gpu, options);
    room.cache = max(Bytes{}, room.cache);
    room.per_token += draft_cache_per_token(workload, one);
    const Bytes block = static_cast<double>(options.block_tokens) * room.per_token;
    room.blocks = static_cast<std::int64_t>(room.cache / block);
    room.state_blocks = static_cast<std::int64_t>(std::ceil(room.kept / block));
    return room;
}

CacheRoom cache_room(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                     const SchedulerOptions& options) {
    CacheRoom room = cache_room_left(workload, request, software, gpu, options);
    if (room.blocks >= 1) return room;
    throw NoAnswer(
        {.what = fmt::format("{} leaves no room for a KV cache on {}: weights, activations and framework take {:.1f} GB", workload.id,
                             gpu.id, (room.weights + room.activations + room.overhead).in(gb)),
         .key = "memory_fraction",
         .found = fmt::format("{:.3g} of {:.1f} GB", room.fraction, gpu.usable_memory()->in(gb)),
         .suggestion = "more GPUs with `parallel.tensor` or `parallel.pipeline`, fewer bits with `weights`, or a smaller `max_tokens`"});
}

}  // namespace roofcast
