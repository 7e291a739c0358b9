#include <fmt/format.h>

#include <algorithm>

#include "prediction/shapes.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

namespace {

/// Bits per stored element of an operator's weights; nullopt when it has no format of its own.
std::optional<double> weight_bits(const Op& op) {
    if (const auto* g = std::get_if<Gemm>(&op)) return g->weight_bits;
    if (const auto* m = std::get_if<Moe>(&op)) return m->weight_bits;
    return std::nullopt;
}

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

}  // namespace

Bytes weight_bytes(const OpGraph& graph, Precision precision) {
    constexpr double bits_per_byte = 8;
    const Bytes native = element_size(activation_precision(precision));
    Bytes total = -graph.tied_weights * native;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            const Bytes element = weight_bits(node.op)                      ? *weight_bits(node.op) / bits_per_byte * byte
                                  : std::holds_alternative<Conv2d>(node.op) ? element_size(precision)
                                                                            : native;
            total += static_cast<double>(segment.repeat * node.repeat) * node.weights * element;
        }
    }
    return total;
}

MemoryEstimate memory_estimate(const Workload& workload, const RunRequest& request, const SoftwareStacks& software) {
    const SoftwareStack& stack = software.find(request.execution, request.software);
    MemoryEstimate memory;
    memory.overhead = stack.memory_overhead;
    const double stages = static_cast<double>(request.shape.parallel.pipeline);
    for (const OpGraph& graph : weight_graphs(workload, request.shape)) {
        memory.weights += weight_bytes(graph, request.shape.precision) / stages;
        memory.activations = max(memory.activations, graph.peak_activations);
    }
    if (const DecoderLlm* llm = language_model(workload)) {
        const std::int64_t tokens = context_tokens(workload, request.shape) + request.shape.generate_tokens;
        memory.kv_cache = static_cast<double>(request.shape.batch) * kv_cache_size(*llm, request.shape, tokens) / stages;
    }
    return memory;
}

MemoryAdvice memory_advice(const Workload& workload, const RunRequest& request, const SoftwareStacks& software, Bytes capacity) {
    const auto total = [&](const RunRequest& r) { return memory_estimate(workload, r, software).total(); };
    MemoryAdvice advice;
    advice.largest_batch = largest(most_sequences, [&](std::int64_t batch) {
        RunRequest r = request;
        r.shape.batch = batch;
        return total(r) <= capacity;
    });
    const DecoderLlm* llm = language_model(workload);
    if (llm != nullptr) {
        const std::int64_t limit = llm->max_context > 0 ? llm->max_context : most_sequences;
        advice.largest_context = largest(limit, [&](std::int64_t tokens) {
            RunRequest r = request;
            r.shape.prompt_tokens = std::max<std::int64_t>(1, tokens - r.shape.generate_tokens);
            return total(r) <= capacity;
        });
    }
    if (total(request) <= capacity) return advice;
    for (const char* format : {"int8", "int4"}) {
        RunRequest r = request;
        r.shape.weights = *parse_weight_format(format);
        if (r.shape.weights.bits < request.shape.weights.bits && total(r) <= capacity) {
            advice.remedies.push_back(fmt::format("{} weights: {:.1f} GB", format, total(r).in(gb)));
        }
    }
    constexpr std::int64_t largest_node = 16;
    for (std::int64_t gpus = 2 * request.shape.parallel.tensor; llm != nullptr && gpus <= largest_node; gpus *= 2) {
        RunRequest r = request;
        r.shape.parallel.tensor = gpus;
        if (total(r) > capacity) continue;
        advice.remedies.push_back(fmt::format("tensor parallelism over {} GPUs: {:.1f} GB each", gpus, total(r).in(gb)));
        break;
    }
    if (advice.largest_batch > 0) advice.remedies.push_back(fmt::format("batch {} or less", advice.largest_batch));
    if (advice.largest_context > 0) advice.remedies.push_back(fmt::format("{} tokens of context or less", advice.largest_context));
    return advice;
}

}  // namespace roofcast
