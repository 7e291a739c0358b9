#include <algorithm>

#include "graph/conv_graph.hpp"
#include "graph/count.hpp"
#include "graph/families.hpp"
#include "graph/tensor/tensor_graph.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

Count prompt_tokens(const DecoderLlm& model, const Run& run) {
    return run.prompt_tokens > 0 ? run.prompt_tokens : default_prompt(model);
}

struct Forward {
    const Run& run;
    const Lowering& lowering;

    OpGraph operator()(const DecoderLlm& model) const { return prefill_graph(model, run, lowering, prompt_tokens(model, run)); }
    OpGraph operator()(const Encoder& model) const { return encoder_graph(model, run, lowering); }
    OpGraph operator()(const Vit& model) const { return vit_graph(model, run, lowering); }
    OpGraph operator()(const Swin& model) const { return swin_graph(model, run, lowering); }
    OpGraph operator()(const ConvNet& model) const { return conv_graph(model, run, lowering); }
    OpGraph operator()(const Diffusion& model) const { return denoiser_graph(model, run, lowering); }
    OpGraph operator()(const TransformerXl& model) const { return transformer_xl_graph(model, run, lowering); }
    OpGraph operator()(const Summary& model) const { return summary_graph(model, run, lowering); }
    OpGraph operator()(const TensorNet& net) const { return tensor_graph(net, run, lowering); }
    OpGraph operator()(const VisionLanguage& model) const {
        OpGraph graph = vision_graph(model, run, lowering);
        const Count tokens = prompt_tokens(model.language, run) + image_tokens(model, run);
        OpGraph language = prefill_graph(model.language, run, lowering, tokens);
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

OpGraph forward_graph(const Workload& workload, const Run& run, const Lowering& lowering) {
    try {
        return std::visit(Forward{run, lowering}, workload.architecture);
    } catch (const Error& e) {
        ErrorDetail detail = e.detail();
        // Layers of other models do not contradict each other; what their graphs refuse is a run.
        const bool of_layers = std::holds_alternative<ConvNet>(workload.architecture) && detail.key != "image_size";
        if (!detail.file.empty() || !of_layers) throw;
        detail.file = workload.file;
        throw Error(std::move(detail));
    }
}

}  // namespace roofcast
