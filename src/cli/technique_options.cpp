#include "cli/technique_options.hpp"

namespace roofcast::cli {

void add_technique_options(CLI::App& command, TechniqueSettings& o) {
    command.add_option("--cached-prefix", o.cached_prefix, "Fraction of the prompt that the KV cache already holds, below 1 (default: 0)");
    command.add_option("--prefill-chunk", o.prefill_chunk, "Prompt tokens of a sequence in one prefill pass (default: the whole prompt)");
    command.add_option("--kv-block", o.kv_block, "Tokens in one block of the paged KV cache (default: 1)");
    command.add_option("--offload", o.offload,
                       "Fraction of each layer's weights that stays in CPU memory and is streamed in each pass (default: 0)");
    command.add_option("--draft", o.draft, "Draft model of speculative decoding. Needs --draft-tokens and --acceptance");
    command.add_option("--draft-tokens", o.draft_tokens, "Tokens that the draft model proposes in each iteration");
    command.add_option("--mtp", o.mtp, "Tokens that the model's own multi-token prediction module proposes. Needs --acceptance");
    command.add_option("--acceptance", o.acceptance,
                       "Fraction of the proposed tokens that are accepted, from 0 to 1 (DeepSeek-V3's module: 0.85 to 0.90)");
}

}  // namespace roofcast::cli
