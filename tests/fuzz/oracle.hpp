#pragma once
/// What must hold of any model that loads and runs.

#include "roofcast/workload.hpp"

namespace roofcast::fuzz {

/// Predicts `workload` on one GPU with one image or sequence and with two. Figures must be finite and not negative, and two must not
/// take less time than one. Refusals by Error are in order.
void require_sound_runs(const Workload& workload);

}  // namespace roofcast::fuzz
