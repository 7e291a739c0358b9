#pragma once
/// Which peak the `compute_tflops` of a minimal profile is.
///
/// Vendors head their data sheets with one of four figures for fp16: dense with fp32 accumulation, dense with fp16 accumulation (twice as
/// fast on GeForce), either with structured sparsity; or with the fp32 peak of the CUDA cores. Each reading on each class of GPUs implies
/// an fp32 peak. How well that peak goes with the stated bandwidth and memory is known from GPUs with full profiles:
///
///   weight = prior of the reading * (density among the GPUs of the class + density around single GPUs)
///
/// with log-normal densities of the fp32 peak, of GB/s and GiB for each fp32 TFLOPS, and of SM count, clock and TDP where they are stated.
/// The heaviest reading is taken when it has nine tenths of all weight. Otherwise the user must say more.

#include <optional>
#include <string>
#include <vector>

#include "profile/gpu_class.hpp"

namespace roofcast {

struct PeakReading {
    std::string name;  ///< "fp16 tensor cores, dense, fp32 accumulation"
    Precision precision = Precision::fp16;
    bool fp16_accumulation = false, sparse = false;
};

/// What a minimal profile states of the GPU.
struct StatedFigures {
    FlopsPerSecond peak;
    std::optional<Precision> precision;  ///< of `peak`, dense and with fp32 accumulation
    std::optional<bool> consumer;        ///< whether fp32 accumulation runs at half rate
    BytesPerSecond bandwidth;
    std::optional<Bytes> capacity;
    std::string memory_type;
    std::optional<FlopsPerSecond> fp32;  ///< of CUDA cores
    std::int64_t sm_count = 0;           ///< 0: not stated; so the next two
    Hertz boost_clock;
    Watts tdp;
};

struct ReadPeak {
    PeakReading reading;
    GpuClass like;                   ///< GPUs that the profile is taken for one of
    std::optional<GpuProfile> same;  ///< the one with the same figures
};

/// The reading of `stated` that fits GPUs of `classes`; nullopt when none does. Throws Error at `compute_tflops` when two fit about
/// equally.
std::optional<ReadPeak> read_peak(const StatedFigures& stated, const std::vector<GpuClass>& classes);

/// The peak of `gpu` that `reading` is.
std::optional<FlopsPerSecond> peak_of(const GpuProfile& gpu, const PeakReading& reading);

}  // namespace roofcast
