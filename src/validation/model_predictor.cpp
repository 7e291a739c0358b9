#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "io/identifier.hpp"
#include "prediction/pass.hpp"
#include "prediction/planned_pass.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "roofcast/validation.hpp"
#include "validation/block_row.hpp"
#include "validation/row_request.hpp"
#include "validation/row_times.hpp"
#include "validation/served_row.hpp"
#include "validation/started_row.hpp"
#include "validation/unusable.hpp"

namespace roofcast {

namespace {

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

/// The best figure that physics allows; none for memory that can be added to. All stages of a pipeline may be at work at once.
std::optional<double> limit(const ModelRow& row, const Workload& workload, const Prediction& p, const GpuProfile& gpu) {
    const Parallelism& parallel = p.request.parallel;
    if (row.metric == Metric::memory_gb) {
        const auto memory = gpu.data_capacity();
        return memory ? std::optional((static_cast<double>(parallel.gpus()) * *memory).in(gb)) : std::nullopt;
    }
    return from_times(row, times(p, workload, [&](const Phase& phase) {
                          return phase.passes / static_cast<double>(parallel.pipeline) * physical_floor(phase.graph, gpu);
                      }));
}

/// A measured run did fit its context, the token that prefill yields included.
void lift_context_limit(Workload& workload) {
    if (auto* llm = std::get_if<DecoderLlm>(&workload.architecture)) llm->max_context = 0;
    if (auto* vlm = std::get_if<VisionLanguage>(&workload.architecture)) vlm->language.max_context = 0;
}

/// Adds the interval of the measured figure. A rate lies between the inverses of its time's bounds.
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
    if (row.phase == "train") throw unusable("roofcast does not predict training");
    if (row.metric == Metric::power_w) throw unusable("power of whole models is not predicted");
}

void require_possible(const ModelRow& row, const ModelEstimate& estimate) {
    if (!is_impossible(row, estimate)) return;
    throw unusable(
        fmt::format("better than the data sheet allows: {} {:.4g}, the limit is {:.4g}", name(row.metric), row.value, *estimate.limit));
}

/// Workloads by id and alias, the software that runs them, and what is known of the machines and sources of rows.
class Library {
public:
    Library(std::vector<Workload> workloads, SoftwareStacks stacks, const MeasuringHosts& measured_on)
        : software(std::move(stacks)), hosts(measured_on ? *measured_on : HostDescriptions{}) {
        for (Workload& workload : workloads) {
            if (const DecoderLlm* llm = language_model(workload)) contexts_.emplace(workload.id, llm->max_context);
            lift_context_limit(workload);
            for (const auto& alias : workload.aliases) known_.emplace(alias, workload);
            std::string id = workload.id;
            known_.insert_or_assign(std::move(id), std::move(workload));
        }
    }

    /// Calls `use` with the row's workload: the known one, else that of the row's own figures.
    template <class Use>
    auto with_workload(const ModelRow& row, Use use) const {
        const auto found = known_.find(lower_case(row.model));
        return found != known_.end() ? use(found->second) : use(summary_workload(row));
    }

    /// `workload` with the longest context that its publisher states, which engines start with.
    Workload with_context(Workload workload, const EngineSettings& settings) const {
        std::int64_t longest = contexts_.contains(workload.id) ? contexts_.at(workload.id) : 0;
        if (longest > 0) longest = std::max(longest, settings.context.value_or(0));  // a measured run did fit its context
        if (auto* llm = std::get_if<DecoderLlm>(&workload.architecture)) llm->max_context = longest;
        if (auto* vlm = std::get_if<VisionLanguage>(&workload.architecture)) vlm->language.max_context = longest;
        return workload;
    }

