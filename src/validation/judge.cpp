#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "kernels/collective/all_reduce.hpp"
#include "kernels/work.hpp"
#include "prediction/interval.hpp"
#include "roofcast/error.hpp"
#include "roofcast/validation.hpp"

namespace roofcast {

namespace {

PredictedTerms terms(const KernelCost& cost) {
    PredictedTerms terms;
    terms.add(cost, 1);
    terms.bound = name(cost.bound);
    return terms;
}

/// Judges one row after the other.
class Judge {
public:
    explicit Judge(const Predictors& predictors) : predictors_(predictors) {}

    void kernel(const KernelRow& row, std::size_t index) {
        const Gpu* known = known_gpu(row.gpu, row.origin);
        if (known == nullptr) return;
        const Gpu* gpu = &seen_by(row, *known);
        try {
            if (const auto p = gemm_precision(row.op)) require_precision(gpu->profile, *p);
            if (is_impossible(row, gpu->profile)) {
                result_.impossible.push_back({false, index, physical_floor(row.op, gpu->profile).in(us)});
                return;
            }
            const KernelCost cost = predicted_cost(row, *gpu);
            if (cost.bound == Bound::unmodelled) return skip(row.origin, "the operator has no cost model");
            const HostLaunch host = predictors_.host_launch ? predictors_.host_launch(row) : HostLaunch{};
            if (row.library && row.launch_included && host.floor == Seconds{})
                return skip(row.origin, "the time includes launch overhead of a machine that software/hosts.toml does not describe");
            result_.rows.push_back({false, index, row.latency.in(us), with_launch(cost, host).in(us),
                                    datasheet_roofline(row.op, gpu->profile, row.cache).in(us)});
            result_.rows.back().terms = terms(cost);
            add_interval(result_.rows.back(), row.op, gpu->parameters);
        } catch (const Error& e) {
            skip(row.origin, e.what());
        }
    }

    void model(const ModelRow& row, std::size_t index) {
        const Gpu* gpu = known_gpu(row.gpu, row.origin);
        if (gpu == nullptr) return;
        if (!predictors_.model) return skip(row.origin, "no predictor of whole models");
        try {
            const ModelEstimate estimate = predictors_.model(row, *gpu);
            if (is_impossible(row, estimate)) {
                result_.impossible.push_back({true, index, *estimate.limit});
                return;
            }
            result_.rows.push_back(
                {true, index, row.value, estimate.predicted, estimate.roofline, estimate.low, estimate.high, estimate.terms});
        } catch (const Error& e) {
            skip(row.origin, e.what());
        }
    }

    Validation result() && { return std::move(result_); }
    void start_with(const SkippedRows& skipped) { result_.skipped = skipped; }

private:
    static void add_interval(JudgedRow& judged, const Op& op, const ParameterSet& parameters) {
        const ResidualInterval* interval = find_interval(parameters, op_class(op));
        if (interval == nullptr) return;
        judged.low = judged.predicted * ratio(*interval).low;
        judged.high = judged.predicted * ratio(*interval).high;
    }
    /// Made once for each GPU, family and caller.
    const Gpu& seen_by(const KernelRow& row, const Gpu& gpu) {
        const Seen key{&gpu, row.family.get(), row.caller};
        const auto known = seen_.find(key);
        return known != seen_.end() ? known->second : seen_.emplace(key, as_row_sees(row, gpu)).first->second;
    }
    const Gpu* known_gpu(const std::string& id, const Origin& origin) {
        const Gpu* gpu = predictors_.gpu(id);
        if (gpu == nullptr) skip(origin, fmt::format("unknown GPU '{}'", id));
        return gpu;
    }
    void skip(const Origin& origin, std::string_view reason) { result_.skipped.add(origin.file, origin.line, reason); }

    const Predictors& predictors_;
    Validation result_;
    using Seen = std::tuple<const Gpu*, const KernelFamily*, Caller>;
    std::map<Seen, Gpu> seen_;
};

}  // namespace

void PredictedTerms::add(const KernelCost& kernel, double runs) {
    compute += runs * kernel.compute;
    dram += runs * kernel.dram;
    l2 += runs * kernel.l2;
    launch += runs * kernel.launch;
    power += runs * kernel.power;
    communication += runs * kernel.communication;
}

double JudgedRow::ape_percent() const {
    return 100 * std::abs(predicted / measured - 1);
}

KernelCost predicted_cost(const KernelRow& row, const Gpu& gpu) {
    return cost_with(row.library.get(), row.op, gpu, row.cache);
}

Gpu as_row_sees(const KernelRow& row, const Gpu& gpu) {
    Gpu called = gpu;
    called.caller = row.caller;
    return row.family && has_parameters(*row.family, gpu) ? as_family_sees(called, *row.family) : called;
}

Validation judge(const Measurements& measurements, const Predictors& predictors) {
    Judge judge(predictors);
    judge.start_with(measurements.skipped);
    for (std::size_t i = 0; i < measurements.kernels.size(); ++i) judge.kernel(measurements.kernels[i], i);
    for (std::size_t i = 0; i < measurements.models.size(); ++i) judge.model(measurements.models[i], i);
    return std::move(judge).result();
}

std::vector<std::size_t> worst_rows(const Validation& validation, std::size_t count) {
    std::vector<std::size_t> order(validation.rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto shown = static_cast<std::ptrdiff_t>(std::min(count, order.size()));
    std::partial_sort(order.begin(), order.begin() + shown, order.end(), [&](std::size_t a, std::size_t b) {
        const double first = validation.rows[a].ape_percent(), second = validation.rows[b].ape_percent();
        return first != second ? first > second : a < b;
    });
    order.resize(static_cast<std::size_t>(shown));
    return order;
}

}  // namespace roofcast
