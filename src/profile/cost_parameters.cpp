#include "roofcast/cost_parameters.hpp"

#include <fmt/format.h>

#include "roofcast/error.hpp"

namespace roofcast {

namespace {

using GemmSlot = double& (*)(GemmParameters&);

struct GemmSpec {
    const char *name, *unit;
    double scale, lower, upper;
    Transform transform;
    const char* meaning;
    GemmSlot slot;
};

const GemmSpec gemm_specs[] = {
    {"peak_fraction", "1", 1, 0.05, 1, Transform::linear, "share of the peak that an infinitely large tile reaches",
     [](GemmParameters& p) -> double& { return p.peak_fraction; }},
    {"tile_half", "1", 1, 1, 1e5, Transform::log, "outputs of a tile at which it reaches half of that",
     [](GemmParameters& p) -> double& { return p.tile_half; }},
    {"bandwidth_fraction", "1", 1, 0.1, 1, Transform::linear, "share of DRAM bandwidth reached with all SMs busy",
     [](GemmParameters& p) -> double& { return p.bandwidth_fraction; }},
    {"fixed", "us", 1e-6, 0.1, 50, Transform::log, "kernel start, prologue and drain",
     [](GemmParameters& p) -> double& { return p.fixed.value; }},
};

}  // namespace

std::string_view name(Provenance p) {
    constexpr std::array<std::string_view, 4> names{"assumed", "cited", "architecture_fit", "gpu_fit"};
    return names[static_cast<std::size_t>(p)];
}

const std::vector<ParameterSpec>& parameter_specs() {
    static const std::vector<ParameterSpec> specs = [] {
        std::vector<ParameterSpec> all;
        for (std::size_t u = 0; u < math_unit_count; ++u) {
            for (const GemmSpec& g : gemm_specs) {
                all.push_back({fmt::format("gemm.{}.{}", name(static_cast<MathUnit>(u)), g.name), g.unit, g.scale, g.lower, g.upper,
                               g.transform, g.meaning, [u, slot = g.slot](CostParameters& p) -> double& { return slot(p.gemm[u]); }});
            }
        }
        return all;
    }();
    return specs;
}

std::size_t parameter_index(std::string_view wanted) {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < parameter_specs().size(); ++i) {
        if (parameter_specs()[i].name == wanted) return i;
        known.push_back(parameter_specs()[i].name);
    }
    throw Error({.what = "unknown parameter", .found = std::string(wanted), .suggestion = did_you_mean(wanted, known)});
}

}  // namespace roofcast
