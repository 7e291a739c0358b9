#include "calibration/samples.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "calibration/folds.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

std::string Sample::precision() const {
    const Precision p = kernel != nullptr ? kernel->precision : model->precision.value_or(Precision::bf16);
    double bits = 8 * element_size(p).in(byte);
    if (kernel == nullptr) {
        bits = model->weights.value_or(native_weights(p)).bits;
    } else if (const auto* gemm = std::get_if<Gemm>(&kernel->op)) {
        bits = gemm->weight_bits;
    } else if (const auto* moe = std::get_if<Moe>(&kernel->op)) {
        bits = moe->weight_bits;
    }
    std::string text(name(p));
    if (bits < 8 * element_size(p).in(byte)) text += "_w" + std::to_string(std::lround(bits));
    return text;
}

std::vector<Caller> callers_of(const CalibrationInput& input) {
    std::set<Caller> callers;
    for (const KernelRow& row : input.kernels) callers.insert(row.caller);
    if (callers.empty()) callers.emplace();
    return {callers.begin(), callers.end()};
}

Bench::Bench(const CalibrationInput& input, const CostParameters& start) : parameters_(start) {
    const std::vector<Caller> callers = callers_of(input);
    callers_ = callers.size();
    for (const GpuProfile& profile : input.gpus) {
        for (const Caller& caller : callers) gpus_.push_back({profile, {.values = start, .provenance = {}, .source = {}}, caller});
    }
    // What the reports ask of a parameter is not asked while fitting.
    for (Gpu& gpu : gpus_) {
        gpu.parameters.provenance.assign(parameter_specs().size(), Provenance::assumed);
        gpu.parameters.source.assign(parameter_specs().size(), {});
    }
}

void Bench::set(const CostParameters& parameters) {
    parameters_ = parameters;
    for (Gpu& gpu : gpus_) gpu.parameters.values = parameters;
}

void Bench::set(const ParameterSpec& spec, double in_unit) {
    spec.set(parameters_, in_unit);
    for (Gpu& gpu : gpus_) spec.set(gpu.parameters.values, in_unit);
}

bool Bench::has_unit_of(const ParameterSpec& spec) const {
    if (!spec.math_unit) return true;
    return std::any_of(gpus_.begin(), gpus_.end(), [&](const Gpu& gpu) { return gpu.profile.has_unit(*spec.math_unit); });
}

double Bench::predicted(const Sample& sample) const {
    const Gpu& gpu = gpu_of(sample);
    if (sample.model != nullptr) return sample.planned(gpu);
    return with_launch(predicted_cost(*sample.kernel, gpu), sample.host).in(us);
}

double Bench::log_ratio(const Sample& sample) const {
    return std::log(predicted(sample) / sample.measured());
}

double Bench::fit_residual(const Sample& sample) const {
    if (!sample.host_bound) return log_ratio(sample);
    const Seconds kernel = predicted_cost(*sample.kernel, gpu_of(sample)).total + sample.host.around;
    return std::max(0.0, std::log(kernel.in(us) / sample.measured()));
}

double mape_percent(const std::vector<double>& log_ratios) {
    double sum = 0;
    for (const double r : log_ratios) sum += std::abs(std::expm1(r));
    return log_ratios.empty() ? 0 : 100 * sum / static_cast<double>(log_ratios.size());
}

Samples thinned(const Samples& rows, std::size_t count, std::uint64_t seed) {
    if (rows.size() <= count) return rows;
    // Rows of one group are distinguished by their place in the file, so that one shape measured often does not crowd out others.
    std::vector<std::pair<double, std::size_t>> draws;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Origin& origin = rows[i]->origin();
        draws.emplace_back(
            group_draw(rows[i]->group + std::filesystem::path(origin.file).filename().string() + std::to_string(origin.line), seed), i);
    }
    std::sort(draws.begin(), draws.end());
    draws.resize(count);
    std::sort(draws.begin(), draws.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    Samples chosen;
    for (const auto& [draw, index] : draws) chosen.push_back(rows[index]);
    return chosen;
}

std::vector<double> residuals(const Bench& bench, const Samples& rows) {
    std::vector<double> r;
    r.reserve(rows.size());
    for (const Sample* row : rows) r.push_back(bench.fit_residual(*row));
    return r;
}

std::vector<double> log_ratios(const Bench& bench, const Samples& rows) {
    std::vector<double> r;
    r.reserve(rows.size());
    for (const Sample* row : rows) r.push_back(bench.log_ratio(*row));
    return r;
}

}  // namespace roofcast