    SoftwareStacks software;
    HostDescriptions hosts;

private:
    std::map<std::string, std::int64_t, std::less<>> contexts_;
    std::map<std::string, Workload, std::less<>> known_;
};

/// The metric's best value in a closed loop: each user's request takes at least as long as the GPUs need for one prompt of every user.
/// TTFT and TPOT have one floor together, and each is scaled to it. None where prompts were found in the cache, or where a source gives
/// one of the two alone.
std::optional<double> load_limit(const ModelRow& row, const Workload& workload, const Gpu& gpu, Run request, const Library& library) {
    const ServedLoad& load = *row.served;
    if (!load.request_time || load.rate_per_s || load.settings.prefix_cached.value_or(0) > 0) return std::nullopt;
    const double users = static_cast<double>(load.users) / static_cast<double>(request.parallel.data);  // of a copy
    request.batch = std::max<std::int64_t>(1, std::llround(users * (1 + load.shortest) / 2));
    request.generate_tokens = 1;
    const Prediction prompts = predict(workload, gpu, request, library.software);
    Seconds floor;
    for (const Phase& phase : prompts.phases)
        floor += phase.passes / static_cast<double>(request.parallel.pipeline) * physical_floor(phase.graph, gpu.profile);
    return row.value * (floor / *load.request_time);
}

/// By the simulated engine. Roofline and terms are those of a run at the batch that it forms, of a lone prompt for the first token.
ModelEstimate served_estimate(const ModelRow& row, const Workload& workload, const Gpu& gpu, const Library& library) {
    Run request = completed(request_of(row, workload, library.software, library.hosts.machines, gpu.profile), workload, gpu);
    const SoftwareStack stack = stack_of(library.software, request, workload, gpu.profile.vendor);
    const SchedulerOptions scheduler = engine_scheduler(workload, request, library.software, gpu.profile);
    const ServingAnswer answer = serve(workload, gpu, library.software, question_of(*row.served, request, scheduler), requests_of(row));
    ModelRow run = row;
    run.phase = "generate";
    request.techniques.speculation.reset();  // roofline, limit and terms are those of a plain run
    const auto limit = load_limit(row, workload, gpu, request, library);
    if (!times_first_token(run)) request.batch = std::max<std::int64_t>(1, std::llround(answer.predicted.statistics.mean_batch));
    const Prediction p = predict(workload, gpu, request, library.software);
    const auto roofline = [&](const Phase& phase) { return phase.passes * roofline_time(phase.graph, gpu.profile); };
    ModelEstimate result{.predicted = served_figure(row.metric, answer.predicted.statistics),
                         .roofline = from_times(run, times(p, workload, roofline)),
                         .limit = limit,
                         .terms = terms_of(run, p)};
    if (!answer.bounds || !answer.bounds->high) return result;
    const double low = served_figure(row.metric, answer.bounds->low), high = served_figure(row.metric, *answer.bounds->high);
    result.low = std::min(low, high);
    result.high = std::max(low, high);
    return result;
}

ModelEstimate estimate(const ModelRow& row, const Workload& workload, const Gpu& gpu, const Library& library) {
    require_modelled(row);
    if (row.started) {
        const Run request = request_of(row, workload, library.software, library.hosts.machines, gpu.profile);
        return started_estimate(row, library.with_context(workload, *row.started), request, library.software, gpu.profile);
    }
    if (row.block) return block_estimate(row, workload, gpu, library.software, library.hosts);
    if (row.served) return served_estimate(row, workload, gpu, library);
    const Prediction p =
        predict(workload, gpu, request_of(row, workload, library.software, library.hosts.machines, gpu.profile), library.software);
    if (row.metric == Metric::memory_gb) {
        const Bytes counted = p.memory.total() - (row.memory_of_tensors ? p.memory.overhead : Bytes{});
        // Sources give the sum over the GPUs used.
        return {.predicted = (static_cast<double>(p.request.parallel.gpus()) * counted).in(gb),
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

}  // namespace

ModelPredictor model_predictor(std::vector<Workload> workloads, SoftwareStacks software, const MeasuringHosts& hosts) {
    const auto library = std::make_shared<Library>(std::move(workloads), std::move(software), hosts);
    return [library](const ModelRow& measured, const Gpu& gpu) {
        const ModelRow row = with_meanings(measured, library->hosts.meanings);
        return library->with_workload(row, [&](const Workload& workload) { return estimate(row, workload, gpu, *library); });
    };
}

ModelPlanner model_planner(std::vector<Workload> workloads, SoftwareStacks software, const MeasuringHosts& hosts) {
    const auto library = std::make_shared<Library>(std::move(workloads), std::move(software), hosts);
    return [library](const ModelRow& measured, const Gpu& planned_for) {
        const auto meant = std::make_shared<const ModelRow>(with_meanings(measured, library->hosts.meanings));
        const ModelRow& row = *meant;
        return library->with_workload(row, [&](const Workload& workload) -> RowModel {
            require_modelled(row);
            require_possible(row, estimate(row, workload, planned_for, *library));
            const bool denoises = std::holds_alternative<Diffusion>(workload.architecture);
            // Several kinds of passes, which change with the prediction. Known by name: `workload` lives as long as the library.
            if (language_model(workload) != nullptr || (denoises && row.metric != Metric::throughput_per_s)) {
                return [library, meant, &workload](const Gpu& gpu) { return estimate(*meant, workload, gpu, *library).predicted; };
            }
            const auto pass = std::make_shared<PlannedPass>(
                workload, planned_for, request_of(row, workload, library->software, library->hosts.machines, planned_for.profile),
                library->software);
            return [pass, denoises, counted_per_item = counted(workload, pass->request()), meant](const Gpu& gpu) {
                Times t = sizes_of(pass->request(), counted_per_item);
                t.first_token = pass->latency(gpu);
                if (denoises) t.denoising_step = t.first_token;
                return from_times(*meant, t);
            };
        });
    };
}

}  // namespace roofcast
