#include "roofcast/serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
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
    sum.steps += copy.steps;
    sum.preemptions += copy.preemptions;
    sum.tokens += copy.tokens;
    sum.blocks_left += copy.blocks_left;
}

/// Sequences whose images fit into one step with their prompts.
std::int64_t most_encoded(const VisionLanguage& model, const RunShape& shape, const SchedulerOptions& options) {
    return std::clamp(options.max_tokens / std::max<std::int64_t>(1, image_tokens(model, shape)), std::int64_t{1}, options.max_sequences);
}

/// Activations of the largest step: all its tokens as one prompt, all its sequences with their logits, or the images of as many prompts as
/// fit into it.
Bytes largest_activations(Workload workload, RunRequest request, const SoftwareStacks& software, const SchedulerOptions& options) {
    if (const VisionLanguage* vlm = vision_language(workload)) {
        request.shape.batch = most_encoded(*vlm, request.shape, options);
        const Bytes of_images = memory_estimate(workload, request, software).activations;
        workload.architecture = DecoderLlm(vlm->language);
        return max(of_images, largest_activations(std::move(workload), std::move(request), software, options));
    }
    request.shape.batch = options.max_sequences;
    request.shape.prompt_tokens = 1;
    const Bytes of_sequences = memory_estimate(workload, request, software).activations;
    request.shape.batch = 1;
    request.shape.prompt_tokens = options.max_tokens;
    return max(of_sequences, memory_estimate(workload, request, software).activations);
}

}  // namespace

CacheRoom cache_room(const Workload& workload, const RunRequest& request, const SoftwareStacks& software, const GpuProfile& gpu,
                     const SchedulerOptions& options) {
    if (!gpu.capacity)
        throw Error({.what = fmt::format("the memory of {} is not known, so that its KV cache is not either", gpu.id), .key = "--gpu"});
    RunRequest one = request;
    one.shape.batch = one.shape.prompt_tokens = one.shape.generate_tokens = 1;
    const MemoryEstimate memory = memory_estimate(workload, one, software);
    CacheRoom room{.weights = memory.weights, .overhead = memory.overhead};
    room.activations = largest_activations(workload, one, software, options);
    room.per_token = kv_cache_size(*language_model(workload), one.shape, 1);
    const Bytes taken = room.weights + room.activations + room.overhead, allowed = options.memory_fraction * *gpu.capacity;
    room.cache = max(Bytes{}, allowed - taken);
    room.blocks = static_cast<std::int64_t>(room.cache / (static_cast<double>(options.block_tokens) * room.per_token));
    if (room.blocks < 1)
        throw Error({.what = fmt::format("{} leaves no room for a KV cache on {}: weights, activations and framework take {:.1f} GB",
                                         workload.id, gpu.id, taken.in(gb)),
                     .key = "--memory-fraction",
                     .found = fmt::format("{} of {:.1f} GB", options.memory_fraction, gpu.capacity->in(gb)),
                     .suggestion = "more GPUs with --tp or --pp, fewer bits with --weights, or a smaller --max-tokens"});
    return room;
}

std::optional<Refusal> refusal(const ServingEngine& engine, const ServingRequest& request) {
    const SchedulerOptions& o = engine.options;
    // The last token is generated but never read back, so it takes no place.
    const std::int64_t context = request.prompt_tokens + request.output_tokens - 1;
    if (engine.max_context > 0 && context > engine.max_context) return Refusal::context;
    if ((context + o.block_tokens - 1) / o.block_tokens > engine.cache_blocks) return Refusal::cache;
    if (!o.chunked && request.prompt_tokens > o.max_tokens) return Refusal::step;
    return std::nullopt;
}

ServingRun simulated(const ServingEngine& engine, const std::vector<ServingRequest>& requests) {
    ServingRun run;
    run.times.resize(requests.size());
    for (std::int64_t copy = 0; copy < engine.copies; ++copy)
        add(run.load, EngineCopy(engine, requests, static_cast<std::size_t>(copy), run.times).run());
    return run;
}

}  // namespace roofcast
