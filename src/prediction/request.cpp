#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "prediction/degrees.hpp"
#include "prediction/own_head.hpp"
#include "prediction/shapes.hpp"
#include "prediction/speculative.hpp"
#include "prediction/techniques.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

namespace {

// Bounds as `largest_run_count` is one.
constexpr std::int64_t largest_side = 65'536, most_gpus = std::int64_t{1} << 20;
constexpr double most_tokens = 0x1p31;  ///< of all sequences together; times a dimension: 2^55
constexpr double most_scores = 0x1p60;  ///< heads x queries x keys of one layer
constexpr double most_pixels = 0x1p34;  ///< of all images together

void require_count(std::string_view field, std::int64_t value, std::int64_t least = 1, std::int64_t most = largest_run_count) {
    if (value >= least && value <= most) return;
    throw Error({.what = "out of range",
                 .key = std::string(field),
                 .found = std::to_string(value),
                 .expected = fmt::format("a whole number from {} to {}", least, most)});
}

void require_product(std::string_view field, std::string_view what, double product, double most) {
    if (product <= most) return;
    throw Error({.what = fmt::format("too large: {}", what),
                 .key = std::string(field),
                 .found = fmt::format("{:.4g} in all", product),
                 .expected = fmt::format("at most {:.4g}", most)});
}

double as_double(std::int64_t n) {
    return static_cast<double>(n);
}

void check_sizes(const Run& run) {
    require_count("batch", run.batch);
    require_count("prompt_tokens", run.prompt_tokens, 0);
    require_count("generate_tokens", run.generate_tokens, 0);
    require_count("image_size", run.image_size, 0, largest_side);
    require_count("images", run.images, 0);
    require_count("steps", run.steps, 0);
    const Parallelism& p = run.parallel;
    require_count("parallel.tensor", p.tensor, 1, most_gpus);
    require_count("parallel.pipeline", p.pipeline, 1, most_gpus);
    require_count("parallel.data", p.data, 1, most_gpus);
    require_count("parallel.expert", p.expert, 1, most_gpus);
    require_count("parallel.attention_data", p.attention_data, 1, most_gpus);
    require_product("parallel.gpus", "tp x pp x dp GPUs", as_double(p.tensor) * as_double(p.pipeline) * as_double(p.data),
                    as_double(most_gpus));
}

/// Pixels on a side of the images that the model takes by itself; 0: it takes none.
std::int64_t native_image_size(const Workload& workload) {
    if (const VisionLanguage* vlm = vision_language(workload)) return vlm->vision.image_size;
    return std::visit(
        [](const auto& model) -> std::int64_t {
            if constexpr (requires { model.image_size; }) return model.image_size;
            return 0;
        },
        workload.architecture);
}

/// Pixels, frames or voxels of one image of `side`.
double pixels_of(const Workload& workload, double side) {
    const auto* net = std::get_if<ConvNet>(&workload.architecture);
    return std::pow(side, as_double(net == nullptr ? 2 : net->dimensions));
}

void check_images(const Workload& workload, const Run& run) {
    const double side = as_double(run.image_size > 0 ? run.image_size : native_image_size(workload));
    const double images = as_double(run.batch) * as_double(std::max<std::int64_t>(1, run.images));
    require_product(run.image_size > 0 ? "image_size" : "batch", "pixels of all images of a batch", images * pixels_of(workload, side),
                    most_pixels);
}

/// Tokens of one pass, of which each sequence attends to `context`.
void check_tokens(const Run& run, std::int64_t context, std::int64_t heads) {
    const double tokens = as_double(run.batch) * as_double(context);
    const char* field = run.batch > context ? "batch" : "prompt_tokens";
    require_product(field, "tokens of all sequences of a batch", tokens, most_tokens);
    require_product(field, "attention scores of a layer", tokens * as_double(context) * as_double(heads), most_scores);
}

void check_language(const Workload& workload, const DecoderLlm& llm, const Run& run) {
    require_count("prompt_tokens", run.prompt_tokens);
    require_count("generate_tokens", run.generate_tokens);
    if (vision_language(workload) != nullptr) check_images(workload, run);
    // The last token is generated but never read back, so it takes no place in the context.
    const std::int64_t context = context_tokens(workload, run) + run.generate_tokens - 1;
    if (llm.max_context > 0 && context > llm.max_context) {
        // The field that can make up for it: the prompt, else the output, else the images.
        const std::int64_t prompt = llm.max_context - (context - run.prompt_tokens),
                           output = llm.max_context - (context - run.generate_tokens);
        const bool by_prompt = prompt >= 1, by_output = !by_prompt && output >= 1;
        throw Error({.what = fmt::format("{} supports at most {} tokens of context", workload.id, llm.max_context),
                     .key = by_prompt   ? "prompt_tokens"
                            : by_output ? "generate_tokens"
                                        : "image_size",
                     .found = fmt::format("{} tokens with those to generate", context),
                     .suggestion = by_prompt   ? fmt::format("`prompt_tokens` {} or less", prompt)
                                   : by_output ? fmt::format("`generate_tokens` {} or less", output)
                                               : std::string("smaller or fewer images")});
    }
    check_tokens(run, context, llm.heads);
}

/// Keys and values are stored as they were computed, or in fewer bits.
void check_cache(const Run& run) {
    const Precision computed = activation_precision(run.precision);
    if (element_size(run.cache_precision()) <= element_size(computed)) return;
    throw Error({.what = "the KV cache is wider than the precision of attention",
                 .key = "kv_precision",
                 .found = fmt::format("{} with {}", name(run.cache_precision()), name(run.precision)),
                 .expected = fmt::format("at most {} bits", 8 * element_size(computed).in(byte)),
                 .suggestion = fmt::format("`kv_precision` {}", name(computed))});
}

constexpr std::int64_t default_generate = 128;

void check_host_time(double time) {
    if (time >= least_host_time && time <= most_host_time) return;  // not so of a NaN either
    throw Error({.what = "out of range",
                 .key = "host_time",
                 .found = fmt::format("{}", time),
                 .expected = fmt::format("{} to {} times that of other machines", least_host_time, most_host_time)});
}

/// The draft model must be able to run together with the large one.
void check_draft(const Workload& workload, const Run& request) {
    const auto& speculation = request.techniques.speculation;
    if (!speculation) return;
    require_product("techniques.speculation.tokens", "tokens of all sequences in a verification",
                    as_double(request.batch) * as_double(speculation->tokens + 1), most_tokens);
    const Run run = draft_request(workload, request);
    const auto& llm = std::get<DecoderLlm>(speculation->draft->architecture);
    check_degrees(*speculation->draft, run.parallel);
    check_language(*speculation->draft, llm, run);
}

void complete_encoder(const Workload& workload, const Encoder& encoder, Run& run) {
    if (run.prompt_tokens == 0)
        run.prompt_tokens = encoder.max_tokens() > 0 ? std::min(encoder.default_tokens, encoder.max_tokens()) : encoder.default_tokens;
    if (encoder.max_tokens() > 0 && run.prompt_tokens > encoder.max_tokens()) {
        throw Error({.what = fmt::format("{} supports at most {} tokens", workload.id, encoder.max_tokens()),
                     .key = "prompt_tokens",
                     .found = std::to_string(run.prompt_tokens)});
    }
    check_tokens(run, run.prompt_tokens, encoder.heads);
}

/// A net that was exported for one batch runs that.
void complete_net(const Workload& workload, const TensorNet& net, Run& run) {
    const std::int64_t fixed = fixed_batch(net);
    if (fixed == 0) return;
    if (run.batch != 1 && run.batch != fixed) {
        throw Error({.what = fmt::format("{} was exported for a batch of {}", workload.id, fixed),
                     .key = "batch",
                     .found = std::to_string(run.batch),
                     .suggestion = fmt::format("`batch` {}, or export it with a dynamic batch", fixed)});
    }
    run.batch = fixed;
}

}  // namespace

