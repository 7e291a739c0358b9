#include "report/profile_skeleton.hpp"

#include <fmt/format.h>

#include <cctype>

namespace roofcast {

namespace {

// Examples are of one board throughout, so that they fit each other.
constexpr const char* skeleton =
    R"(# GPU profile of roofcast. Fill in the required values, then: roofcast gpu show FILE, roofcast gpu check FILE.
# Keys that start with # are optional: remove the # to state a value. What is left out is derived and marked assumed.
# GB/s are 10^9 bytes per second. All keys: docs/reference/gpus.md.

id = "{id}"  # names the GPU in tables and commands; lower case letters, digits, hyphens
name = "{name}"

# Required. One of: {architectures}.
architecture = ""  # example: "ada"

# Required, GB. Capacity of the GPU memory.
memory_gb = 0  # example: 24

# Required, GB/s. Memory bandwidth of the data sheet.
memory_bandwidth_gbps = 0  # example: 1008

# Required, TFLOPS at boost clock. Best: fp16 tensor cores (AMD: matrix cores), dense, fp32 accumulation.
# The data sheet may head with another figure: fp16 accumulation, structured sparsity, or fp32 CUDA cores.
# roofcast compares it with known boards of the architecture, takes the reading that fits, and says which.
compute_tflops = 0  # example: 165.2

# compute_precision = "fp16"    # states the reading: dense peak in this precision, fp32 accumulation; derived: the reading that fits
# consumer = true               # GeForce: fp32 accumulation at half rate; derived: as boards that fit
# compute_capability = "8.9"    # NVIDIA; derived: as boards that fit, else the first of the architecture
# source = "data sheet, URL"    # where the values come from

# [compute]
# sm_count = 128                # SMs (AMD: compute units); derived: peak over FLOPs per SM and clock
# boost_clock_mhz = 2520        # MHz; derived: peak over FLOPs per SM and SMs
# base_clock_mhz = 2235         # MHz; derived: a fraction of the boost clock
# fp32_tflops = 82.58           # TFLOPS, CUDA cores; derived: ratios of the architecture (all peaks)
# fp16_tensor_tflops = 165.2    # TFLOPS, dense, fp32 accumulation
# fp16_tensor_fp16_accumulate_tflops = 330.3  # TFLOPS, dense; only where it is faster (GeForce)
# int8_tensor_tops = 660.6      # TOPS, dense

# [memory]
# type = "GDDR6X"               # derived: as the board that fits; sets idle power and what gpu check expects
# l2_mib = 72                   # MiB; derived: typical MiB per SM
# inline_ecc = false            # true: check bits lie among the data (data-center boards with GDDR)

# [interconnect]
# nvlink_gb_s = 900             # GB/s, both directions; left out: no NVLink, GPUs reach each other over PCIe
# pcie_generation = 4           # derived: of the architecture

# [power]
# tdp_watts = 450               # W; derived: typical W per fp32 TFLOPS
)";

}  // namespace

std::string profile_id(const std::string& name) {
    std::string id;
    for (const char c : name) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isalnum(letter) != 0)
            id += static_cast<char>(std::tolower(letter));
        else if (!id.empty() && id.back() != '-')
            id += '-';
    }
    while (!id.empty() && id.back() == '-') id.pop_back();
    return id.empty() ? "my-gpu" : id;
}

std::string profile_skeleton(const std::string& name, const std::vector<std::string>& architectures) {
    std::string quoted;
    for (const char c : name) {
        const bool control = static_cast<unsigned char>(c) < ' ' || c == 0x7f;
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += control ? ' ' : c;
    }
    return fmt::format(fmt::runtime(skeleton), fmt::arg("id", profile_id(name)), fmt::arg("name", quoted),
                       fmt::arg("architectures", fmt::join(architectures, ", ")));
}

}  // namespace roofcast
