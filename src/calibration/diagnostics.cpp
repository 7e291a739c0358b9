#include "calibration/diagnostics.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "calibration/coordinates.hpp"
#include "io/parallel.hpp"

namespace roofcast {

namespace {

constexpr double difference = 0.01;      // of a parameter's range, for the Jacobian: spans the kinks of a choice between tiles
constexpr double null_direction = 1e-6;  // of the largest singular value
constexpr double at_bound = 1e-3;        // of a parameter's range
constexpr double bump = 0.1;             // of a parameter's value, for sensitivities
constexpr int plateau_steps = 20;        // of its range, on each side
constexpr int bisections = 5;

/// Sets one parameter of a bench for as long as it lives.
class Nudge {
public:
    Nudge(Bench& bench, std::size_t spec) : bench_(bench), spec_(parameter_specs()[spec]), before_(spec_.get(bench.parameters())) {}
    Nudge(const Nudge&) = delete;
    Nudge& operator=(const Nudge&) = delete;
    ~Nudge() { bench_.set(spec_, before_); }
    void to(double in_unit) { bench_.set(spec_, std::clamp(in_unit, spec_.fitted_lower, spec_.fitted_upper)); }
    void to_position(double u) { bench_.set(spec_, from_unit(spec_, u)); }
    [[nodiscard]] double before() const { return before_; }
    [[nodiscard]] double position() const { return to_unit(spec_, before_); }

private:
    Bench& bench_;
    const ParameterSpec& spec_;
    double before_;
};

/// e = eʳ − 1 of each row, as the loss sees it.
Eigen::VectorXd error_vector(const Bench& bench, const Samples& rows) {
    const std::vector<double> r = residuals(bench, rows);
    return Eigen::Map<const Eigen::ArrayXd>(r.data(), static_cast<Eigen::Index>(r.size())).expm1().matrix();
}

Eigen::MatrixXd jacobian(Bench& bench, const StageOutcome& outcome) {
    Eigen::MatrixXd j(outcome.rows.size(), outcome.specs.size());
    for (std::size_t p = 0; p < outcome.specs.size(); ++p) {
        Nudge nudge(bench, outcome.specs[p]);
        const double below = std::max(0.0, nudge.position() - difference), above = std::min(1.0, nudge.position() + difference);
        nudge.to_position(above);
        const Eigen::VectorXd up = error_vector(bench, outcome.rows);
        nudge.to_position(below);
        j.col(static_cast<Eigen::Index>(p)) = (up - error_vector(bench, outcome.rows)) / (above - below);
    }
    return j;
}

/// Standard errors in solver coordinates; infinite where a null direction has a part in the parameter.
struct LinearTheory {
    Eigen::VectorXd errors, singular_values;
};

LinearTheory linear_theory(Bench bench, const StageOutcome& outcome) {
    const Eigen::ArrayXd e = error_vector(bench, outcome.rows).array();
    const Eigen::ArrayXd say = Eigen::Map<const Eigen::ArrayXd>(outcome.weights.data(), static_cast<Eigen::Index>(outcome.weights.size()));
    const Eigen::ArrayXd weights = say / say.mean() * (1 + (e / robust_scale(*outcome.stage)).square()).rsqrt();
    const Eigen::MatrixXd j = weights.sqrt().matrix().asDiagonal() * jacobian(bench, outcome);
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(j, Eigen::ComputeThinU | Eigen::ComputeFullV);
    const Eigen::VectorXd& values = svd.singularValues();
    const double freedom = std::max<double>(1, static_cast<double>(j.rows() - j.cols()));
    const double variance = (weights * e.square()).sum() / freedom;
    LinearTheory theory{Eigen::VectorXd::Zero(j.cols()), values / std::sqrt(static_cast<double>(j.rows()))};
    for (Eigen::Index p = 0; p < j.cols(); ++p) {
        for (Eigen::Index k = 0; k < j.cols(); ++k) {  // those beyond the singular values are of more parameters than rows
            const double part = svd.matrixV()(p, k) * svd.matrixV()(p, k);
            if (k < values.size() && values(k) > null_direction * values(0)) {
                theory.errors(p) += variance * part / (values(k) * values(k));
            } else if (part > null_direction) {
                theory.errors(p) = std::numeric_limits<double>::infinity();
            }
        }
    }
    theory.errors = theory.errors.cwiseSqrt();
    return theory;
}

double stage_mape(const Bench& bench, const StageOutcome& outcome) {
    return mape_percent(log_ratios(bench, outcome.rows));
}

/// The position farthest from the fitted one, in the direction of `sign`, up to which the MAPE stays on the plateau.
double plateau_edge(Bench& bench, const StageOutcome& outcome, Nudge& nudge, double best, double sign) {
    const auto is_good = [&](double u) {
        nudge.to_position(u);
        return stage_mape(bench, outcome) <= best + plateau_points;
    };
    double good = nudge.position(), bad = good;
    const double end = sign > 0 ? 1 : 0;
    for (int i = 1; i <= plateau_steps && good == bad; ++i) {
        // Steps grow from a thousandth of the range to all of it.
        const double reach = 0.001 * std::pow(1000.0, static_cast<double>(i) / plateau_steps);
        const double u = std::clamp(nudge.position() + sign * reach, 0.0, 1.0);
        if (!is_good(u)) {
            bad = u;
            break;
        }
        good = bad = u;
        if (u == end) break;
    }
    for (int i = 0; i < bisections && good != bad; ++i) {
        const double middle = (good + bad) / 2;
        (is_good(middle) ? good : bad) = middle;
    }
    return good;
}

FittedParameter probe(Bench& bench, const StageOutcome& outcome, std::size_t spec_index, double best) {
    const ParameterSpec& spec = parameter_specs()[spec_index];
    Nudge nudge(bench, spec_index);
    FittedParameter p{.spec = spec_index, .stage = std::string(outcome.stage->name), .after = nudge.before()};
    if (nudge.position() < at_bound) p.hit = BoundHit::lower;
    if (nudge.position() > 1 - at_bound) p.hit = BoundHit::upper;
    nudge.to(nudge.before() * (1 - bump));
    p.mape_change_minus = stage_mape(bench, outcome) - best;
    nudge.to(nudge.before() * (1 + bump));
    p.mape_change_plus = stage_mape(bench, outcome) - best;
    // Edges within the rounding of the fitted value are the value itself.
    p.plateau_lower = std::min(p.after, from_unit(spec, plateau_edge(bench, outcome, nudge, best, -1)));
    p.plateau_upper = std::max(p.after, from_unit(spec, plateau_edge(bench, outcome, nudge, best, 1)));
    return p;
}

}  // namespace

StageDiagnosis diagnose(const Bench& bench, const StageOutcome& outcome, const CostParameters& start) {
    StageDiagnosis result;
    if (outcome.specs.empty()) return result;
    const LinearTheory theory = linear_theory(bench, outcome);
    result.singular_values.assign(theory.singular_values.begin(), theory.singular_values.end());
    const double best = stage_mape(bench, outcome);
    result.parameters.resize(outcome.specs.size());
    in_parallel(outcome.specs.size(), [&](std::size_t i) {
        const ParameterSpec& spec = parameter_specs()[outcome.specs[i]];
        Bench own = bench;
        FittedParameter p = probe(own, outcome, outcome.specs[i], best);
        p.before = spec.get(start);
        const double error = theory.errors(static_cast<Eigen::Index>(i));
        p.identifiable = error < identifiable_error;
        if (std::isfinite(error)) p.standard_error = error * unit_slope(spec, p.after);
        result.parameters[i] = std::move(p);
    });
    return result;
}

}  // namespace roofcast
