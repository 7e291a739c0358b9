#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "calibration/folds.hpp"
#include "calibration/samples.hpp"
#include "kernels/work.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

// Of a measuring host that nobody described: the shortest calls of an operator show its floor once there are enough of them and they
// lie close together.
constexpr std::size_t rows_for_a_floor = 20;
constexpr double floor_quantile = 0.03, clump_quantile = 0.10, clump_width = 1.3;
constexpr double around_of_floor = 0.4;    // on the hosts described in software/hosts.toml: 0.31 to 0.47
constexpr double host_bound_margin = 1.1;  // calls shorter than this times the floor say nothing about their kernel

using HostKey = std::tuple<std::string, std::string, std::string>;  // source, GPU, op

bool is_known(const HostLaunch& host) {
    return host.floor > 0 * s || host.around > 0 * s;
}

/// Floors of hosts without a description, from the rows themselves.
std::map<HostKey, HostLaunch> estimated_hosts(const std::vector<Sample>& samples) {
    std::map<HostKey, std::vector<double>> latencies;
    for (const Sample& sample : samples) {
        if (sample.kernel == nullptr || !sample.kernel->launch_included || is_known(sample.host)) continue;
        const KernelRow& row = *sample.kernel;
        latencies[{row.origin.source, row.gpu, row.op_name}].push_back(row.latency.in(us));
    }
    std::map<HostKey, HostLaunch> hosts;
    for (const auto& [key, times] : latencies) {
        if (times.size() < rows_for_a_floor) continue;
        const double floor = percentile(times, floor_quantile);
        if (percentile(times, clump_quantile) > clump_width * floor) continue;
        hosts[key] = {floor * us, around_of_floor * floor * us, {}};
    }
    return hosts;
}

/// Why a kernel row cannot be used; empty when it can.
std::string objection(const KernelRow& row, const Gpu& gpu) {
    if (is_impossible(row, gpu.profile)) {
        return fmt::format("faster than the data sheet allows: {:.4g} us, at least {:.4g} us", row.latency.in(us),
                           physical_floor(row.op, gpu.profile).in(us));
    }
    try {
        if (const auto precision = gemm_precision(row.op)) require_precision(gpu.profile, *precision);
        const KernelCost cost = predicted_cost(row, gpu);
        if (cost.bound == Bound::unmodelled) return "no cost model for the operator";
        if (!(cost.total > 0 * s)) return "the cost model gives no time";
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

std::string objection(const ModelRow& row) {
    if (row.metric == Metric::memory_gb || is_of_start(row.metric) || row.metric == Metric::power_w) return "the row has no measured time";
    if (row.phase == "train") return "roofcast does not predict training";
    if (row.served) return "serving rows depend on the engine's scheduler as much as on the GPU";
    if (row.gpus > 1) return "multi-GPU rows depend on the links as much as on the GPUs";
    return {};
}

class Collector {
public:
    explicit Collector(const CalibrationInput& input) : input_(input), callers_(callers_of(input)) {
        for (const GpuProfile& profile : input.gpus) gpus_.push_back({profile, input.start});
    }

    void add(const KernelRow& row) {
        const auto gpu = place(row.gpu);
        if (!gpu) return;
        gpus_[*gpu].caller = row.caller;
        if (std::string reason = objection(row, gpus_[*gpu]); !reason.empty()) return drop(row.origin, row.gpu, row.op_name, reason);
        const auto caller = std::lower_bound(callers_.begin(), callers_.end(), row.caller) - callers_.begin();
        const HostLaunch host = input_.host_launch ? input_.host_launch(row) : HostLaunch{};
        result_.samples.push_back(
            {.kernel = &row, .gpu = *gpu, .caller = static_cast<std::size_t>(caller), .host = host, .group = shape_of(row.op)});
    }

    void add(const ModelRow& row) {
        const auto gpu = place(row.gpu);
        if (!gpu || !input_.model) return;
        if (std::string reason = objection(row); !reason.empty()) return drop(row.origin, row.gpu, "model", reason);
        try {
            RowModel planned = input_.model(row, gpus_[*gpu]);
            if (!(planned(gpus_[*gpu]) > 0)) return drop(row.origin, row.gpu, "model", "the model predicts no time");
            result_.samples.push_back({.model = &row, .planned = std::move(planned), .gpu = *gpu, .group = "model " + row.model});
        } catch (const Error& e) {
            drop(row.origin, row.gpu, "model", e.what());
        }
    }

    SampleSet result() && {
        const auto hosts = estimated_hosts(result_.samples);
        for (const auto& [key, host] : hosts) {
            result_.hosts.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), host.floor, host.around});
        }
        for (Sample& sample : result_.samples) {
            if (sample.kernel == nullptr || !sample.kernel->launch_included) continue;
            const KernelRow& row = *sample.kernel;
            const auto found = hosts.find({row.origin.source, row.gpu, row.op_name});
            if (!is_known(sample.host) && found != hosts.end()) sample.host = found->second;
            sample.host_bound = row.latency < host_bound_margin * sample.host.floor;
        }
        return std::move(result_);
    }

private:
    [[nodiscard]] std::optional<std::size_t> place(const std::string& id) const {
        for (std::size_t i = 0; i < gpus_.size(); ++i) {
            if (gpus_[i].profile.id == id) return i;
        }
        return std::nullopt;
    }
    void drop(const Origin& origin, const std::string& gpu, const std::string& op, std::string reason) {
        result_.dropped.push_back({origin.file, origin.line, gpu, op, std::move(reason)});
    }

    const CalibrationInput& input_;
    const std::vector<Caller> callers_;
    std::vector<Gpu> gpus_;
    SampleSet result_;
};

}  // namespace

SampleSet collect_samples(const CalibrationInput& input) {
    Collector collector(input);
    for (const KernelRow& row : input.kernels) collector.add(row);
    for (const ModelRow& row : input.models) collector.add(row);
    return std::move(collector).result();
}

}  // namespace roofcast
