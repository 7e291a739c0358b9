#pragma once
/// Clock, power and temperature from the driver's management library, whose header is not in every toolkit.

#include <optional>
#include <string>

#include "gpu/library.hpp"

namespace roofcast::microbench {

class Nvml {
public:
    /// Without the library, or for a device that it does not know, every reading is empty.
    explicit Nvml(const std::string& pci_bus_id);
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;
    ~Nvml();

    [[nodiscard]] std::optional<double> sm_clock_mhz() const { return clock(clock_info_); }
    [[nodiscard]] std::optional<double> maximum_sm_clock_mhz() const { return clock(max_clock_info_); }
    [[nodiscard]] std::optional<double> power_watts() const { return milliwatts(power_usage_); }
    [[nodiscard]] std::optional<double> power_limit_watts() const { return milliwatts(power_limit_); }
    [[nodiscard]] std::optional<double> temperature_celsius() const;
    [[nodiscard]] std::string driver_version() const;  ///< empty when not known

private:
    using Device = void*;
    using ReadClock = int (*)(Device, int type, unsigned* mhz);
    using ReadUnsigned = int (*)(Device, unsigned* value);
    [[nodiscard]] std::optional<double> clock(ReadClock read) const;
    [[nodiscard]] std::optional<double> milliwatts(ReadUnsigned read) const;

    Library library_;
    Device device_ = nullptr;
    ReadClock clock_info_ = nullptr, max_clock_info_ = nullptr;
    ReadUnsigned power_usage_ = nullptr, power_limit_ = nullptr;
    int (*temperature_)(Device, int sensor, unsigned* celsius) = nullptr;
    int (*driver_)(char* text, unsigned length) = nullptr;
    int (*shutdown_)() = nullptr;
};

}  // namespace roofcast::microbench
