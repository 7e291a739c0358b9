#pragma once
/// Why a prediction is what it is: costliest operators, fusion, and where each parameter came from.

#include "document/field.hpp"
#include "roofcast/prediction.hpp"

namespace roofcast {

/// The ten costliest operator groups of a phase: time, share, terms, bound and utilization of one run.
Table costliest_operators(const Phase& phase, const GpuProfile& gpu);

/// Operators that the compiler folded away, and into what.
Table fused_operators(const Phase& phase);

/// Parameters that the kernels of the prediction's phases read, with unit and provenance.
Table used_parameters(const Prediction& prediction, const Gpu& gpu);

/// Value, unit and origin of a parameter, by its index in `parameter_specs`. `set` outlives them.
Fields<std::size_t> parameter_fields(const ParameterSet& set);

}  // namespace roofcast
