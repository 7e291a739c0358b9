#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <set>

#include "roofcast/accuracy.hpp"

namespace roofcast {

namespace {

using Wanted = std::function<bool(const FitAccuracy&)>;

/// Groups of fits put together. Medians cannot be: the one of a single group stays.
struct Pool {
    std::int64_t rows = 0, groups = 0;
    double mape_sum = 0;
    AccuracySummary last;
    std::set<std::string> gpus, files;

    void add(const FitAccuracy& group, const std::optional<AccuracySummary>& figures, const std::string& file) {
        if (!figures || figures->rows == 0) return;
        rows += figures->rows;
        mape_sum += figures->mape_percent * static_cast<double>(figures->rows);
        ++groups;
        last = *figures;
        gpus.insert(group.gpu);
        files.insert(file);
    }
    [[nodiscard]] ExpectedError answer(std::string_view work, AccuracyBasis basis) const {
        ExpectedError e{.work = std::string(work), .engine = {}, .models = {}, .basis = basis};
        e.gpus = static_cast<std::int64_t>(gpus.size());
        e.fit = basis == AccuracyBasis::cross_validated ? FittedTo::own : FittedTo::none;
        e.rows = rows;
        e.mape_percent = mape_sum / static_cast<double>(rows);
        if (groups == 1) {
            e.median_ape_percent = last.median_ape_percent;
            e.bias_percent = last.bias_percent;
        }
        if (files.size() == 1) e.file = *files.begin();
        return e;
    }
};

/// The fits that answer a question about one GPU.
class FitsFor {
public:
    FitsFor(const AccuracyQuestion& question, const std::vector<FitSummary>& fits) : question_(&question), fits_(&fits) {
        for (const FitSummary& fit : fits) {
            if (fit.file == gpu_fit_file({}, question.gpu).filename()) own_ = &fit;
            if (!is_of_architecture(fit.file)) continue;
            if (fit.file == file_of(default_architecture)) all_ = &fit;
            if (fit.file == file_of(question.architecture)) architecture_ = &fit;
        }
    }

    [[nodiscard]] const FitSummary* own() const { return own_; }
    [[nodiscard]] const FitSummary* architecture() const { return architecture_; }

    /// nullopt: no fit has rows of that kind.
    [[nodiscard]] std::optional<ExpectedError> error(const WorkKind& kind) const {
        if (kind.classes.empty()) return std::nullopt;
        const auto of_kind = [&kind](const FitAccuracy& group) { return kind_of_class(group.op) == &kind; };
        const auto of_gpu = [&](const FitAccuracy& group) { return of_kind(group) && group.gpu == question_->gpu; };
        const auto of_others = [&](const FitAccuracy& group) { return of_kind(group) && is_of_its_architecture(group.gpu); };
        Pool pool;
        if (own_ != nullptr) {
            for (const FitAccuracy& group : own_->groups) {
                if (of_gpu(group)) pool.add(group, group.cross_validated, own_->file);
            }
        }
        if (pool.rows > 0) return located(pool.answer(kind.key, AccuracyBasis::cross_validated), true, true);
        for (const FitSummary* fit : {architecture_, all_}) {
            pool = left_out({fit}, of_gpu);
            if (pool.rows > 0) return located(pool.answer(kind.key, AccuracyBasis::gpu_left_out), true, true);
        }
        for (const FitSummary* fit : {architecture_, all_}) {
            pool = left_out({fit}, of_others);
            if (pool.rows > 0) return located(pool.answer(kind.key, AccuracyBasis::architecture_left_out), false, true);
        }
        pool = left_out({all_}, of_kind);
        if (pool.rows == 0) pool = left_out(of_architectures(), of_kind);
        if (pool.rows > 0) return located(pool.answer(kind.key, AccuracyBasis::all_left_out), false, false);
        return std::nullopt;
    }

private:
    static std::string file_of(std::string_view architecture) {
        const auto file = architecture_fit_file({}, architecture);
        return (file.parent_path().filename() / file.filename()).generic_string();
    }
    [[nodiscard]] bool is_of_its_architecture(const std::string& gpu) const {
        if (architecture_ == nullptr || gpu == question_->gpu) return false;
        return std::find(architecture_->gpus.begin(), architecture_->gpus.end(), gpu) != architecture_->gpus.end();
    }
    [[nodiscard]] std::vector<const FitSummary*> of_architectures() const {
        std::vector<const FitSummary*> found;
        for (const FitSummary& fit : *fits_) {
            if (is_of_architecture(fit.file) && &fit != all_) found.push_back(&fit);
        }
        return found;
    }
    /// What fits without its GPU say of each group that is `wanted`.
    static Pool left_out(const std::vector<const FitSummary*>& fits, const Wanted& wanted) {
        Pool pool;
        for (const FitSummary* fit : fits) {
            if (fit == nullptr) continue;
            for (const FitAccuracy& group : fit->groups) {
                if (wanted(group)) pool.add(group, group.gpu_left_out, fit->file);
            }
        }
        return pool;
    }
    [[nodiscard]] ExpectedError located(ExpectedError error, bool in_gpu, bool in_architecture) const {
        if (in_gpu) error.gpu = question_->gpu;
        if (in_architecture) error.architecture = question_->architecture;
        return error;
    }

