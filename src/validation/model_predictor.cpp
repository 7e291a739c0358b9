#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

namespace {

/// What a metric is made of.
struct Times {
    Seconds first_token;   ///< whole forward pass for models that generate nothing
    Seconds decode;        ///< all tokens after the first
    double steps = 0;      ///< of decode
    double sequences = 0;  ///< at once, on all GPUs
    double counted = 1;    ///< what rates count for one of them
    double prompt_tokens = 0, output_tokens = 0;
    std::optional<Seconds> denoising_step;  ///< of the whole batch
    [[nodiscard]] Seconds total() const { return first_token + decode; }
};

Error unusable(std::string what) {
    return Error({.what = std::move(what)});
}

/// Whether the row's rate of generated tokens is over the time of a whole call, the prompt's included: validation_data/SOURCES.md says why.
bool times_whole_calls(const ModelRow& row) {
    return row.origin.source.starts_with("QwenLM");
}

double from_times(const ModelRow& row, const Times& t) {
    switch (row.metric) {
        case Metric::latency_ms:
            return (row.phase == "prefill" || row.phase == "forward" ? t.first_token : t.total()).in(ms);
        case Metric::ttft_ms:
            return t.first_token.in(ms);
        case Metric::tpot_ms:
            if (t.steps > 0) return (t.decode / t.steps).in(ms);
            break;
        case Metric::throughput_per_s:
            // Those who time diffusion count denoising steps of the batch, as progress bars do.
            if (t.denoising_step) return 1 / t.denoising_step->in(s);
            return t.sequences * t.counted / t.total().in(s);
        case Metric::tokens_per_s:
            if (row.phase == "prefill" && t.prompt_tokens > 0) return t.sequences * t.prompt_tokens / t.first_token.in(s);
            if (row.phase == "decode" && times_whole_calls(row)) return t.sequences * t.output_tokens / t.total().in(s);
            if (row.phase == "decode" && t.steps > 0) return t.sequences * t.steps / t.decode.in(s);
            // What reads a text in segments scores their tokens.
            if (row.phase == "generate" && t.output_tokens == 0 && t.prompt_tokens > 0)
                return t.sequences * t.prompt_tokens / t.total().in(s);
            if (row.phase == "generate" && t.output_tokens > 0) return t.sequences * t.output_tokens / t.total().in(s);
            break;
        case Metric::memory_gb:
        case Metric::power_w:
            break;
    }
    throw unusable(fmt::format("{} does not suit phase '{}'", name(row.metric), row.phase));
}

/// Every operator by itself at data-sheet rates, one after the other; nothing for the host.
Seconds roofline_time(const OpGraph& graph, const GpuProfile& gpu) {
    Seconds total;
    for (const Segment& segment : graph.segments) {
        for (const OpNode& node : segment.nodes) {
            if (node.fusion == Fusion::folded) continue;
            total += static_cast<double>(segment.repeat * node.repeat) * datasheet_roofline(node.op, gpu, Cache::cold);
        }
    }
    return total;
}

/// Whether the row times the first token alone, or the tokens after it alone.
bool times_first_token(const ModelRow& row) {
    return row.metric == Metric::ttft_ms || row.phase == "prefill";
}
bool times_decode(const ModelRow& row) {
    return row.metric == Metric::tpot_ms || (row.metric == Metric::tokens_per_s && row.phase == "decode" && !times_whole_calls(row));
}

/// Of the phases that the row times; where most of the time goes is said by the longest of them.
PredictedTerms terms_of(const ModelRow& row, const Prediction& p) {
    PredictedTerms terms;
    Seconds longest;
    for (const Phase& phase : p.phases) {
        const bool decode = phase.name == "decode";
        if (decode ? times_first_token(row) : times_decode(row)) continue;
        for (const TimedOp& op : phase.timeline.ops) {
            const double runs = phase.passes * op.runs;
            terms.compute += runs * op.kernel.compute;
            terms.dram += runs * op.kernel.dram;
            terms.l2 += runs * op.kernel.l2;
            terms.launch += runs * op.kernel.launch;
            terms.power += runs * op.kernel.power;
            terms.communication += runs * op.kernel.communication;
        }
        terms.host += phase.passes * phase.timeline.host;
        if (phase.latency > longest) {
            longest = phase.latency;
            terms.bound = phase.bound;
        }
    }
    return terms;
}

/// What rates of rows count for one item.
double counted(const Workload& workload, const RunShape& shape) {
    const auto* net = std::get_if<ConvNet>(&workload.architecture);
    if (net == nullptr || net->counted_per_frame == 0) return 1;
    return net->counted_per_frame * static_cast<double>(shape.image_size > 0 ? shape.image_size : net->image_size);
}

Times sizes_of(const RunShape& shape, double counted_per_item) {
    Times t;
    t.counted = counted_per_item;
    t.sequences = static_cast<double>(shape.batch * shape.parallel.data);
    t.prompt_tokens = static_cast<double>(shape.prompt_tokens);
    t.output_tokens = static_cast<double>(shape.generate_tokens);
    return t;
}

/// Splits a prediction's phases into first token and decode. `latency` of a phase: all its passes.
template <class Latency>
Times times(const Prediction& p, const Workload& workload, Latency latency) {
    Times t = sizes_of(p.request.shape, counted(workload, p.request.shape));
    for (const Phase& phase : p.phases) {
        const Seconds all = latency(phase);
        if (phase.name == "decode") {
            t.decode += all;
            t.steps += phase.passes;
        } else {
            t.first_token += all;
        }
        if (phase.name == "denoise") t.denoising_step = all / phase.passes;
    }
    return t;
}

/// The best figure that physics allows; none for memory that can be added to. All stages of a pipeline may be at work at once.
std::optional<double> limit(const ModelRow& row, const Workload& workload, const Prediction& p, const GpuProfile& gpu) {
    const Parallelism& parallel = p.request.shape.parallel;
    if (row.metric == Metric::memory_gb) {
        return gpu.capacity ? std::optional((static_cast<double>(parallel.gpus()) * *gpu.capacity).in(gb)) : std::nullopt;
    }
    return from_times(row, times(p, workload, [&](const Phase& phase) {
                          return phase.passes / static_cast<double>(parallel.pipeline) * physical_floor(phase.graph, gpu);
                      }));
}

bool generates(const Workload& workload) {
    return std::holds_alternative<DecoderLlm>(workload.architecture) || std::holds_alternative<VisionLanguage>(workload.architecture);
}

bool software_has(const ModelRow& row, std::string_view part) {
    return names_software(row.origin.software, part);
}

/// Whether the row's memory is that of tensors, without a context and libraries: what tools/measure_models.py asks PyTorch's allocator for.
bool counts_tensors_alone(const ModelRow& row) {
    return row.origin.source == "roofcast measure_models";
}

/// Engines that put consecutive layers on consecutive GPUs when nothing else is said; the others split every layer.
bool splits_by_layers(const ModelRow& row) {
    constexpr std::string_view by_layers[] = {"llama.cpp", "ollama", "exllama", "transformers"};
    return std::any_of(std::begin(by_layers), std::end(by_layers), [&](std::string_view engine) { return software_has(row, engine); });
}

RunRequest request_of(const ModelRow& row, const Workload& workload) {
    RunRequest request;
    if (software_has(row, "nhwc")) request.channels_last = true;
    RunShape& shape = request.shape;
    shape.precision = row.precision;
    shape.batch = row.batch;
    shape.image_size = row.image_size.value_or(0);
    shape.parallel = row.parallel;
    request.weights = row.weights;
    request.kv_precision = row.kv_precision;
    request.execution = row.execution;
    // An engine that a source does not tell the version of may be known by the source.
    if (!row.origin.software.empty()) request.software = fmt::format("{} ({})", row.origin.software, row.origin.source);
    if (generates(workload)) {
        const bool decodes = row.phase == "decode" || row.phase == "generate" || row.phase.empty();
        // A decode row that starts from nothing has the first token in its cache; a rate needs a second one to be told from prefill.
        if (row.prompt_tokens) shape.prompt_tokens = std::max<std::int64_t>(1, *row.prompt_tokens);
        shape.generate_tokens = decodes ? row.output_tokens.value_or(0) : 1;
        if (row.phase == "decode" && shape.generate_tokens == 1) shape.generate_tokens = 2;
        if (!row.image_size) shape.images = 0;
        if (row.parallel.gpus() == 1) (splits_by_layers(row) ? shape.parallel.pipeline : shape.parallel.tensor) = row.gpus;
    } else {
        shape.prompt_tokens = row.prompt_tokens.value_or(0);
        if (row.parallel.gpus() == 1) shape.parallel.data = row.gpus;
    }
    return request;
}

/// The row's own figures as a workload. Throws Error when it lacks them.
Workload summary_workload(const ModelRow& row) {
    if (!row.gmacs || !row.mactivations || !row.mparams) {
        throw unusable(fmt::format("model '{}' is not shipped, and the row does not give gmacs, mactivations and mparams", row.model));
    }
    Workload workload;
    workload.id = row.model;
    workload.name = row.model;
    workload.family = "summary";
    Summary summary;
    summary.gmacs = *row.gmacs;
    summary.mactivations = *row.mactivations;
    summary.mparams = *row.mparams;
    summary.transformer = row.family == "vit" || row.family == "encoder";
    workload.architecture = summary;
    return workload;
}

/// A measured run did fit its context, the token that prefill yields included.
void lift_context_limit(Workload& workload) {
    if (auto* llm = std::get_if<DecoderLlm>(&workload.architecture)) llm->max_context = 0;
    if (auto* vlm = std::get_if<VisionLanguage>(&workload.architecture)) vlm->language.max_context = 0;
}

/// Of the figure that the row measures: a rate lies between the inverses of its time's bounds.
void add_interval(ModelEstimate& estimate, const ModelRow& row, const Prediction& p) {
    if (!p.intervals) return;
    const IntervalRatio whole = p.intervals->latency;
    const IntervalRatio factor = times_first_token(row) ? p.intervals->ttft.value_or(whole)
                                 : times_decode(row)    ? p.intervals->tpot.value_or(whole)
                                                        : whole;
    const bool rate = is_rate(row.metric);
    estimate.low = estimate.predicted * (rate ? 1 / factor.high : factor.low);
    estimate.high = estimate.predicted * (rate ? 1 / factor.low : factor.high);
}

void require_modelled(const ModelRow& row) {
    if (row.phase == "train") throw unusable("training is not predicted");
    if (row.metric == Metric::power_w) throw unusable("board power of whole models is not predicted");
}

void require_possible(const ModelRow& row, const ModelEstimate& estimate) {
    if (!is_impossible(row, estimate)) return;
    throw unusable(
        fmt::format("better than the data sheet allows: {} {:.4g}, the limit is {:.4g}", name(row.metric), row.value, *estimate.limit));
}

ModelEstimate estimate(const ModelRow& row, const Workload& workload, const Gpu& gpu, const SoftwareStacks& software) {
    require_modelled(row);
    const Prediction p = predict(workload, gpu, request_of(row, workload), software);
    if (row.metric == Metric::memory_gb) {
        const Bytes counted = p.memory.total() - (counts_tensors_alone(row) ? p.memory.overhead : Bytes{});
        // Sources give the sum over the GPUs used.
        return {.predicted = (static_cast<double>(p.request.shape.parallel.gpus()) * counted).in(gb),
                .roofline = std::nullopt,
                .limit = limit(row, workload, p, gpu.profile)};
    }
    if (!p.withheld.empty()) throw unusable(fmt::format("operators without a cost model: {}", p.withheld.front()));
    const auto roofline = [&](const Phase& phase) { return phase.passes * roofline_time(phase.graph, gpu.profile); };
    ModelEstimate result{.predicted = from_times(row, times(p, workload, [](const Phase& phase) { return phase.latency; })),
                         .roofline = from_times(row, times(p, workload, roofline)),
                         .limit = limit(row, workload, p, gpu.profile),
                         .terms = terms_of(row, p)};
    add_interval(result, row, p);
    return result;
}

/// Workloads by id and alias, and the software that runs them.
class Library {
public:
    Library(std::vector<Workload> workloads, SoftwareStacks stacks) : software(std::move(stacks)) {
        for (Workload& workload : workloads) {
            lift_context_limit(workload);
            for (const auto& alias : workload.aliases) known_.emplace(alias, workload);
            std::string id = workload.id;
            known_.insert_or_assign(std::move(id), std::move(workload));
        }
    }

