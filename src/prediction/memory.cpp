#include "prediction/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/degrees.hpp"
#include "prediction/offload.hpp"
#include "prediction/pass.hpp"
#include "prediction/shapes.hpp"
#include "prediction/sound.hpp"
#include "prediction/speculative.hpp"
#include "prediction/techniques.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

namespace {

/// Largest n in [0, limit] for which `fits(n)`; `fits` holds up to some n and not beyond.
template <class Predicate>
std::int64_t largest(std::int64_t limit, Predicate fits) {
    std::int64_t low = 0, high = 1;
    while (high <= limit && fits(high)) {
        low = high;
        high *= 2;
    }
    high = std::min(high, limit + 1);
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

constexpr std::int64_t most_sequences = std::int64_t{1} << 20;

/// Weights of the fullest of `stages` pipeline stages: its part of the layers, and the embedding on the first or the head on the
/// last.
Bytes busiest_stage(const OpGraph& graph, std::int64_t layers, std::int64_t stages) {
    if (graph.name == "vision") return weight_size(graph);  // runs whole on the first stage
    OpGraph embedding, head, between;
    embedding.tensors = head.tensors = graph.tensors;
    if (graph.tensors) between.tensors = StoredTensors{.vector_bits = graph.tensors->vector_bits};
    for (const Segment& segment : graph.segments) {
        OpGraph& part = segment.name == "embedding" ? embedding : segment.name == "head" ? head : between;
        part.segments.push_back(segment);
    }
    const std::int64_t in_stage = (layers + stages - 1) / stages;
    const double fraction = static_cast<double>(in_stage) / static_cast<double>(layers);
    return fraction * weight_size(between) + max(weight_size(embedding), weight_size(head));
}

Bytes sampling_scores(const EngineMemory& engine, const DecoderLlm& model, const Run& request, std::int64_t sequences) {
    const double bytes =
        engine.score_copies * 4 + (engine.stored_scores ? element_size(activation_precision(request.precision)).in(byte) : 0);
    const std::int64_t gpus = engine.splits_scores ? request.parallel.attention_tensor() : 1;
    return static_cast<double>((sequences + gpus - 1) / gpus * model.vocabulary) * bytes * byte;
}

/// Those of a step of `llm` where the engine cuts prompts into steps of a fixed size and its memory is described; they depend neither on
/// the prompt nor on the batch.
std::optional<Bytes> fixed_step_activations(const DecoderLlm& llm, const Run& request, const SoftwareStacks& software,
                                            const SoftwareStack& stack) {
    if (stack.prefill_chunk == 0 || !llm.cross_attention_layers.empty()) return std::nullopt;
    const EngineMemory* engine = engine_memory_of(software.memory, request.software);
    if (engine == nullptr) return std::nullopt;
    const StepDefaults& step = engine->steps.front();
    const std::int64_t chunk = request.techniques.prefill_chunk * request.group_batch();
    return step_activations(*engine, llm, request, stack.lowering, chunk > 0 ? chunk : step.max_tokens, step.max_sequences);
}

/// What no step of `llm` exceeds under an engine whose memory is described: it computes more tokens in several steps.
std::optional<Bytes> largest_step_activations(const DecoderLlm& llm, const Run& request, const SoftwareStacks& software,
                                              const SoftwareStack& stack) {
    const EngineMemory* engine = engine_memory_of(software.memory, request.software);
    if (engine == nullptr || !llm.cross_attention_layers.empty()) return std::nullopt;
    std::int64_t tokens = 0;  // on the GPU with the largest steps
    for (const StepDefaults& step : engine->steps) tokens = std::max(tokens, step.max_tokens);
    if (!stack.scheduler.chunked) tokens = std::max(tokens, request.prompt_tokens);
    return step_activations(*engine, llm, request, stack.lowering, tokens, request.group_batch());
}

/// A change of the run that takes less memory.
struct Remedy {
    std::string name;
    Run request;
};

/// Weights in fewer bits, and the KV cache in 8.
std::vector<Remedy> lighter_formats(const Run& request, bool language) {
    std::vector<Remedy> remedies;
    for (const char* format : {"int8", "int4"}) {
        Run r = request;
        r.weights = *parse_weight_format(format);
        if (r.weights->bits < request.weight_format().bits) remedies.push_back({fmt::format("{} weights", format), std::move(r)});
    }
    if (language && element_size(request.cache_precision()) > element_size(Precision::fp8)) {
        Run r = request;
        r.kv_precision = Precision::fp8;
        remedies.push_back({"fp8 KV cache", std::move(r)});
    }
    return remedies;
}

/// More GPUs of one machine by one degree of parallelism, fewest first: only those that a run of the model accepts.
std::vector<Remedy> spread(const Run& request, const DecoderLlm* llm, std::int64_t Parallelism::*degree, std::int64_t most_gpus) {
    std::vector<Remedy> remedies;
    if (llm == nullptr) return remedies;
    const bool tensor = degree == &Parallelism::tensor;
    const Parallelism& now = request.parallel;
    const std::int64_t beside = tensor ? now.pipeline : std::max(now.tensor, now.expert);  // GPUs of a copy for each way
    for (std::int64_t wider = now.*degree + 1; wider * beside <= most_gpus; ++wider) {
        const bool accepted =
            tensor ? wider % now.attention_data == 0 && splits_heads(*llm, wider / now.attention_data) && wider * now.data % now.expert == 0
                   : wider <= llm->layers;
        if (!accepted) continue;
        Run r = request;
        r.parallel.*degree = wider;
        const std::int64_t gpus = r.parallel.gpus();
        // In addition to other degrees, the field says which one is meant.
        std::string name = gpus == wider
                               ? fmt::format("{} over {} GPUs", tensor ? "tensor parallelism" : "a pipeline", wider)
                               : fmt::format("{} {}, {} GPUs in all", tensor ? "`parallel.tensor`" : "`parallel.pipeline`", wider, gpus);
        remedies.push_back({std::move(name), std::move(r)});
    }
    return remedies;
}

/// Two changes at once, each list from the smallest change on: the formats with the fewest bits, over several GPUs.
std::vector<std::vector<Remedy>> combinations(const Run& request, const DecoderLlm* llm, std::int64_t most_gpus) {
    std::vector<std::vector<Remedy>> all;
    for (const Remedy& light : lighter_formats(request, false)) {
        Run with_kv = light.request;
        with_kv.kv_precision = Precision::fp8;
        if (llm != nullptr) all.push_back({{light.name + " and fp8 KV cache", with_kv}});
        for (const auto degree : {&Parallelism::tensor, &Parallelism::pipeline}) {
            all.push_back(spread(light.request, llm, degree, most_gpus));
            for (Remedy& remedy : all.back()) remedy.name = light.name + " and " + remedy.name;
        }
    }
    return all;
}

}  // namespace

MemoryEstimate memory_estimate(const Workload& workload, const Run& request, const SoftwareStacks& software) {
    const SoftwareStack stack = stack_of(software, request, workload, {});
    const std::vector<OpGraph> graphs = weight_graphs(workload, request, stack);
    return memory_of(graphs, workload, request, software, stack);
}

MemoryEstimate memory_of(std::span<const OpGraph> weight_graphs, const Workload& workload, const Run& request,
                         const SoftwareStacks& software, const SoftwareStack& stack) {
    MemoryEstimate memory;
    memory.overhead = stack.memory_overhead;
    const DecoderLlm* llm = language_model(workload);
    const auto step = llm == nullptr ? std::nullopt : fixed_step_activations(*llm, request, software, stack);
    memory.activations = step.value_or(Bytes{});
    Bytes of_images;
    for (const OpGraph& graph : weight_graphs) {
        const bool staged = llm != nullptr && request.parallel.pipeline > 1;
        memory.weights += staged ? busiest_stage(graph, llm->layers, request.parallel.pipeline) : weight_size(graph);
        if (request.techniques.offload > 0) memory.weights -= offloaded_weights(graph, request);
        if (graph.name == "vision") {
            of_images = max(of_images, graph.peak_activations);
        } else if (!step) {
            memory.activations = max(memory.activations, graph.peak_activations);
        }
    }
    if (llm != nullptr && !step) {
        const auto most = largest_step_activations(*llm, request, software, stack);
        if (most && *most < memory.activations) memory.activations = *most;
    }
    memory.activations = max(memory.activations, of_images);
    if (llm != nullptr) {
        const std::int64_t tokens = paged_tokens(request, context_tokens(workload, request) + request.generate_tokens);
        memory.kv_cache = static_cast<double>(request.group_batch()) * kv_cache_size(*llm, request, tokens);
    }
    if (request.techniques.speculation) add_draft_memory(memory, workload, request, software, stack.lowering);
    require_sound(memory);
    return memory;
}

Bytes step_activations(const EngineMemory& engine, const DecoderLlm& model, const Run& request, Lowering lowering, std::int64_t tokens,
                       std::int64_t sequences) {
    lowering.fused_attention = true;  // start-up logs show no scores of attention, which kernels of spring 2024 have in memory
    Run step = request;
    step.batch = step.generate_tokens = 1;
    step.prompt_tokens = tokens;
    step.images = 0;
    const Bytes forward = prefill_graph(model, step, lowering, tokens).peak_activations;
    const Bytes hidden = static_cast<double>(tokens * model.hidden) * element_size(activation_precision(request.precision));
    return max(forward, sampling_scores(engine, model, request, sequences)) + hidden + engine.step_buffers;
}

MemoryAdvice memory_advice(const Workload& workload, const Run& request, const SoftwareStacks& software, Bytes capacity, bool offload,
                           std::int64_t gpus_per_machine, std::optional<std::int64_t> largest_context) {
    const auto total = [&](const Run& r) { return memory_estimate(workload, r, software).total(); };
    MemoryAdvice advice;
    const auto* net = std::get_if<TensorNet>(&workload.architecture);
    const std::int64_t fixed = net == nullptr ? 0 : fixed_batch(*net);
    advice.largest_batch = largest(fixed > 0 ? fixed : most_sequences, [&](std::int64_t batch) {
        Run r = request;
        r.batch = batch;
        return total(r) <= capacity;
    });
    const DecoderLlm* llm = language_model(workload);
    if (largest_context) {
        advice.largest_context = *largest_context;
    } else if (llm != nullptr) {
        const std::int64_t limit = llm->max_context > 0 ? llm->max_context : most_sequences;
        advice.largest_context = largest(limit, [&](std::int64_t tokens) {
            Run r = request;
            r.generate_tokens = std::clamp<std::int64_t>(tokens - 1, 1, r.generate_tokens);
            r.prompt_tokens = std::max<std::int64_t>(1, tokens - r.generate_tokens);
            return total(r) <= capacity;
        });
    }
    if (total(request) <= capacity) return advice;
    const auto one_gpu = [](const Run& r) { return r.parallel.gpus() == 1; };
    const auto add = [&](const Remedy& remedy) {
        const Bytes needed = total(remedy.request);
        if (needed <= capacity)
            advice.remedies.push_back(fmt::format("{}: {:.1f} GB{}", remedy.name, needed.in(gb), one_gpu(remedy.request) ? "" : " each"));
        return needed <= capacity;
    };
    for (const Remedy& remedy : lighter_formats(request, llm != nullptr)) add(remedy);
    for (const auto& kind :
         {spread(request, llm, &Parallelism::tensor, gpus_per_machine), spread(request, llm, &Parallelism::pipeline, gpus_per_machine)})
        static_cast<void>(std::any_of(kind.begin(), kind.end(), add));
    if (advice.largest_batch > 0) advice.remedies.push_back(fmt::format("batch {} or less", advice.largest_batch));
    if (advice.largest_context > 0) advice.remedies.push_back(fmt::format("{} tokens of context or less", advice.largest_context));
    if (advice.remedies.empty()) {
        for (const auto& combined : combinations(request, llm, gpus_per_machine)) {
            if (std::any_of(combined.begin(), combined.end(), add)) break;
        }
    }
    if (offload && has_layers(workload)) {
        // What is left when nothing faster fits.
        if (const auto fraction = smallest_offload(workload, request, software, capacity, 0.01))
            add({fmt::format("offloading {:.0f} % of the layers' weights to the host", 100 * *fraction), with_offload(request, *fraction)});
    }
    return advice;
}

}  // namespace roofcast