    const AccuracyQuestion* question_;
    const std::vector<FitSummary>* fits_;
    const FitSummary *own_ = nullptr, *architecture_ = nullptr, *all_ = nullptr;
};

ExpectedError as_expected(const ValidatedAccuracy& line, AccuracyBasis basis) {
    return {.work = line.work,
            .engine = line.engine,
            .models = line.models,
            .basis = basis,
            .gpu = line.gpu,
            .architecture = line.architecture,
            .gpus = line.gpus,
            .fit = line.fit,
            .rows = line.figures.rows,
            .mape_percent = line.figures.mape_percent,
            .median_ape_percent = line.figures.median_ape_percent,
            .bias_percent = line.figures.bias_percent,
            .in_interval_percent = line.in_interval_percent,
            .roofline_mape_percent = line.roofline_mape_percent,
            .file = line.file};
}

/// How far the rows of `line` are from those of the GPU asked about, from 0; nullopt: they say nothing of it. GPUs that are as well known
/// to fits as that one come first, then those that are known less, then those of its architecture.
std::optional<int> distance(const ValidatedAccuracy& line, const AccuracyQuestion& question, FittedTo fit) {
    if (!line.gpu.empty()) return line.gpu == question.gpu ? std::optional(0) : std::nullopt;
    if (!line.architecture.empty() && line.architecture != question.architecture) return std::nullopt;
    const int apart = static_cast<int>(line.fit) - static_cast<int>(fit);
    return 1 + 4 * std::abs(apart) + (apart < 0 ? 2 : 0) + (line.architecture.empty() ? 1 : 0);
}

/// For each engine the nearest line of that kind and those models.
std::vector<ExpectedError> nearest_lines(const std::vector<ValidatedAccuracy>& validated, std::string_view work, const std::string& models,
                                         const AccuracyQuestion& question, FittedTo fit) {
    std::vector<std::pair<int, const ValidatedAccuracy*>> best;
    for (const ValidatedAccuracy& line : validated) {
        if (line.work != work || line.models != models || (!question.engine.empty() && line.engine != question.engine)) continue;
        const auto far = distance(line, question, fit);
        if (!far) continue;
        const auto known =
            std::find_if(best.begin(), best.end(), [&](const auto& candidate) { return candidate.second->engine == line.engine; });
        if (known == best.end()) {
            best.emplace_back(*far, &line);
        } else if (*far < known->first) {
            *known = {*far, &line};
        }
    }
    std::vector<ExpectedError> errors;
    for (const auto& [far, line] : best) {
        const bool seen = !work_kind(work)->classes.empty() && line->fit != FittedTo::none;
        errors.push_back(as_expected(*line, seen ? AccuracyBasis::fitted : AccuracyBasis::unseen));
    }
    std::sort(errors.begin(), errors.end(), [](const ExpectedError& a, const ExpectedError& b) { return a.engine < b.engine; });
    return errors;
}

}  // namespace

std::string_view name(FittedTo fit) {
    constexpr std::array<std::string_view, 3> names{"own", "architecture", "none"};
    return names[static_cast<std::size_t>(fit)];
}

std::optional<FittedTo> parse_fitted_to(std::string_view text) {
    for (const FittedTo fit : {FittedTo::own, FittedTo::architecture, FittedTo::none}) {
        if (name(fit) == text) return fit;
    }
    return std::nullopt;
}

FittedTo fitted_to(std::string_view gpu, const std::vector<FitSummary>& fits) {
    FittedTo found = FittedTo::none;
    for (const FitSummary& fit : fits) {
        if (std::find(fit.gpus.begin(), fit.gpus.end(), gpu) == fit.gpus.end()) continue;
        if (!is_of_architecture(fit.file)) return FittedTo::own;
        found = FittedTo::architecture;
    }
    return found;
}

std::string_view name(AccuracyBasis basis) {
    constexpr std::array<std::string_view, 6> names{"cross_validated", "gpu_left_out", "architecture_left_out",
                                                    "all_left_out",    "unseen",       "fitted"};
    return names[static_cast<std::size_t>(basis)];
}

ExpectedAccuracy expected_accuracy(const AccuracyQuestion& question, const std::vector<FitSummary>& fits,
                                   const std::vector<ValidatedAccuracy>& validated) {
    const FitsFor known(question, fits);
    ExpectedAccuracy answer;
    answer.fit = fitted_to(question.gpu, fits);
    answer.has_unseen_rows =
        std::any_of(validated.begin(), validated.end(), [&](const ValidatedAccuracy& line) { return line.gpu == question.gpu; });
    const FitSummary* used = known.own() != nullptr ? known.own() : known.architecture();
    if (used != nullptr) answer.fit_date = used->date;
    for (const WorkKind& kind : work_kinds()) {
        const bool asked = question.work.empty() || std::find(question.work.begin(), question.work.end(), kind.key) != question.work.end();
        if (!asked) continue;
        if (auto error = known.error(kind)) answer.fits.push_back(std::move(*error));
        for (auto& error : nearest_lines(validated, kind.key, {}, question, answer.fit)) answer.engines.push_back(std::move(error));
        if (question.models.empty()) continue;
        for (auto& error : nearest_lines(validated, kind.key, question.models, question, answer.fit))
            answer.models.push_back(std::move(error));
    }
    return answer;
}

}  // namespace roofcast
