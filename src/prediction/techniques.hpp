#pragma once
/// What techniques are allowed for a run, and what they do to its sizes.

#include <string>
#include <vector>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// Throws Error for values out of range, and for techniques that `workload` has no use for.
void check_techniques(const Run& request, const Workload& workload);

/// `fraction` of `tokens`, rounded down but for the rounding of the product itself.
std::int64_t share_of(double fraction, std::int64_t tokens);

/// Tokens of a sequence's prompt that are cached before the run: a fraction of the text, rounded down; at least one is left.
std::int64_t cached_tokens(const Run& request);

/// Tokens of all sequences in one pass of `llm`'s prefill where the engine cuts prompts; 0: it does not, or the user says how.
std::int64_t prefill_budget(const Run& request, const SoftwareStack& stack, const DecoderLlm& llm);

/// Tokens of a sequence in one pass of `llm`'s prefill, of `fresh` in all: as asked, else as the engine cuts prompts.
std::int64_t pass_tokens(const Run& request, const SoftwareStack& stack, const DecoderLlm& llm, std::int64_t fresh);

/// Tokens of cache that a sequence of `tokens` takes: whole blocks.
std::int64_t paged_tokens(const Run& request, std::int64_t tokens);

/// What a reader should know of the techniques of `p`: equations and assumptions.
std::vector<std::string> technique_notes(const Prediction& p, const Workload& workload);

}  // namespace roofcast
