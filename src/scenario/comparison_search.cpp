#include "scenario/comparison_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "prediction/offload.hpp"
#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

constexpr std::array all_qualities{Quality::kept, Quality::eight_bits, Quality::four_bits};
// `fused` is left out: only one engine uses it, for transformers.
constexpr std::array executions{Execution::eager, Execution::cuda_graph, Execution::compiled, Execution::tensorrt};
constexpr std::array keeping{Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32};

bool has_16_bits(Precision p) {
    return p == Precision::fp16 || p == Precision::bf16;
}

/// Convolutional nets have no weight-only formats; of published totals nothing is known by layer.
bool takes_weight_formats(const Workload& workload) {
    return !is_convolutional(workload) && !std::holds_alternative<Summary>(workload.architecture);
}

/// 16 bits and more, the model's own first: of equal settings the first is taken.
std::vector<Precision> keeping_precisions(const Workload& workload) {
    std::vector<Precision> order{workload.default_precision};
    for (const Precision p : keeping) {
        if (p != workload.default_precision) order.push_back(p);
    }
    return order;
}

/// What the grid computes and stores in on `gpu`.
std::vector<RunFormat> formats_of(const Workload& workload, const GpuProfile& gpu, const ComparisonRequest& request) {
    const Run& run = request.run;
    std::vector<RunFormat> formats;
    if (request.precision_fixed) {
        formats.push_back({run.precision, run.weights, Quality::kept});
        if (!request.weights_fixed) add_weight_formats(formats, workload, run.precision);
    } else {
        for (const Precision p : keeping_precisions(workload)) {
            if (request.weights_fixed && !has_16_bits(p)) continue;
            formats.push_back({p, run.weights, Quality::kept});
            if (!request.weights_fixed) add_weight_formats(formats, workload, p);
        }
        if (!request.weights_fixed) add_narrow_precisions(formats, workload, request.allow_quantization);
    }
    std::erase_if(formats, [&gpu](const RunFormat& f) { return !gpu.supports(f.precision); });
    return formats;
}

std::vector<Execution> executions_of(const GpuProfile& gpu, const ComparisonRequest& request) {
    if (request.execution_fixed) return {request.run.execution};
    std::vector<Execution> possible(executions.begin(), executions.end());
    if (gpu.vendor != "NVIDIA") std::erase(possible, Execution::tensorrt);
    return possible;
}

std::vector<std::int64_t> batches_of(const ComparisonRequest& request) {
    if (request.batch_fixed) return {request.run.batch};
    return {batch_grid.begin(), batch_grid.end()};
}

Run asked(const ComparisonRequest& request, const Candidate& c) {
    Run run = request.run;
    run.precision = c.format.precision;
    run.weights = c.format.weights;
    run.batch = c.batch;
    run.execution = c.execution;
    if (c.offload > 0) run.techniques.offload = c.offload;
    return run;
}

/// What is maximised; 0 for a run that is withheld or whose objective is not known.
double score_of(const Prediction& p, const Contestant& contestant, Objective objective) {
    if (!p.withheld.empty()) return 0;
    if (objective == Objective::latency) return 1 / p.latency.in(s);
    if (objective == Objective::throughput) return p.items_per_second;
    if (objective == Objective::energy) {
        const auto energy = run_energy(p, *contestant.gpu);
        return energy ? 1 / energy->joules_per_item.in(joule) : 0;
    }
    // Rent is by the hour: without a price the order is the same.
    const UsDollarsPerSecond rate = contestant.rental_price ? rent(*contestant.rental_price) : 1 * usd / hour;
    return 1 / rental_cost(p, 1, rate, 1).per_item.in(usd);
}

/// A larger batch may ask for more tokens or pixels than any run may have, although a smaller one does not.
std::optional<Run> completed_if_possible(const Run& request, const Workload& workload, bool must) {
    try {
        return completed_sizes(request, workload);
    } catch (const Error&) {
        if (must) throw;
        return std::nullopt;
    }
}