    /// Calls `use` with the row's workload: the known one, else that of the row's own figures.
    template <class Use>
    auto with_workload(const ModelRow& row, Use use) const {
        const auto found = known_.find(row.model);
        return found != known_.end() ? use(found->second) : use(summary_workload(row));
    }

    SoftwareStacks software;

private:
    std::map<std::string, Workload, std::less<>> known_;
};

}  // namespace

ModelPredictor model_predictor(std::vector<Workload> workloads, SoftwareStacks software) {
    const auto library = std::make_shared<Library>(std::move(workloads), std::move(software));
    return [library](const ModelRow& row, const Gpu& gpu) {
        return library->with_workload(row, [&](const Workload& workload) { return estimate(row, workload, gpu, library->software); });
    };
}

ModelPlanner model_planner(std::vector<Workload> workloads, SoftwareStacks software) {
    const auto library = std::make_shared<Library>(std::move(workloads), std::move(software));
    return [library](const ModelRow& row, const Gpu& planned_for) {
        return library->with_workload(row, [&](const Workload& workload) -> RowModel {
            require_modelled(row);
            require_possible(row, estimate(row, workload, planned_for, library->software));
            const bool denoises = std::holds_alternative<Diffusion>(workload.architecture);
            // Several kinds of passes, which change with the prediction. Known by name: `workload` lives as long as the library.
            if (generates(workload) || (denoises && row.metric != Metric::throughput_per_s)) {
                return [library, &row, &workload](const Gpu& gpu) { return estimate(row, workload, gpu, library->software).predicted; };
            }
            const auto pass = std::make_shared<PlannedPass>(workload, planned_for, request_of(row, workload), library->software);
            return [pass, denoises, counted_per_item = counted(workload, pass->request().shape), &row](const Gpu& gpu) {
                Times t = sizes_of(pass->request().shape, counted_per_item);
                t.first_token = pass->latency(gpu);
                if (denoises) t.denoising_step = t.first_token;
                return from_times(row, t);
            };
        });
    };
}

}  // namespace roofcast
