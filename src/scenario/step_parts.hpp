#pragma once
/// The passes that the time of a step is put together from; symbols as in roofcast/step_time.hpp.

#include "roofcast/step_time.hpp"

namespace roofcast {

/// D(n, c), or D'(n, c) of a step that has prompts too.
Seconds decode_step(const StepModel& m, std::int64_t sequences, std::int64_t context, bool in_prefill_kernel = false);
/// P(s, q, h), of which chunks in a pipeline overlap as in `predict`.
Seconds prompt_step(const StepModel& m, std::int64_t sequences, std::int64_t tokens, std::int64_t past);
/// V(v).
Seconds vision_step(const StepModel& m, std::int64_t sequences);
/// W(r, l).
Seconds shared_step(const StepModel& m, std::int64_t rows, std::int64_t logits);

}  // namespace roofcast
