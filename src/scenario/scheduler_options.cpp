#include "roofcast/scheduler_options.hpp"

#include <algorithm>

namespace roofcast {

SchedulerOptions with(SchedulerOptions o, const SchedulerSettings& s) {
    o.max_sequences = s.max_sequences.value_or(o.max_sequences);
    o.max_tokens = s.max_tokens.value_or(o.max_tokens);
    o.batching = s.batching.value_or(o.batching);
    o.chunked = s.chunked.value_or(o.chunked);
    if (s.chunk) o.chunk = s.chunk;
    o.block_tokens = s.block_tokens.value_or(o.block_tokens);
    if (s.memory_fraction) o.memory_fraction = s.memory_fraction;
    o.prefix_cached = s.prefix_cached.value_or(o.prefix_cached);
    o.admission = s.admission.value_or(o.admission);
    o.poll_steps = s.poll_steps.value_or(o.poll_steps);
    o.wait_steps = s.wait_steps.value_or(o.wait_steps);
    o.wait_fraction = s.wait_fraction.value_or(o.wait_fraction);
    if (!s.max_sequences) o.max_sequences = std::min(o.max_sequences, o.max_tokens);
    if (!s.max_tokens) o.max_tokens = std::max(o.max_tokens, o.max_sequences);
    if (o.chunk) o.chunk = std::min(*o.chunk, o.max_tokens);
    return o;
}

}  // namespace roofcast
