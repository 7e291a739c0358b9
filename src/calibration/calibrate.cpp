#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "calibration/diagnostics.hpp"
#include "calibration/folds.hpp"
#include "calibration/judged.hpp"
#include "calibration/probe.hpp"
#include "calibration/refinement.hpp"
#include "calibration/session.hpp"
#include "calibration/start_without.hpp"
#include "calibration/worth.hpp"
#include "io/parallel.hpp"
#include "roofcast/calibration.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// Provenance of a fit to rows of the input's GPUs.
Provenance provenance_of_fit(const CalibrationInput& input) {
    const std::vector<GpuProfile>& gpus = input.gpus;
    if (input.prior) return Provenance::user_fit;
    if (gpus.size() == 1) return Provenance::gpu_fit;
    const bool one_architecture =
        std::all_of(gpus.begin(), gpus.end(), [&](const GpuProfile& gpu) { return gpu.architecture == gpus.front().architecture; });
    return one_architecture ? Provenance::architecture_fit : Provenance::pooled_fit;
}

/// Which rows a fit is kept from, and what it is called.
struct Split {
    std::string activity;
    std::function<bool(const Sample&)> unseen;
    std::optional<double> Judged::*prediction;  ///< where that of unseen rows goes
    std::optional<std::size_t> gpu{};           ///< all rows of this one
};

/// Folds; of pooled fits, also each GPU by itself.
std::vector<Split> cross_validation(const CalibrationInput& input, const CalibrationOptions& options,
                                    const std::function<int(const Sample&)>& fold_of_row) {
    std::vector<Split> splits;
    for (int fold = 0; options.folds >= 2 && fold < options.folds; ++fold) {
        splits.push_back({fmt::format("fold {} of {}", fold + 1, options.folds),
                          [fold, fold_of_row](const Sample& sample) { return fold_of_row(sample) == fold; }, &Judged::unseen});
    }
    for (std::size_t gpu = 0; !splits.empty() && input.gpus.size() > 1 && gpu < input.gpus.size(); ++gpu) {
        splits.push_back(
            {"without " + input.gpus[gpu].id, [gpu](const Sample& sample) { return sample.gpu == gpu; }, &Judged::left_out, gpu});
    }
    return splits;
}

/// Everything between rows and result.
class Calibration {
public:
    Calibration(const CalibrationInput& input, const CalibrationOptions& options)
        : input_(input),
          options_(options),
          set_(collect_samples(input)),
          start_(start_values(input, set_.samples)),
          left_out_starts_(input.gpus.size()) {
        if (input.prior) split_lone_model(set_.samples);
        if (input.prior) folds_ = even_folds(set_.samples, options.folds, options.seed);
        for (const Sample& sample : set_.samples) {
            judged_.push_back({.sample = &sample, .held_out = is_held_out(sample.group, options.holdout, options.seed)});
            if (!judged_.back().held_out) training_.push_back(&sample);
        }
        if (training_.empty()) throw nothing_to_fit();
        identified_ = identified_by_kernels(input_, training_);
        few_ = few_rows(input_, training_);
    }

    Fit run(Session& session) {
        predict_all(start_.values, [](Judged& j, double p) { j.start = p; });
        stages_ = options_.stages;
        fit_and_cross_validate(session);
        if (options_.folds >= 2) {
            if (input_.prior) {
                predict_all(full_.parameters, [](Judged& j, double p) { j.fit = p; });
                leave_out(factors_by_chance(full_, *input_.prior, judged_));
            }
            leave_out(rejected_stages(full_, judged_, input_, start_.values));
            if (!warnings_.empty()) fit_and_cross_validate(session);
        }
        predict_all(full_.parameters, [](Judged& j, double p) { j.fit = p; });
        Fit fit = result();
        if (input_.prior) complete_refinement(fit, *input_.prior, full_, judged_);
        return fit;
    }

private:
    [[nodiscard]] Error nothing_to_fit() const {
        std::string reason = set_.dropped.empty() ? "" : set_.dropped.front().reason;
        return Error(
            {.what = "no measured row can be used for a fit",
             .key = "gpu",
             .found = input_.gpus.empty() ? "" : input_.gpus.front().id,
             .expected = "rows of this GPU in the measurement files",
             .suggestion = reason.empty() ? "" : fmt::format("{} rows were set aside, the first: {}", set_.dropped.size(), reason)});
    }

