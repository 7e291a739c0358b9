#pragma once
/// What configs of decoders have in common.

#include "roofcast/workload.hpp"
#include "workload/json_reader.hpp"

namespace roofcast::hugging_face {

/// Windowed layers by `layer_types`, where a config lists them: every n-th one full, or all alike.
void read_layer_types(const JsonReader& config, DecoderLlm& m);
/// What Llama and its descendants share.
DecoderLlm rotary_decoder(const JsonReader& config);
/// As `rotary_decoder`, with a dense gated MLP.
DecoderLlm gated_decoder(const JsonReader& config);
/// GPT-2 style: learned positions, layer norm, biases everywhere, plain MLP.
void make_classic(DecoderLlm& m);

}  // namespace roofcast::hugging_face
