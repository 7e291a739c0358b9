#pragma once
/// How a software stack bends a run: shared by single predictions and by the simulation of a serving engine.

#include "roofcast/prediction.hpp"

namespace roofcast {

/// Whether TorchScript runs what is called eager, as the model's script has it record the model.
bool is_traced(const SoftwareStacks& software, const Run& request, const Workload& workload, std::string_view vendor);

/// Whether `request`, completed, is one of those that padding was removed from before: of an encoder.
bool removes_padding(const SoftwareStack& stack, const Run& request);

/// The engine that a completed `request` names for `workload` on a GPU of `vendor` (empty: not known; engines of a vendor are not for
/// these).
const SoftwareStack& engine_of(const SoftwareStacks& software, const Run& request, const Workload& workload, std::string_view vendor);

/// The same as it runs `workload` with the script that comes with it, on a host of the request's speed and in the layout that the request
/// asks for.
SoftwareStack stack_of(const SoftwareStacks& software, const Run& request, const Workload& workload, std::string_view vendor);

/// `device` in the machine that `request` names, running `stack`.
Gpu gpu_of(const Gpu& device, const Run& request, const SoftwareStack& stack);

/// `stack` as it runs sequences of `tokens` tokens, prompt and output together. What memory they need is not asked of it: chunks need less,
/// and the longest context that fits is searched for where need only grows.
SoftwareStack for_context(SoftwareStack stack, std::int64_t tokens);

/// Fraction of the time of one stage after the other that a prompt of `tokens` tokens a sequence takes when its chunks follow each other
/// through the pipeline, above 0 and at most 1.
double pipelined_fraction(const Run& run, const SoftwareStack& stack, std::int64_t tokens);

}  // namespace roofcast