Run completed(Run request, const Workload& workload, const Gpu& gpu) {
    require_precision(gpu.profile, request.precision);
    require_one_machine(request.parallel, gpu.profile);
    return completed_sizes(std::move(request), workload);
}

Run completed_sizes(Run run, const Workload& workload) {
    check_host_time(run.host_time);
    check_sizes(run);
    check_techniques(run, workload);
    if (auto& speculation = run.techniques.speculation; speculation && speculation->own_head) speculation->draft = own_head(workload);
    check_degrees(workload, run.parallel);
    // A format that only the experts are published in means the checkpoint as it is published.
    if (run.weights && workload.native_experts && !workload.native_weights && *run.weights == *workload.native_experts) run.weights.reset();
    if (!run.weights && is_as_published(workload, run.precision)) run.expert_weights = workload.native_experts;
    run.weights = stored_by_tensor(run.weights.value_or(stored_weights(workload, run.precision)), workload);
    const bool scaled_cache = workload.native_cache && element_size(*workload.native_cache) < element_size(run.cache_precision());
    if (!run.kv_precision && scaled_cache) run.kv_precision = workload.native_cache;
    run.kv_precision = run.cache_precision();
    check_cache(run);
    if (const DecoderLlm* llm = language_model(workload)) {
        if (run.prompt_tokens == 0) run.prompt_tokens = default_prompt(*llm);
        if (run.generate_tokens == 0) run.generate_tokens = default_generate;
        check_language(workload, *llm, run);
        check_draft(workload, run);
        return run;
    }
    if (const auto* encoder = std::get_if<Encoder>(&workload.architecture)) complete_encoder(workload, *encoder, run);
    if (const auto* net = std::get_if<TensorNet>(&workload.architecture)) complete_net(workload, *net, run);
    if (const auto* xl = std::get_if<TransformerXl>(&workload.architecture)) {
        if (run.prompt_tokens == 0) run.prompt_tokens = xl->segment;
        check_tokens(run, run.prompt_tokens + xl->memory, xl->heads);
    }
    if (const auto* diffusion = std::get_if<Diffusion>(&workload.architecture); diffusion != nullptr && run.steps == 0)
        run.steps = diffusion->steps;
    check_images(workload, run);
    return run;
}

Precision default_precision(const Workload& workload, const GpuProfile& gpu) {
    const auto published = workload.native_weights ? multiplied_in(*workload.native_weights) : std::nullopt;
    return published && gpu.supports(*published) ? *published : nearest_precision(gpu, workload.default_precision);
}

}  // namespace roofcast
