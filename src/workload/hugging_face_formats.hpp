#pragma once
/// How a published checkpoint stores weights and cache, from its config's `quantization_config` and ModelOpt's `hf_quant`.

#include <string_view>

#include "roofcast/workload.hpp"
#include "workload/json_reader.hpp"

namespace roofcast::hugging_face {

/// How notes begin about what `quantization_config` leaves open of formats, and a checkpoint's tensors say.
inline constexpr std::string_view open_formats = "quant_algo ";

/// Sets `native_weights`, `native_experts`, `native_cache`, and a note where the config does not say which layers are stored how.
/// Throws Error that names the method, or the part of it, which is not understood.
void read_formats(const JsonReader& config, Workload& workload);

}  // namespace roofcast::hugging_face
