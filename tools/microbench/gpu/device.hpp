#pragma once
/// The GPU under test and what every suite needs of it.

#include <string>
#include <vector>

#include "gpu/buffer.hpp"
#include "gpu/nvml.hpp"
#include "host/cases.hpp"

namespace roofcast::microbench {

class Device {
public:
    /// Throws CaseError when there is no such GPU or no driver.
    explicit Device(int index);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    [[nodiscard]] const cudaDeviceProp& properties() const { return properties_; }
    [[nodiscard]] const Nvml& nvml() const { return nvml_; }
    [[nodiscard]] int index() const { return index_; }
    /// Driver and CUDA runtime: "driver 580.65.06 CUDA 13.0".
    [[nodiscard]] std::string software() const;
    /// What to know about the run, a line each: GPU, driver, toolkit, clocks, power limit, date.
    [[nodiscard]] std::vector<std::string> description() const;

    /// Throws CaseError when the GPU has no such arithmetic.
    void require(Precision p) const;
    /// Bytes that operands may take, leaving room for workspaces.
    [[nodiscard]] std::size_t memory_for_operands() const;

    /// Enqueues reads of more than the L2 holds: what was cached before is not afterwards, and nothing waits to be written back.
    void flush_l2() const;
    /// Enqueues a kernel that only waits, so that the CPU can queue work behind it.
    void hold(double seconds) const;

private:
    int index_;
    cudaDeviceProp properties_{};
    cudaStream_t stream_ = nullptr;
    Nvml nvml_;
    Buffer scratch_;
};

}  // namespace roofcast::microbench
