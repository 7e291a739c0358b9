#include "calibration/refinement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace roofcast {

namespace {

constexpr double worth_a_word = 1.05;  // error of shipped rows after over before

std::string capitalized(std::string text) {
    if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
}

/// "2.2 x slower than predicted (2.1 to 2.3)"
std::string slowness(const FittedParameter& p) {
    const bool slower = p.after >= 1;
    const auto factor = [&](double value) { return slower ? value : 1 / value; };
    std::string text = fmt::format("{:.2f} x {} than predicted", factor(p.after), slower ? "slower" : "faster");
    if (p.interval_low && p.interval_high) {
        const double a = factor(*p.interval_low), b = factor(*p.interval_high);
        text += fmt::format(" ({:.2f} to {:.2f})", std::min(a, b), std::max(a, b));
    }
    return text;
}

}  // namespace

std::string comparison_line(const Fit& fit) {
    if (!fit.refinement) return {};
    const Refinement& r = *fit.refinement;
    std::string line = fmt::format("{} {:.1f} % on your {} rows, yours {:.1f} % (cross-validated)", capitalized(r.refines),
                                   r.before.mape_percent, r.before.rows, r.after.mape_percent);
    if (!r.shipped_before || !r.shipped_after) return line + "; shipped rows of this GPU were not found to compare on.";
    line += fmt::format("; on the {} shipped rows {:.1f} % and {:.1f} %.", r.shipped_before->rows, r.shipped_before->mape_percent,
                        r.shipped_after->mape_percent);
    if (r.shipped_after->mape_percent > worth_a_word * r.shipped_before->mape_percent)
        line += " Keep yours only if your machine differs from the one measured, or if your rows are what you run.";
    return line;
}

std::string why_not_written(const Fit& fit) {
    const Refinement& r = *fit.refinement;
    if (r.better() && !fit.stages.empty()) return "you answered no";
    if (r.judged == 0) return "too few rows to cross-validate. Measure more shapes or models";
    return fmt::format(
        "in cross-validation a fit to your rows is no better than the {}. Kinds with few rows teach one factor each: measure more shapes",
        r.refines);
}

std::vector<std::string> factor_lines(const Fit& fit) {
    std::vector<std::string> lines;
    for (const FittedParameter& p : fit.details) {
        const ParameterSpec& spec = parameter_specs()[p.spec];
        if (!p.fitted() || !spec.of_machine) continue;
        if (p.stage == "machine") {
            lines.push_back(fmt::format("Your models run {}, all alike: other software, clocks, layout or a power limit?", slowness(p)));
        } else {
            lines.push_back(fmt::format("Your kernels of stage {} run {}.", p.stage, slowness(p)));
        }
    }
    return lines;
}

}  // namespace roofcast