    void fit_and_cross_validate(Session& session) {
        const auto fold = [this](const Sample& sample) {
            return folds_.empty() ? fold_of(sample.group, options_.folds, options_.seed) : folds_.at(sample.group);
        };
        const std::vector<Split> splits = cross_validation(input_, options_, fold);
        in_parallel(1 + splits.size(), [&](std::size_t job) {
            if (job == 0) {
                full_ = session.fit(input_, training_, "fit",
                                    {.start = &start_.values, .stages = stages_, .few = few_, .identified = identified_});
            } else {
                cross_validate(session, splits[job - 1]);
            }
        });
    }

    void leave_out(const std::vector<RejectedStage>& rejected) {
        if (rejected.empty()) return;
        if (stages_.empty()) stages_ = stage_names();
        for (const RejectedStage& stage : rejected) {
            if (std::erase(stages_, stage.name) > 0) warnings_.push_back(stage.reason);
        }
        if (stages_.empty()) stages_.emplace_back("none");
    }

    template <class Store>
    void predict_all(const CostParameters& parameters, Store store) {
        const Bench bench(input_, parameters);
        for (Judged& j : judged_) store(j, bench.predicted(*j.sample));
    }

    void cross_validate(Session& session, const Split& split) {
        Samples seen;
        for (const Sample* sample : training_) {
            if (!split.unseen(*sample)) seen.push_back(sample);
        }
        if (seen.empty() || seen.size() == training_.size()) return;
        const CostParameters start = split.gpu ? start_left_out(*split.gpu, session) : start_.values;
        const StagedFit fit =
            session.fit(input_, seen, split.activity, {.start = &start, .stages = stages_, .few = few_, .identified = identified_});
        const Bench bench(input_, fit.parameters);
        // Every row is unseen in one split of a kind only, so that threads write to different places.
        for (Judged& j : judged_) {
            if (!j.held_out && split.unseen(*j.sample)) j.*split.prediction = bench.predicted(*j.sample);
        }
    }

    /// Made once, also when a fit is made again without rejected stages. Each split has a slot of its own.
    const CostParameters& start_left_out(std::size_t gpu, Session& session) {
        auto& start = left_out_starts_[gpu];
        if (!start)
            start = start_without(
                input_, [&](const GpuProfile& g) { return g.id == input_.gpus[gpu].id; }, session);
        return *start;
    }

    Fit result() {
        Fit fit;
        for (const GpuProfile& gpu : input_.gpus) fit.gpus.push_back(gpu.id);
        fit.folds = options_.folds >= 2 ? options_.folds : 0;
        fit.holdout = options_.holdout;
        fit.seed = options_.seed;
        fit.dropped = set_.dropped;
        fit.hosts = set_.hosts;
        add_stages(fit);
        add_kept(fit);
        set_parameters(fit);
        fit.overall = overall_accuracy(judged_);
        fit.groups = accuracy_by_group(judged_, input_.gpus);
        fit.intervals = residual_intervals(judged_);
        fit.warnings = warnings_;
        for (std::string& warning : overfitting_warnings(fit)) fit.warnings.push_back(std::move(warning));
        fit.host_bound_rows = std::count_if(judged_.begin(), judged_.end(), [](const Judged& j) { return j.sample->host_bound; });
        add_files(fit);
        return fit;
    }

    void add_stages(Fit& fit) {
        const Bench bench(input_, full_.parameters);
        for (StageOutcome& stage : full_.stages) {
            if (options_.diagnose) {
                StageDiagnosis diagnosis = diagnose(bench, stage, start_.values);
                stage.summary.singular_values = std::move(diagnosis.singular_values);
                std::move(diagnosis.parameters.begin(), diagnosis.parameters.end(), std::back_inserter(fit.details));
            } else {
                for (const std::size_t spec : stage.specs) {
                    fit.details.push_back({.spec = spec,
                                           .stage = stage.summary.name,
                                           .before = parameter_specs()[spec].get(start_.values),
                                           .after = parameter_specs()[spec].get(full_.parameters)});
                }
            }
            fit.stages.push_back(stage.summary);
            for (const Sample* row : stage.outliers) {
                const double ratio = bench.predicted(*row) / row->measured();
                fit.dropped.push_back({row->origin().file, row->origin().line, input_.gpus[row->gpu].id, row->op(),
                                       fmt::format("outlier: predicted / measured = {:.3g}", ratio)});
            }
        }
    }

