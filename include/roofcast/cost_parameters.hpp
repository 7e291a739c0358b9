#pragma once
/// What the cost model may tune: efficiencies and latencies, each with a meaning, a unit and physical bounds.
///
/// Peaks, bandwidths and sizes are facts of the GPU profile and are never in here. Every member is declared once more in
/// `parameter_specs()` (src/profile/cost_parameters.cpp), which is what the loaders and the calibrator iterate over.

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "roofcast/precision.hpp"
#include "roofcast/units.hpp"

namespace roofcast {

/// Of dense matrix products on one class of arithmetic unit. See docs/model.md, GEMM.
struct GemmParameters {
    double peak_fraction = 0.9;         ///< of the data-sheet peak that an infinitely large tile reaches
    double tile_half = 1500;            ///< outputs of a tile at which it reaches half of that
    double bandwidth_fraction = 0.85;   ///< of DRAM bandwidth, with all SMs busy
    double l2_bytes_per_sm_clock = 48;  ///< L2 to SM, bytes per SM and boost clock
    double fill = 3;                    ///< how fast DRAM bandwidth saturates as blocks fill the SMs
    double tail = 0.3;                  ///< 0: a partial wave costs a whole one; 1: it costs its share
    double overlap = 0.8;               ///< share of the non-bounding terms that the bounding one hides
    Seconds fixed = 2 * us;             ///< kernel start, prologue and drain
    Seconds k_step = 2 * ns;            ///< latency of a k step of 32 that nothing hides, first wave
    Seconds epilogue = 200 * ns;        ///< per wave, for a 128x128 tile
    Seconds split_k = 2 * us;           ///< extra reduction when k is split
    double misaligned = 0.1;            ///< loss of peak when n or k is not a multiple of 16 bytes
    double l2_residency = 0.5;          ///< share of an L2-sized working set that is found there when warm
};

/// Everything the kernel models may tune, for one GPU or one architecture.
struct CostParameters {
    std::array<GemmParameters, math_unit_count> gemm{};
};

/// How the solver sees a parameter.
enum class Transform { linear, log };

/// Where a parameter's value came from; in order of increasing trust.
enum class Provenance { assumed, cited, architecture_fit, gpu_fit };
std::string_view name(Provenance p);

/// Declaration of one parameter: name as in the TOML files ("gemm.tensor16.peak_fraction"), unit and bounds in that unit.
struct ParameterSpec {
    std::string name;
    std::string unit;             ///< "1", "us", "ns", "pJ/FLOP", …
    double scale = 1;             ///< base units per `unit`
    double lower = 0, upper = 1;  ///< in `unit`, from physics
    Transform transform = Transform::linear;
    std::string meaning;                           ///< one sentence
    std::function<double&(CostParameters&)> slot;  ///< the member, in base units

    [[nodiscard]] double get(const CostParameters& p) const { return slot(const_cast<CostParameters&>(p)) / scale; }
    void set(CostParameters& p, double in_unit) const { slot(p) = in_unit * scale; }
};

/// All parameters, in the order of the TOML files; the index of a spec identifies the parameter everywhere.
const std::vector<ParameterSpec>& parameter_specs();

/// Index of the parameter called `name`; throws Error with the nearest names when there is none.
std::size_t parameter_index(std::string_view name);

/// Values of all parameters with where each came from.
struct ParameterSet {
    CostParameters values;
    std::vector<Provenance> provenance;  ///< by spec index
    std::vector<std::string> source;     ///< by spec index: citation, file or "assumed: reason"
};

}  // namespace roofcast
