#pragma once
/// Which graphs a workload runs, by family.

#include <vector>

#include "roofcast/prediction.hpp"

namespace roofcast {

/// The decoder of an LLM or a VLM; nullptr for other families.
const DecoderLlm* language_model(const Workload& workload);
/// The whole of a VLM; nullptr for other families.
const VisionLanguage* vision_language(const Workload& workload);

/// Whether it is made of convolutions, which have no weight-only formats.
bool is_convolutional(const Workload& workload);

/// Tokens in the cache of one sequence before the first is generated: prompt and images.
std::int64_t context_tokens(const Workload& workload, const Run& run);

/// What a user gave of a run, whatever its value.
struct GivenSettings {
    bool prompt = false, generate = false, kv_precision = false, image_size = false, layout = false, steps = false, images = false,
         dimensions = false;
};

/// Throws Error, which names the field, for settings that would change nothing: a user who gives one expects that it does.
void refuse_useless(const GivenSettings& given, const Workload& workload);

/// Whether runs in `precision` unpack weights that are stored in fewer bits.
bool unpacks_weights(Precision precision);

/// Whether runs in `precision` take a quantized checkpoint as it is: they unpack its weights, or multiply them as they are stored.
bool is_as_published(const Workload& workload, Precision precision);

/// How weights are stored when the user does not say: as the checkpoint is published when it is quantized and runs can take it so.
WeightFormat stored_weights(const Workload& workload, Precision precision);

/// `format`, of a mix with how `workload` is stored tensor by tensor.
WeightFormat stored_by_tensor(WeightFormat format, const Workload& workload);

/// What the model's file left open, and how its checkpoint is stored where a run takes that over.
std::vector<std::string> checkpoint_notes(const Workload& workload, const Run& run);

/// Graphs that together hold every weight once, at the run's largest activations.
std::vector<OpGraph> weight_graphs(const Workload& workload, const Run& run, const SoftwareStack& stack);

}  // namespace roofcast
