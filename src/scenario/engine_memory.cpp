#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/decoder.hpp"
#include "prediction/memory.hpp"
#include "prediction/pass.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/decoder_figures.hpp"
#include "roofcast/error.hpp"
#include "roofcast/memory_report.hpp"
#include "scenario/engine_cache.hpp"
#include "scenario/engine_defaults.hpp"

namespace roofcast {

namespace {

using Size = std::int64_t;

double real(Size n) {
    return static_cast<double>(n);
}

/// Part of `whole` on one of `gpus`, rounded up.
Size part(Size whole, Size gpus) {
    return (whole + gpus - 1) / gpus;
}

bool has_prefix_of(const std::string& text, const std::vector<std::string>& starts) {
    return std::any_of(starts.begin(), starts.end(), [&](const std::string& start) { return text.starts_with(start); });
}

const EngineMemory& facts_of(const Run& request, const SoftwareStacks& software) {
    if (const EngineMemory* found = engine_memory_of(software.memory, request.software)) return *found;
    throw Error({.what = "the memory split of this engine is not known",
                 .key = "software",
                 .found = request.software,
                 .expected = engine_memory_names(software.memory)});
}

double fraction_of(const EngineMemory& engine, const StepDefaults& step, Size max_tokens, const Run& request, Bytes gpu_memory) {
    if (engine.fraction_of == FractionOf::none) return 1;
    if (engine.fraction) return *engine.fraction;
    const FractionReserve& r = *engine.reserve;
    const Parallelism& p = request.parallel;
    Bytes kept = r.base + static_cast<double>(std::max(max_tokens, r.least_tokens)) * r.per_token +
                 static_cast<double>(step.graph_sequences) * r.per_graph_sequence + static_cast<double>(p.tensor * p.pipeline) * r.per_gpu;
    if (gpu_memory >= r.least_from) kept = max(kept, r.least);
    return std::clamp((gpu_memory - kept) / gpu_memory, r.least_fraction, 1.0);
}

/// Padding of the experts of one pipeline stage on one GPU.
Bytes padding_of(const EngineMemory& engine, const Workload& workload, const DecoderLlm& model, const Run& request, const GpuProfile& gpu) {
    const auto format = request.expert_weights ? request.expert_weights : request.weights ? request.weights : workload.native_experts;
    if (!format) return {};
    for (const ExpertPadding& padding : engine.padding) {
        const std::vector<std::string>& formats = padding.formats;
        if (!formats.empty() && std::find(formats.begin(), formats.end(), format->label) == formats.end()) continue;
        if (!padding.architectures.empty() && !has_prefix_of(gpu.architecture, padding.architectures)) continue;
        const auto up = [](Size size, Size multiple) { return real(part(size, multiple) * multiple); };
        Bytes extra;
        for (const LayerGroup& group : layer_groups(model)) {
            const auto* moe = std::get_if<MoeShape>(&group.channels);
            if (moe == nullptr) continue;
            const Size experts = part(moe->experts, request.parallel.expert);
            const Size split = std::max<Size>(1, request.parallel.tensor / request.parallel.expert);  // GPUs that share an expert
            const Size inside = part(moe->expert_intermediate, split);
            const Size hidden = moe->latent > 0 ? moe->latent : model.hidden;
            const double matrices = model.gated_mlp ? 3 : 2;
            const double more = up(hidden, padding.hidden) * up(inside, padding.intermediate) - real(hidden * inside);
            extra += real(group.layers * experts) * matrices * more * format->bits / 8 * byte;
        }
        return extra * (real(part(model.layers, request.parallel.pipeline)) / real(model.layers));
    }
    return {};
}

/// Tables of cosines and sines, one for each width of rotation and each scale of positions.
Bytes rope_tables(const DecoderLlm& model, const Run& request) {
    if (model.learned_positions > 0) return {};
    std::set<std::pair<Size, Size>> tables;  // width, rows
    for (const LayerGroup& group : layer_groups(model)) {
        if (const auto* a = std::get_if<GroupedAttention>(&group.tokens); a != nullptr && a->rotary && !a->cross) {
            const bool local = model.window_rotary && a->window > 0;
            const Size rows = local ? model.max_context : std::max(model.max_context, model.rotary_positions);
            tables.emplace(a->head_dim, local ? -rows : rows);
        }
        if (const auto* a = std::get_if<LatentAttention>(&group.tokens); a != nullptr && a->rotary)
            tables.emplace(a->shape.rope_dim, std::max(model.max_context, model.rotary_positions));
    }
    Bytes total;
    for (const auto& [width, rows] : tables) total += real(width * std::abs(rows)) * element_size(activation_precision(request.precision));
    return total;
}

/// Batches that graphs are captured for, up to `most`.
Size captured(const EngineMemory& engine, Size most) {
    if (engine.graph_sizes.empty()) return 1;
    Size count = 0;
    for (const GraphSizes& sizes : engine.graph_sizes) {
        if (most >= sizes.from) count += (std::min(most, sizes.to) - sizes.from) / sizes.step + 1;
    }
    return count;
}

Bytes graph_pool(const EngineMemory& engine, const StepDefaults& step, const DecoderLlm& model, const Run& request, Size max_sequences) {
    if (request.execution == Execution::eager) return {};
    const Size sizes = captured(engine, std::min(step.graph_sequences, 2 * max_sequences));
    return real(sizes) * (engine.graphs + real(part(model.layers, request.parallel.pipeline)) * engine.graphs_per_layer);
}

/// Largest n in [0, most] for which `fits(n)`, which holds up to some n and not beyond.
template <class Fits>
Size largest(Size most, Fits fits) {
    Size low = 0, high = most + 1;
    while (high - low > 1) {
        const Size middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

Bytes cache_size(const EngineMemory& engine, const EngineMemoryReport& r) {
    const Bytes step = r.activations + r.framework + (engine.graphs_reserved ? r.graphs : Bytes{});
    switch (engine.fraction_of) {
        case FractionOf::total:
            return r.fraction * r.gpu_memory - r.weights - step;
        case FractionOf::free_at_load:
            return r.fraction * (r.gpu_memory - r.framework) - r.weights;
        case FractionOf::left:
            return r.fraction * (r.gpu_memory - r.weights - step);
        case FractionOf::none:
            return r.gpu_memory - r.weights - step;
    }
    return {};
}

void require_settings(const EngineMemory& engine, const EngineSettings& s, const DecoderLlm& model) {
    if (s.fraction && engine.fraction_of == FractionOf::none)
        throw Error({.what = fmt::format("{} has no memory fraction: its context sets the size of its cache", engine.name),
                     .key = "memory_fraction",
                     .found = fmt::format("{}", *s.fraction),
                     .suggestion = "leave it out; roofcast memory takes `context`"});
    if (s.context && model.max_context > 0 && *s.context > model.max_context)
        throw Error({.what = "exceeds the model's context length",
                     .key = "context",
                     .found = std::to_string(*s.context),
                     .expected = fmt::format("at most {}", model.max_context)});
}

}  // namespace

const StepDefaults& step_defaults(const EngineMemory& engine, const GpuProfile& gpu, Bytes gpu_memory) {
    const StepDefaults* chosen = &engine.steps.front();
    for (const StepDefaults& step : engine.steps) {
        if (gpu_memory >= step.from && !has_prefix_of(gpu.id, step.except)) chosen = &step;
    }
    return *chosen;
}

std::vector<CacheKind> kinds_of_stage(const DecoderLlm& model, const Run& request) {
    std::vector<CacheKind> kinds = cache_kinds(model, request);
    for (CacheKind& kind : kinds) kind.layers = part(kind.layers, request.parallel.pipeline);
    return kinds;
}

Bytes expert_padding(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu) {
    const EngineMemory* engine = engine_memory_of(software.memory, request.software);
    const DecoderLlm* model = language_model(workload);
    return engine != nullptr && model != nullptr ? padding_of(*engine, workload, *model, request, gpu) : Bytes{};
}

EngineMemoryReport engine_memory(const Workload& workload, const Run& request, const SoftwareStacks& software, const GpuProfile& gpu,
                                 const EngineSettings& settings) {
    const DecoderLlm* model = language_model(workload);
    if (model == nullptr)
        throw Error({.what = fmt::format("{} is not a language model, so serving engines keep no KV cache for it", workload.id),
                     .key = "workload"});
    const EngineMemory& engine = facts_of(request, software);
    require_settings(engine, settings, *model);
    const auto gpu_memory = settings.gpu_memory ? settings.gpu_memory : gpu.usable_memory();
    if (!gpu_memory) throw Error({.what = fmt::format("the memory of {} is not known", gpu.id), .key = "gpu.capacity"});
    const StepDefaults& step = step_defaults(engine, gpu, *gpu_memory);
    constexpr Size unlimited = Size{1} << 20;  // of models without a longest context
    const Size longest = model->max_context > 0 ? model->max_context : unlimited;

    EngineMemoryReport r;
    r.engine = engine.name;
    r.fraction_of = engine.fraction_of;
    r.gpu_memory = *gpu_memory;
    r.max_tokens = settings.max_tokens.value_or(step.max_tokens);
    r.max_sequences = settings.max_sequences.value_or(step.max_sequences);
    r.fraction = settings.fraction.value_or(fraction_of(engine, step, r.max_tokens, request, *gpu_memory));
    r.context = settings.context.value_or(longest);
    Run one = request;
    one.batch = one.prompt_tokens = one.generate_tokens = 1;
    r.padding = padding_of(engine, workload, *model, request, gpu);
    r.weights = memory_estimate(workload, one, software).weights + r.padding;
    if (engine.rope_tables) r.weights += rope_tables(*model, request);
    const bool several = request.parallel.tensor > 1;
    r.framework = engine.context + engine.framework + (several ? engine.communication : Bytes{});
    const Lowering lowering = stack_of(software, request, workload, {}).lowering;
    const Size sharing = engine.joint_steps ? request.parallel.attention_data : 1;
    r.activations = step_activations(engine, *model, request, lowering, part(r.max_tokens, sharing), part(r.max_sequences, sharing));
    r.graphs = graph_pool(engine, step, *model, request, r.max_sequences);

    const Bytes left = cache_size(engine, r),
                taken = r.weights + r.activations + r.framework + (engine.graphs_reserved ? r.graphs : Bytes{});
    r.available = engine.fraction_of == FractionOf::left ? r.gpu_memory : taken + left;
    EngineCache cache{.engine = engine, .kinds = kinds_of_stage(*model, request), .size = max(Bytes{}, left), .step_tokens = r.max_tokens};
    r.largest_context = largest(longest, [&](Size tokens) { return tokens == 0 || cache.concurrency(tokens) >= 1; });
    r.concurrency = cache.concurrency(r.context);
    r.sequences = static_cast<Size>(r.concurrency);
    if (engine.fraction_of == FractionOf::none) {  // what is left stays free
        if (!settings.context) r.context = std::max<Size>(1, r.largest_context);
        r.concurrency = cache.concurrency(r.context);
        r.sequences = static_cast<Size>(r.concurrency);
        r.cache = r.sequences >= 1 ? cache.sequence(r.context) : cache.size;
        r.cache_tokens = r.sequences >= 1 ? r.context : 0;
        return r;
    }
    r.cache = cache.size;
    r.cache_tokens = cache.tokens(r.context);
    return r;
}

std::vector<std::string> engine_memory_remedies(const EngineMemoryReport& report, const Workload& workload, const Run& request,
                                                const SoftwareStacks& software, const GpuProfile& gpu) {
    if (report.fits()) return {};
    Run shortest = request;
    shortest.batch = shortest.prompt_tokens = shortest.generate_tokens = 1;
    const MemoryEstimate counted = memory_estimate(workload, shortest, software);
    const bool of_total = report.fraction_of == FractionOf::total || report.fraction_of == FractionOf::free_at_load;
    const Bytes beside = report.activations + report.framework - counted.activations - counted.overhead;
    const Bytes room = (of_total ? report.fraction : 1) * report.gpu_memory - max(Bytes{}, beside);
    Run longest = shortest;
    longest.prompt_tokens = std::max<std::int64_t>(1, report.context - 1);
    // How the engine divides the memory says more exactly how long a context fits.
    return memory_advice(workload, longest, software, max(Bytes{}, room), false, gpu.gpus_per_machine, report.largest_context).remedies;
}

}  // namespace roofcast
