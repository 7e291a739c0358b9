#include "roofcast/serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/pass.hpp"
#include "prediction/shapes.hpp"
#include "prediction/speculative.hpp"
#include "roofcast/decoder_figures.hpp"
#include "roofcast/error.hpp"
#include "roofcast/memory_report.hpp"
#include "scenario/engine_copy.hpp"

namespace roofcast {

namespace {

void add(EngineLoad& sum, const EngineLoad& copy) {
    sum.end = max(sum.end, copy.end);
    sum.busy += copy.busy;
    sum.waiting += copy.waiting;
    sum.in_engine += copy.in_engine;
    sum.blocks_used += copy.blocks_used;
    sum.batch += copy.batch;
    sum.most_waiting = std::max(sum.most_waiting, copy.most_waiting);
    sum.most_blocks = std::max(sum.most_blocks, copy.most_blocks);
    sum.most_running = std::max(sum.most_running, copy.most_running);
    sum.steps += copy.steps;
    sum.preemptions += copy.preemptions;
    sum.tokens += copy.tokens;
    sum.blocks_left += copy.blocks_left;
}

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

/// Activations of the largest step: all its tokens as one prompt, all its sequences with their logits, or the images of all that begin.
Bytes largest_activations(const Workload& workload, const Run& request, const SoftwareStacks& software, const SchedulerOptions& options) {
    const VisionLanguage* vlm = vision_language(workload);
    Workload language = workload;
    if (vlm != nullptr) language.architecture = vlm->language;
    const Bytes of_text = max(activations(language, request, software, options.max_sequences, 1),
                              activations(language, request, software, 1, options.max_tokens));
    if (vlm == nullptr) return of_text;
    return max(of_text, activations(workload, request, software, most_encoded(*vlm, request, options), 1));
}

/// What a sequence of `tokens` tokens keeps in addition to what each token adds: states and windows; of unknown length (up to 2 tokens),
/// full ones.
Bytes kept_of_sequence(const DecoderLlm& decoder, const Run& run, std::int64_t tokens) {
    const Bytes full = fixed_cache(decoder, run);
    if (tokens <= 2) return full;
    return min(full, max(Bytes{}, kv_cache_size(decoder, run, tokens) - static_cast<double>(tokens) * cache_per_token(decoder, run)));
}

/// What a GPU whose memory is known holds, all of it but what each token takes.
CacheRoom parts_of_room(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                        const SchedulerOptions& options) {
    const Bytes usable = *gpu.usable_memory();
    Run one = request;
    one.batch = one.prompt_tokens = one.generate_tokens = 1;
    const MemoryEstimate memory = memory_estimate(workload, one, software);
    CacheRoom room{.weights = memory.weights, .overhead = memory.overhead};
    room.activations = largest_activations(workload, one, software, options);
    const bool of_free = stack_of(software, request, workload, gpu.vendor).cache_of_free;
    room.weights += expert_padding(workload, request, software, gpu);  // of gpt-oss-120b more than what some GPUs have left
    const Bytes taken = room.weights + room.activations + room.overhead;
    room.available = of_free ? usable : options.memory_fraction * usable;
    room.cache = max(Bytes{}, of_free ? options.memory_fraction * (usable - taken) : room.available - taken);
    return room;
}

}  // namespace

CacheRoom cache_room_left(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                          const SchedulerOptions& options) {
    if (!gpu.usable_memory())
        throw Error({.what = fmt::format("the memory of {} is not known, so its KV cache cannot be sized", gpu.id), .key = "gpu.capacity"});
    CacheRoom room = parts_of_room(workload, request, software, gpu, options);
    Run one = request;
    one.batch = one.prompt_tokens = one.generate_tokens = 1;
    const DecoderLlm& decoder = *language_model(workload);
    room.per_token = cache_per_token(decoder, one) + draft_cache_per_token(workload, one);
    Bytes state = kept_of_sequence(decoder, one, context_tokens(workload, request) + request.generate_tokens);
    if (room.per_token <= Bytes{}) {  // windows alone: they grow until they are full
        room.per_token = kv_cache_size(decoder, one, 2) - kv_cache_size(decoder, one, 1);
        state = max(Bytes{}, kv_cache_size(decoder, one, 1) - room.per_token);
    }
    const Bytes block = static_cast<double>(options.block_tokens) * room.per_token;
    room.blocks = static_cast<std::int64_t>(room.cache / block);
    room.state_blocks = static_cast<std::int64_t>(std::ceil(state / block));
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
         .found = fmt::format("{} of {:.1f} GB", options.memory_fraction, gpu.usable_memory()->in(gb)),
         .suggestion = "more GPUs with `parallel.tensor` or `parallel.pipeline`, fewer bits with `weights`, or a smaller `max_tokens`"});
}

std::optional<Refusal> refusal(const ServingEngine& engine, const ServingRequest& request) {
    const SchedulerOptions& o = engine.options;
    // The last token is generated but never read back, so it takes no place.
    const std::int64_t context = request.prompt_tokens + request.output_tokens - 1;
    if (engine.max_context > 0 && context > engine.max_context) return Refusal::context;
    if (engine.state_blocks + (context + o.block_tokens - 1) / o.block_tokens > engine.cache_blocks / engine.groups) return Refusal::cache;
    if (!o.chunked && request.prompt_tokens > o.max_tokens) return Refusal::step;
    return std::nullopt;
}

ServingRun simulated(const ServingEngine& engine, const std::vector<ServingRequest>& requests, const std::optional<EarlyEnd>& early_end) {
    ServingRun run;
    run.times.resize(requests.size());
    std::optional<MissCounter> misses;
    if (early_end) misses = MissCounter{.end = *early_end, .count = {}};
    for (std::int64_t copy = 0; copy < engine.copies && run.complete; ++copy) {
        add(run.load, EngineCopy(engine, requests, static_cast<std::size_t>(copy), run.times, misses ? &*misses : nullptr).run());
        run.complete = !misses || !misses->gives_up();
    }
    return run;
}

}  // namespace roofcast
