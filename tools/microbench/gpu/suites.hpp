#pragma once
/// One function a suite: measures a case of it. All throw CaseError or DeviceLost.

#include "gpu/device.hpp"
#include "host/campaign.hpp"

namespace roofcast::microbench {

Outcome measure_elementwise(const Device& device, const Case& c, const Elementwise& w);
Outcome measure_row_wise(const Device& device, const Case& c, const RowWise& w);
Outcome measure_embedding(const Device& device, const Case& c, const Embedding& w);
Outcome measure_memory(const Device& device, const Case& c, const Memory& w);
Outcome measure_copy(const Device& device, const Copy& w);
Outcome measure_launch(const Device& device, const Launch& w);
Outcome measure_collective(const Device& device, const Collective& w);

// Suites of libraries. Built without a library's headers, they throw CaseError and say so.
Outcome measure_gemm(const Device& device, const Case& c, const Gemm& w);
Outcome measure_sustained(const Device& device, const Case& c, const Sustained& w);
Outcome measure_convolution(const Device& device, const Case& c, const Convolution& w);
Outcome measure_attention(const Device& device, const Case& c, const Attention& w);

}  // namespace roofcast::microbench
