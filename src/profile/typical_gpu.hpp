#pragma once
/// What a board of an architecture is like, for what a profile does not state.

#include <string>
#include <vector>

#include "profile/gpu_class.hpp"

namespace roofcast {

/// A figure, and the fraction of it within which nine of ten GPUs lie.
template <class T>
struct TypicalFigure {
    T value;
    double relative_error = 0;
};

struct TypicalGpu {
    std::string of;  ///< "typical of ada", for reasons
    TypicalFigure<Hertz> boost_clock;
    TypicalFigure<double> base_clock_ratio, sustained_clock_ratio;  ///< to the boost clock
    TypicalFigure<Bytes> l2_per_sm;
    TypicalFigure<double> watts_per_fp32_tflops;
    double peak_error = 0;                ///< relative, of peaks that follow from one that is stated
    std::vector<std::int64_t> sm_counts;  ///< of known GPUs, ascending
};

/// From the architecture's facts.
TypicalGpu typical_gpu(const GpuProfile& gpu);

/// From GPUs of one class.
TypicalGpu typical_gpu(const GpuClass& gpus);

}  // namespace roofcast