    /// Parameters that the rows depend on and no stage fitted: a fit, and what it says of its errors, holds only together with them.
    void add_kept(Fit& fit) {
        std::set<std::size_t> fitted;
        for (const FittedParameter& p : fit.details) fitted.insert(p.spec);
        std::vector<std::size_t> others;
        for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
            if (!fitted.contains(i) && !parameter_specs()[i].of_machine) others.push_back(i);
        }
        Samples used;
        for (const StageOutcome& stage : full_.stages) {
            // What models of several GPUs depend on besides, kernels of other architectures tell: their fit stays in force.
            if (stage.stage->of_models && input_.gpus.size() > 1) continue;
            const Samples some = thinned(stage.rows, coarse_rows / 4, options_.seed);
            used.insert(used.end(), some.begin(), some.end());
        }
        if (stages_ != options_.stages) {  // rows of stages that were left out: their errors are those of the start values
            const Samples some = thinned(training_, coarse_rows / 4, options_.seed);
            used.insert(used.end(), some.begin(), some.end());
        }
        const Bench bench(input_, full_.parameters);
        for (const std::size_t spec : parameters_that_matter(bench, used, others)) {
            const double value = parameter_specs()[spec].get(full_.parameters);
            fit.details.push_back({.spec = spec, .before = value, .after = value});
        }
        std::sort(fit.details.begin(), fit.details.end(), [](const auto& a, const auto& b) { return a.spec < b.spec; });
    }

    void set_parameters(Fit& fit) const {
        fit.parameters = start_;
        fit.parameters.values = full_.parameters;
        fit.parameters.provenance.resize(parameter_specs().size(), Provenance::assumed);
        fit.parameters.source.resize(parameter_specs().size());
        for (const FittedParameter& p : fit.details) {
            if (!p.fitted()) continue;
            fit.parameters.provenance[p.spec] = provenance_of_fit(input_);
            fit.parameters.source[p.spec] = fmt::format("fitted to {} rows", input_.prior          ? "your"
                                                                             : fit.gpus.size() > 1 ? "several GPUs'"
                                                                                                   : fit.gpus.front());
        }
    }

    void add_files(Fit& fit) const {
        std::map<std::string, DataFile> files;
        std::set<const Sample*> used;  // a row may serve several stages
        for (const StageOutcome& stage : full_.stages) used.insert(stage.rows.begin(), stage.rows.end());
        for (const Sample* row : used) files[row->origin().file].rows_used += 1;
        for (const DroppedRow& row : fit.dropped) files[row.file].rows_dropped += 1;
        for (auto& [name, file] : files) {
            file.file = name;
            fit.files.push_back(file);
        }
    }

    const CalibrationInput& input_;
    const CalibrationOptions& options_;
    SampleSet set_;
    ParameterSet start_;  ///< of the fit and its folds
    std::vector<Judged> judged_;
    Samples training_;
    std::set<std::size_t> identified_;        ///< by kernels among the training rows
    std::set<std::string, std::less<>> few_;  ///< stages with few of these
    std::map<std::string, int> folds_;        ///< of groups, where they are dealt out; empty: drawn
    StagedFit full_;
    std::vector<std::optional<CostParameters>> left_out_starts_;  ///< by GPU
    std::vector<std::string> stages_;                             ///< to fit; empty: all
    std::vector<std::string> warnings_;
};

}  // namespace

std::string_view name(StopReason r) {
    constexpr std::string_view names[] = {"converged", "evaluation limit", "time budget", "nothing to fit"};
    return names[static_cast<std::size_t>(r)];
}

std::optional<AccuracySummary> accuracy_on(const CalibrationInput& input, const CostParameters& parameters) {
    const SampleSet set = collect_samples(input);
    if (set.samples.empty()) return std::nullopt;
    const Bench bench(input, parameters);
    std::vector<double> predicted, measured;
    for (const Sample& sample : set.samples) {
        predicted.push_back(bench.predicted(sample));
        measured.push_back(sample.measured());
    }
    return summarize(predicted, measured);
}

Fit calibrate(const CalibrationInput& input, const CalibrationOptions& options) {
    Session session(options);
    return Calibration(input, options).run(session);
}

}  // namespace roofcast
