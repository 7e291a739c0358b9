#pragma once
/// The command line.

#include <string>
#include <string_view>
#include <vector>

#include "host/plan.hpp"

namespace roofcast::microbench {

struct Options {
    Selection selection;
    std::string output = "microbench.csv";
    std::string device_output;  ///< empty: `output` with .device.csv for .csv
    std::string shapes;         ///< measurement file whose GEMMs are measured in place of the designed cases; empty: none
    std::string gpu;            ///< id to write; empty: the device's name as the driver gives it
    int device = 0;
    bool list = false, resume = false, help = false;

    [[nodiscard]] std::string device_file() const;
};

/// Throws UsageError with a message a user can act on.
Options parse_options(const std::vector<std::string>& arguments);

std::string_view help_text();

struct UsageError {
    std::string message;
};

}  // namespace roofcast::microbench
