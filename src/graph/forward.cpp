#include <algorithm>

#include "graph/conv_graph.hpp"
#include "graph/count.hpp"
#include "graph/families.hpp"

namespace roofcast {

namespace {

Count prompt_tokens(const DecoderLlm& model, const RunShape& shape) {
    return shape.prompt_tokens > 0 ? shape.prompt_tokens : default_prompt(model);
}

struct Forward {
    const RunShape& shape;
    const Lowering& lowering;

    OpGraph operator()(const DecoderLlm& model) const { return prefill_graph(model, shape, lowering, prompt_tokens(model, shape)); }
    OpGraph operator()(const Encoder& model) const { return encoder_graph(model, shape, lowering); }
    OpGraph operator()(const Vit& model) const { return vit_graph(model, shape, lowering); }
    OpGraph operator()(const Swin& model) const { return swin_graph(model, shape, lowering); }
    OpGraph operator()(const ConvNet& model) const { return conv_graph(model, shape, lowering); }
    OpGraph operator()(const Diffusion& model) const { return denoiser_graph(model, shape, lowering); }
    OpGraph operator()(const TransformerXl& model) const { return transformer_xl_graph(model, shape, lowering); }
    OpGraph operator()(const Summary& model) const { return summary_graph(model, shape, lowering); }
    OpGraph operator()(const VisionLanguage& model) const {
        OpGraph graph = vision_graph(model, shape, lowering);
        const Count tokens = prompt_tokens(model.language, shape) + image_tokens(model, shape);
        OpGraph language = prefill_graph(model.language, shape, lowering, tokens);
        for (Segment& segment : language.segments) graph.segments.push_back(std::move(segment));
        graph.name = "forward";
        graph.peak_activations = max(graph.peak_activations, language.peak_activations);
        graph.tied_weights += language.tied_weights;
        graph.tied_weight_bits = language.tied_weight_bits;
        return graph;
    }
};

}  // namespace

std::int64_t default_prompt(const DecoderLlm& model) {
    constexpr Count usual = 512;
    return model.max_context > 0 ? std::min<Count>(usual, model.max_context) : usual;
}

OpGraph forward_graph(const Workload& workload, const RunShape& shape, const Lowering& lowering) {
    return std::visit(Forward{shape, lowering}, workload.architecture);
}

}  // namespace roofcast
