#pragma once
/// What is asked of a model in one run.

#include <cstdint>

#include "roofcast/precision.hpp"

namespace roofcast {

/// Degrees of parallelism. Data parallel copies are independent in inference.
struct Parallelism {
    std::int64_t tensor = 1, pipeline = 1, data = 1, expert = 1;
    [[nodiscard]] std::int64_t gpus() const { return tensor * pipeline * data; }
};

/// What is asked of a model in one run. Zero means the model's default.
struct RunShape {
    std::int64_t batch = 1, prompt_tokens = 0, generate_tokens = 0, image_size = 0, images = 1;
    std::int64_t steps = 0;  ///< of denoising
    Precision precision = Precision::fp16;
    WeightFormat weights{};  ///< as stored
    Precision kv_precision = Precision::fp16;
    Parallelism parallel{};
    /// Sequences or images at once, on all data-parallel copies.
    [[nodiscard]] double items() const { return static_cast<double>(batch * parallel.data); }
};

}  // namespace roofcast
