#include <fmt/format.h>

#include <algorithm>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

namespace {

constexpr std::int64_t largest_count = std::int64_t{1} << 30;

void require_count(std::string_view option, std::int64_t value, std::int64_t least = 1) {
    if (value >= least && value <= largest_count) return;
    throw Error({.what = "out of range",
                 .key = std::string(option),
                 .found = std::to_string(value),
                 .expected = fmt::format("a whole number from {} to {}", least, largest_count)});
}

void check_sizes(const RunShape& shape) {
    require_count("--batch", shape.batch);
    require_count("--prompt", shape.prompt_tokens, 0);
    require_count("--generate", shape.generate_tokens, 0);
    require_count("--image-size", shape.image_size, 0);
    require_count("--images", shape.images, 0);
    require_count("--tp", shape.parallel.tensor);
    require_count("--pp", shape.parallel.pipeline);
    require_count("--dp", shape.parallel.data);
    require_count("--ep", shape.parallel.expert);
}

void check_language(const Workload& workload, const DecoderLlm& llm, const RunShape& shape) {
    require_count("--prompt", shape.prompt_tokens);
    require_count("--generate", shape.generate_tokens);
    // The last token is generated but never read back, so it takes no place in the context.
    const std::int64_t context = context_tokens(workload, shape) + shape.generate_tokens - 1;
    if (llm.max_context > 0 && context > llm.max_context) {
        throw Error({.what = fmt::format("{} holds at most {} tokens of context", workload.id, llm.max_context),
                     .key = "--prompt",
                     .found = fmt::format("{} tokens with those to generate", context),
                     .suggestion =
                         fmt::format("--prompt {} or less", std::max<std::int64_t>(1, llm.max_context - (context - shape.prompt_tokens)))});
    }
    if (llm.heads % shape.parallel.tensor != 0) {
        throw Error({.what = fmt::format("{} has {} attention heads, which --tp must divide", workload.id, llm.heads),
                     .key = "--tp",
                     .found = std::to_string(shape.parallel.tensor)});
    }
    if (shape.parallel.pipeline > llm.layers) {
        throw Error({.what = fmt::format("{} has {} layers, fewer than pipeline stages", workload.id, llm.layers),
                     .key = "--pp",
                     .found = std::to_string(shape.parallel.pipeline)});
    }
}

constexpr std::int64_t default_prompt = 512, default_generate = 128;

}  // namespace

RunRequest completed(RunRequest request, const Workload& workload, const Gpu& gpu) {
    require_precision(gpu.profile, request.shape.precision);
    return completed_sizes(std::move(request), workload);
}

RunRequest completed_sizes(RunRequest request, const Workload& workload) {
    RunShape& shape = request.shape;
    check_sizes(shape);
    shape.weights = request.weights.value_or(native_weights(shape.precision));
    shape.kv_precision = request.kv_precision.value_or(activation_precision(shape.precision));
    if (const DecoderLlm* llm = language_model(workload)) {
        if (shape.prompt_tokens == 0) shape.prompt_tokens = default_prompt;
        if (shape.generate_tokens == 0) shape.generate_tokens = default_generate;
        check_language(workload, *llm, shape);
        return request;
    }
    if (shape.parallel.tensor > 1 || shape.parallel.pipeline > 1) {
        throw Error({.what = fmt::format("{} is not a language model: only --dp spreads it over GPUs", workload.id),
                     .key = shape.parallel.tensor > 1 ? "--tp" : "--pp"});
    }
    if (const auto* encoder = std::get_if<Encoder>(&workload.architecture)) {
        if (shape.prompt_tokens == 0)
            shape.prompt_tokens =
                std::min(encoder->default_tokens, encoder->max_positions > 0 ? encoder->max_positions : encoder->default_tokens);
        if (encoder->max_positions > 0 && shape.prompt_tokens > encoder->max_positions) {
            throw Error({.what = fmt::format("{} holds at most {} tokens", workload.id, encoder->max_positions),
                         .key = "--prompt",
                         .found = std::to_string(shape.prompt_tokens)});
        }
    }
    return request;
}

Precision default_precision(const GpuProfile& gpu) {
    Precision best = Precision::fp32;
    for (const Precision p : {Precision::fp32, Precision::bf16, Precision::fp16}) {
        if (!gpu.supports(p)) continue;
        if (!gpu.supports(best) || *gpu.matmul_peak(p) >= *gpu.matmul_peak(best)) best = p;
    }
    return best;
}

}  // namespace roofcast