/// The score of a point that fits; 0 also where a layer would run in a format that the GPU lacks, whatever it multiplies in.
double score_if_possible(const Workload& workload, const Contestant& contestant, const Run& run, Objective objective,
                         const SoftwareStacks& software) {
    try {
        return score_of(predict(workload, *contestant.gpu, run, software), contestant, objective);
    } catch (const Error&) {
        return 0;
    }
}

class Search {
public:
    Search(const Workload& workload, const Contestant& contestant, const ComparisonRequest& request, const SoftwareStacks& software)
        : workload_(workload), contestant_(contestant), request_(request), software_(software) {}

    /// All points of quality `quality`: batches from the smallest until one does not fit.
    void go_through(Quality quality) {
        const GpuProfile& gpu = contestant_.gpu->profile;
        for (const RunFormat& format : formats_of(workload_, gpu, request_)) {
            if (format.quality != quality) continue;
            for (const Execution execution : executions_of(gpu, request_)) {
                for (const std::int64_t batch : batches_of(request_)) {
                    if (!add({.format = format, .batch = batch, .execution = execution})) break;
                }
            }
        }
        reached_ = quality;
    }

    /// The formats gone through of which nothing fits, once more: with as little as possible of their weights in host memory.
    void go_through_offloaded() {
        const GpuProfile& gpu = contestant_.gpu->profile;
        if (request_.offload_fixed || !can_offload(gpu) || !has_layers(workload_)) return;
        std::vector<RunFormat> formats = formats_of(workload_, gpu, request_);
        std::erase_if(formats, [this](const RunFormat& f) { return f.quality > reached_ || has_fitting(f); });
        for (const RunFormat& format : formats) {
            for (const Execution execution : executions_of(gpu, request_)) {
                for (const std::int64_t batch : batches_of(request_)) {
                    if (!add_offloaded({.format = format, .batch = batch, .execution = execution})) break;
                }
            }
        }
        // Of equal scores the first is taken: the one that keeps quality.
        std::stable_sort(candidates_.begin(), candidates_.end(),
                         [](const Candidate& a, const Candidate& b) { return a.format.quality < b.format.quality; });
    }

    /// Whether anything runs whose quality is at most `worst`.
    [[nodiscard]] bool found(Quality worst) const {
        return best_of(candidates_, [worst](const Candidate& c) { return c.format.quality <= worst; }) != nullptr;
    }
    [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }

private:
    [[nodiscard]] std::optional<Run> completed_run(const Candidate& c) const {
        const bool smallest = c.batch == batches_of(request_).front();
        return completed_if_possible(asked(request_, c), workload_, smallest);
    }

    /// Each of the two: false when a larger batch is out of the question.
    bool add(Candidate c) {
        const auto run = completed_run(c);
        if (!run) return false;
        const auto usable = contestant_.gpu->profile.usable_memory();
        c.memory = c.unoffloaded = memory_estimate(workload_, *run, software_).total();
        c.fits = !usable || c.memory <= *usable;
        return scored(std::move(c));
    }

    bool add_offloaded(Candidate c) {
        auto run = completed_run(c);
        if (!run) return false;
        const auto fraction = smallest_offload(workload_, *run, software_, *contestant_.gpu->profile.usable_memory(), offload_step);
        c.unoffloaded = memory_estimate(workload_, *run, software_).total();
        c.fits = fraction.has_value();
        c.offload = run->techniques.offload = fraction.value_or(1);
        c.memory = memory_estimate(workload_, *run, software_).total();
        return scored(std::move(c));
    }

    bool scored(Candidate c) {
        if (c.fits) c.score = score_if_possible(workload_, contestant_, asked(request_, c), request_.objective, software_);
        candidates_.push_back(std::move(c));
        return candidates_.back().fits;
    }

    [[nodiscard]] bool has_fitting(const RunFormat& f) const {
        return std::any_of(candidates_.begin(), candidates_.end(), [&f](const Candidate& c) { return c.fits && is_same(c.format, f); });
    }

