#include "calibration/probe.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "calibration/coordinates.hpp"
#include "io/parallel.hpp"

namespace roofcast {

namespace {

constexpr double probe_step = 0.2;   // of a parameter's range: how far it is moved to see whether rows depend on it
constexpr double noticeable = 1e-4;  // mean change of ln(predicted) under the probe: of kernels, whose rows differ in what bounds them
constexpr double noticeable_in_models = 1e-3;  // of models, which mix all kernels
constexpr double noticeable_in_a_row = 1e-3;   // of a single kernel

/// Changes of ln(predicted) when a parameter is moved both ways by the probe.
struct ProbedChange {
    double sum = 0, most = 0;  ///< of all rows; of one
};

/// `base`: residuals of `rows` on `bench`.
ProbedChange change_under_probe(Bench bench, const Samples& rows, const std::vector<double>& base, std::size_t parameter) {
    const ParameterSpec& spec = parameter_specs()[parameter];
    const double u = to_unit(spec, spec.get(bench.parameters()));
    ProbedChange change;
    for (const double moved : {std::max(0.0, u - probe_step), std::min(1.0, u + probe_step)}) {
        bench.set(spec, from_unit(spec, moved));
        const std::vector<double> r = residuals(bench, rows);
        for (std::size_t row = 0; row < r.size(); ++row) {
            change.sum += std::abs(r[row] - base[row]);
            change.most = std::max(change.most, std::abs(r[row] - base[row]));
        }
    }
    return change;
}

/// Those of `candidates` whose change `matters`.
std::vector<std::size_t> probed(const Bench& bench, const Samples& rows, const std::vector<std::size_t>& candidates,
                                const std::function<bool(const ProbedChange&)>& matters) {
    const std::vector<double> base = residuals(bench, rows);
    std::vector<ProbedChange> changes(candidates.size());
    in_parallel(candidates.size(), [&](std::size_t i) {
        if (bench.has_unit_of(parameter_specs()[candidates[i]])) changes[i] = change_under_probe(bench, rows, base, candidates[i]);
    });
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (matters(changes[i])) found.push_back(candidates[i]);
    }
    return found;
}

}  // namespace

std::vector<std::size_t> parameters_that_matter(const Bench& bench, const Samples& rows, const std::vector<std::size_t>& candidates) {
    const bool of_models = std::all_of(rows.begin(), rows.end(), [](const Sample* row) { return row->model != nullptr; });
    const double least = (of_models ? noticeable_in_models : noticeable) * static_cast<double>(rows.size());
    return probed(bench, rows, candidates, [&](const ProbedChange& change) { return change.sum > least; });
}

std::vector<std::size_t> parameters_that_any_needs(const Bench& bench, const Samples& kernels, const std::vector<std::size_t>& candidates) {
    return probed(bench, kernels, candidates, [](const ProbedChange& change) { return change.most > noticeable_in_a_row; });
}

}  // namespace roofcast
