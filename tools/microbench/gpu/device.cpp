#include "gpu/device.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "gpu/kernels.hpp"
#include "host/case_error.hpp"

namespace roofcast::microbench {

namespace {

constexpr std::size_t least_scratch = std::size_t{32} << 20U;
constexpr double share_for_operands = 0.6;

cudaDeviceProp properties_of(int index) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) throw CaseError(std::string("no NVIDIA GPU, or no driver: ") + cudaGetErrorString(status));
    if (index >= count)
        throw CaseError("--device " + std::to_string(index) + ": this machine has " + std::to_string(count) + " GPUs, counted from 0");
    check(cudaSetDevice(index), "choosing the GPU");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "reading the GPU's properties");
    return properties;
}

std::string pci_bus_id(int index) {
    std::array<char, 32> text{};
    check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index), "reading the GPU's address");
    return text.data();
}

std::string version(int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string reading(const char* title, std::optional<double> value, const char* unit) {
    return value ? std::string(title) + ": " + std::to_string(static_cast<int>(*value)) + " " + unit : std::string(title) + ": not known";
}

std::string date() {
    const std::time_t now = std::time(nullptr);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
    return text.data();
}

/// Least compute capability, as major × 10 + minor, whose instructions compute in the precision.
int least_capability(Precision p) {
    switch (p) {
        case Precision::tf32:
        case Precision::bf16:
            return 80;
        case Precision::fp8:
            return 89;
        case Precision::int8:
            return 61;
        default:
            return 60;
    }
}

}  // namespace

Device::Device(int index)
    : index_(index),
      properties_(properties_of(index)),
      nvml_(pci_bus_id(index)),
      scratch_(std::max(least_scratch, 2 * static_cast<std::size_t>(properties_.l2CacheSize))) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
    check(cudaMemset(scratch_.data(), 0, scratch_.bytes()), "clearing memory");
}

Device::~Device() {
    cudaStreamDestroy(stream_);
}

std::string Device::software() const {
    int runtime = 0;
    check(cudaRuntimeGetVersion(&runtime), "reading the runtime's version");
    const std::string driver = nvml_.driver_version();
    return (driver.empty() ? "" : "driver " + driver + " ") + "CUDA " + version(runtime);
}

std::vector<std::string> Device::description() const {
    const auto& p = properties_;
    std::array<char, 512> text{};  // a name is at most 255 characters
    std::snprintf(text.data(), text.size(), "GPU: %s, compute capability %d.%d, %d SMs, L2 %.1f MiB, memory %.1f GiB", p.name, p.major,
                  p.minor, p.multiProcessorCount, p.l2CacheSize / 1048576.0, static_cast<double>(p.totalGlobalMem) / 1073741824.0);
    return {
        "roofcast-microbench: medians of CUDA-event times of graph replays, launch cost excluded; copies and collectives of single calls",
        text.data(),
        "software: " + software(),
        reading("highest SM clock", nvml_.maximum_sm_clock_mhz(), "MHz"),
        reading("power limit", nvml_.power_limit_watts(), "W"),
        "date: " + date()};
}

void Device::require(Precision p) const {
    if (properties_.major * 10 + properties_.minor >= least_capability(p)) return;
    throw CaseError("not supported: this GPU does not compute in " + std::string(name(p)));
}

std::size_t Device::memory_for_operands() const {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "reading the free memory");
    return static_cast<std::size_t>(share_for_operands * static_cast<double>(free));
}

void Device::flush_l2() const {
    enqueue_read(scratch_.as<float>(), scratch_.bytes() / sizeof(float), nullptr, stream_);
}

void Device::hold(double seconds) const {
    enqueue_wait(seconds, stream_);
}

}  // namespace roofcast::microbench