    const Workload& workload_;
    const Contestant& contestant_;
    const ComparisonRequest& request_;
    const SoftwareStacks& software_;
    Quality reached_ = Quality::kept;  ///< the lowest gone through
    std::vector<Candidate> candidates_;
};

std::string why_nothing(const std::vector<Candidate>& candidates, const GpuProfile& gpu) {
    if (candidates.empty()) return "has no arithmetic in any precision of the search";
    const auto lightest =
        std::min_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.memory < b.memory; });
    if (lightest->fits) return "no kernel model covers an operator in its formats, or its TDP is not known";
    return fmt::format("{}, even with {}", needs_text(lightest->memory, *gpu.usable_memory()), described(*lightest));
}

}  // namespace

void add_weight_formats(std::vector<RunFormat>& formats, const Workload& workload, Precision precision) {
    if (!has_16_bits(precision) || !takes_weight_formats(workload)) return;
    const double published = workload.native_weights ? workload.native_weights->bits : native_weights(precision).bits;
    const std::pair<const char*, Quality> usual[] = {{"int8", Quality::eight_bits}, {"int4", Quality::four_bits}};
    for (const auto& [text, quality] : usual) {
        const WeightFormat weights = *parse_weight_format(text);
        if (weights.bits < published) formats.push_back({precision, weights, quality});
    }
}

void add_narrow_precisions(std::vector<RunFormat>& formats, const Workload& workload, bool allowed) {
    if (!takes_weight_formats(workload)) {
        formats.push_back({Precision::int8, {}, Quality::eight_bits});
    } else if (allowed) {
        formats.push_back({Precision::fp8, {}, Quality::eight_bits});
        formats.push_back({Precision::int8, {}, Quality::eight_bits});
        formats.push_back({Precision::fp4, {}, Quality::four_bits});
    }
}

ContestantRun best_run(const Workload& workload, const Contestant& contestant, const ComparisonRequest& request,
                       const SoftwareStacks& software) {
    Search search(workload, contestant, request, software);
    for (const Quality quality : all_qualities) {
        if (!search.found(Quality::four_bits) || request.allow_quantization) search.go_through(quality);
    }
    if (!search.found(Quality::kept)) search.go_through_offloaded();
    const auto& candidates = search.candidates();
    const Candidate* best = best_of(candidates, [](const Candidate&) { return true; });
    const GpuProfile& gpu = contestant.gpu->profile;
    if (best == nullptr) return without_run(contestant, why_nothing(candidates, gpu));
    return with_run(contestant, predict(workload, *contestant.gpu, asked(request, *best), software),
                    choices_of(*best, candidates, request, gpu.usable_memory().value_or(Bytes{})));
}

std::string search_grid_text(const ComparisonRequest& r) {
    const std::string offload = r.offload_fixed ? "as asked for" : "only if nothing of these fits, and as little as needed";
    std::vector<std::string_view> modes, kept;
    for (const Execution e : executions) modes.push_back(name(e));
    for (const Precision p : keeping) kept.push_back(name(p));
    const bool formats_fixed = r.precision_fixed && r.weights_fixed;
    const std::string precisions = r.precision_fixed ? fmt::format("precision {} as asked for", name(r.run.precision))
                                                     : fmt::format("precisions: the model's own, {}", fmt::join(kept, ", "));
    return fmt::format(
        "{}; weights {}; batch {}; execution {}{}; offload {}", precisions, r.weights_fixed ? "as asked for" : "as computed or published",
        r.batch_fixed ? fmt::format("{} as asked for", r.run.batch) : fmt::format("{}", fmt::join(batch_grid, ", ")),
        r.execution_fixed ? fmt::format("{} as asked for", name(r.run.execution))
                          : fmt::format("{} (tensorrt on NVIDIA only)", fmt::join(modes, ", ")),
        formats_fixed          ? ""
        : r.allow_quantization ? "; 8- and 4-bit formats too, as allowed"
                               : "; 8-bit weights only if nothing of these fits, 4-bit weights only if those do not fit either",
        offload);
}

}  // namespace roofcast
