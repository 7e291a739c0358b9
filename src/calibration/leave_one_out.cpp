#include <fmt/format.h>

#include <set>

#include "calibration/judged.hpp"
#include "calibration/session.hpp"
#include "calibration/start_without.hpp"
#include "io/parallel.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

std::vector<LeftOutGpu> leave_one_out(const CalibrationInput& input, const CalibrationOptions& options, bool by_architecture) {
    if (options.holdout > 0)
        throw Error({.what = "leave-one-GPU-out already holds out every row of the omitted GPU",
                     .key = "holdout",
                     .found = fmt::format("{}", options.holdout),
                     .suggestion = "leave it out"});
    Session session(options);
    const SampleSet set = collect_samples(input);
    std::set<std::size_t> with_rows;
    Samples all;
    for (const Sample& sample : set.samples) {
        with_rows.insert(sample.gpu);
        all.push_back(&sample);
    }
    if (with_rows.size() < 2)
        throw Error(
            {.what = "leave-one-GPU-out needs rows of at least two GPUs", .key = "gpu", .expected = "several GPUs with measurements"});
    const auto belongs = [&](std::size_t gpu, std::size_t left_out) {
        return gpu == left_out || (by_architecture && input.gpus[gpu].architecture == input.gpus[left_out].architecture);
    };
    const std::set<std::size_t> identified = identified_by_kernels(input, all);
    const std::vector<std::size_t> order(with_rows.begin(), with_rows.end());
    std::vector<LeftOutGpu> results(order.size());
    in_parallel(order.size(), [&](std::size_t job) {
        const std::size_t left_out = order[job];
        LeftOutGpu& result = results[job];
        result.gpu = input.gpus[left_out].id;
        result.architecture = input.gpus[left_out].architecture;
        Samples seen;
        std::vector<Judged> judged;
        for (const Sample& sample : set.samples) {
            if (!belongs(sample.gpu, left_out)) seen.push_back(&sample);
            if (sample.gpu == left_out) judged.push_back({.sample = &sample, .held_out = true});
        }
        for (const std::size_t gpu : order) {
            if (!belongs(gpu, left_out)) result.fitted_on.push_back(input.gpus[gpu].id);
        }
        if (seen.empty()) return;
        const GpuProfile& without = input.gpus[left_out];
        const CostParameters from = start_without(
            input, [&](const GpuProfile& g) { return g.id == without.id || (by_architecture && g.architecture == without.architecture); },
            session);
        const StagedFit fit =
            session.fit(input, seen, "without " + result.gpu, {.start = &from, .stages = options.stages, .identified = identified});
        const Bench start(input, from), fitted(input, fit.parameters);
        for (Judged& j : judged) {
            j.start = start.predicted(*j.sample);
            j.fit = fitted.predicted(*j.sample);
        }
        result.groups.push_back(overall_accuracy(judged));
        for (FitAccuracy& group : accuracy_by_group(judged, input.gpus)) result.groups.push_back(std::move(group));
    });
    std::erase_if(results, [](const LeftOutGpu& r) { return r.groups.empty(); });
    return results;
}

}  // namespace roofcast
