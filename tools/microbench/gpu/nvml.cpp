#include "gpu/nvml.hpp"

#include <array>

namespace roofcast::microbench {

namespace {

constexpr int success = 0, sm_clock = 1, gpu_sensor = 0;  // NVML_SUCCESS, NVML_CLOCK_SM, NVML_TEMPERATURE_GPU

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) : library_({"libnvidia-ml.so.1"}) {
    if (!library_.open()) return;
    int (*init)() = nullptr;
    int (*by_pci)(const char*, Device*) = nullptr;
    library_.find("nvmlInit_v2", init);
    library_.find("nvmlDeviceGetHandleByPciBusId_v2", by_pci);
    library_.find("nvmlDeviceGetClockInfo", clock_info_);
    library_.find("nvmlDeviceGetMaxClockInfo", max_clock_info_);
    library_.find("nvmlDeviceGetPowerUsage", power_usage_);
    library_.find("nvmlDeviceGetPowerManagementLimit", power_limit_);
    library_.find("nvmlDeviceGetTemperature", temperature_);
    library_.find("nvmlSystemGetDriverVersion", driver_);
    if (init() != success) return;
    library_.find("nvmlShutdown", shutdown_);
    if (by_pci(pci_bus_id.c_str(), &device_) != success) device_ = nullptr;
}

Nvml::~Nvml() {
    if (shutdown_ != nullptr) shutdown_();
}

std::optional<double> Nvml::clock(ReadClock read) const {
    unsigned mhz = 0;
    if (device_ == nullptr || read(device_, sm_clock, &mhz) != success) return std::nullopt;
    return mhz;
}

std::optional<double> Nvml::milliwatts(ReadUnsigned read) const {
    unsigned value = 0;
    if (device_ == nullptr || read(device_, &value) != success) return std::nullopt;
    return value / 1000.0;
}

std::optional<double> Nvml::temperature_celsius() const {
    unsigned celsius = 0;
    if (device_ == nullptr || temperature_(device_, gpu_sensor, &celsius) != success) return std::nullopt;
    return celsius;
}

std::string Nvml::driver_version() const {
    std::array<char, 80> text{};
    if (shutdown_ == nullptr || driver_(text.data(), static_cast<unsigned>(text.size())) != success) return {};
    return text.data();
}

}  // namespace roofcast::microbench
