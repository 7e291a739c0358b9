#pragma once
/// What configs of decoders have in common.

#include "roofcast/workload.hpp"
#include "workload/json_reader.hpp"

namespace roofcast::hugging_face {

/// Layers of a decoder: several times those of the deepest published one (126), so that a slip is an error.
inline constexpr std::int64_t most_layers = 1000;

/// Windowed layers by `layer_types`, where a config lists them: every n-th one full, or all alike.
void read_layer_types(const JsonReader& config, DecoderLlm& m);
/// A window of `standard` tokens where the config names none (0: off), which every `full_every`-th layer does not have (0: all have it);
/// then as `layer_types` say.
void read_window(const JsonReader& config, DecoderLlm& m, std::int64_t standard, std::int64_t full_every);
/// What Llama and its descendants share.
DecoderLlm rotary_decoder(const JsonReader& config);
/// As `rotary_decoder`, with a dense gated MLP.
DecoderLlm gated_decoder(const JsonReader& config);
/// GPT-2 style: learned positions, layer norm, biases everywhere, plain MLP.
void make_classic(DecoderLlm& m);

}  // namespace roofcast::hugging_face
