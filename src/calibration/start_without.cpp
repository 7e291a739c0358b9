#include "calibration/start_without.hpp"

#include "calibration/samples.hpp"

namespace roofcast {

CostParameters start_without(const CalibrationInput& input, const std::function<bool(const GpuProfile&)>& left_out, Session& session) {
    const ParameterSet& neutral = input.left_out_start ? *input.left_out_start : input.start;
    CalibrationInput others;
    for (const GpuProfile& gpu : input.pool) {
        if (!left_out(gpu)) others.gpus.push_back(gpu);
    }
    if (others.gpus.empty()) return neutral.values;
    others.start = neutral;
    others.kernels = input.kernels;
    others.host_launch = input.host_launch;
    const SampleSet set = collect_samples(others);
    Samples rows;
    for (const Sample& sample : set.samples) rows.push_back(&sample);
    return session.fit(others, rows, "all other GPUs", {.start = &neutral.values}).parameters;
}

}  // namespace roofcast
