#include "prediction/shapes.hpp"

#include "prediction/techniques.hpp"

namespace roofcast {

const VisionLanguage* vision_language(const Workload& workload) {
    return std::get_if<VisionLanguage>(&workload.architecture);
}

const DecoderLlm* language_model(const Workload& workload) {
    if (const VisionLanguage* vlm = vision_language(workload)) return &vlm->language;
    return std::get_if<DecoderLlm>(&workload.architecture);
}

std::int64_t context_tokens(const Workload& workload, const RunShape& shape) {
    const VisionLanguage* vlm = vision_language(workload);
    return shape.prompt_tokens + (vlm == nullptr ? 0 : image_tokens(*vlm, shape));
}

WeightFormat stored_weights(const Workload& workload, Precision precision) {
    const bool unpacks = precision == Precision::fp16 || precision == Precision::bf16;
    return workload.native_weights && unpacks ? *workload.native_weights : native_weights(precision);
}

std::vector<OpGraph> weight_graphs(const Workload& workload, const RunRequest& request) {
    const RunShape& shape = request.shape;
    std::vector<OpGraph> graphs;
    if (const auto* diffusion = std::get_if<Diffusion>(&workload.architecture)) {
        graphs.push_back(text_graph(*diffusion, shape));
        graphs.push_back(latent_encoder_graph(*diffusion, shape));  // part of the autoencoder, run or not
        graphs.push_back(denoising_graph(*diffusion, shape));
        graphs.push_back(latent_decoder_graph(*diffusion, shape));
        return graphs;
    }
    const DecoderLlm* llm = language_model(workload);
    if (llm == nullptr) {
        graphs.push_back(forward_graph(workload, shape));
        return graphs;
    }
    if (const VisionLanguage* vlm = vision_language(workload)) graphs.push_back(vision_graph(*vlm, shape));
    const std::int64_t context = context_tokens(workload, shape);
    const std::int64_t tokens = pass_tokens(request, *llm, context - cached_tokens(request));
    graphs.push_back(prefill_graph(*llm, shape, tokens, context - tokens));
    return graphs;
}

}  // namespace roofcast
