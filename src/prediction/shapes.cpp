#include "prediction/shapes.hpp"

#include <fmt/format.h>

#include <cmath>

#include "prediction/techniques.hpp"
#include "roofcast/decoder_figures.hpp"
#include "roofcast/error.hpp"
#include "workload/weight_mix.hpp"

namespace roofcast {

const VisionLanguage* vision_language(const Workload& workload) {
    return std::get_if<VisionLanguage>(&workload.architecture);
}

const DecoderLlm* language_model(const Workload& workload) {
    if (const VisionLanguage* vlm = vision_language(workload)) return &vlm->language;
    return std::get_if<DecoderLlm>(&workload.architecture);
}

bool is_convolutional(const Workload& workload) {
    const bool net = std::holds_alternative<TensorNet>(workload.architecture) && workload.family == "cnn";
    return net || std::holds_alternative<ConvNet>(workload.architecture);
}

std::int64_t context_tokens(const Workload& workload, const Run& run) {
    const VisionLanguage* vlm = vision_language(workload);
    return run.prompt_tokens + (vlm == nullptr ? 0 : image_tokens(*vlm, run));
}

bool unpacks_weights(Precision precision) {
    return precision == Precision::fp16 || precision == Precision::bf16;
}

WeightFormat stored_weights(const Workload& workload, Precision precision) {
    return workload.native_weights && is_as_published(workload, precision) ? *workload.native_weights : native_weights(precision);
}

WeightFormat stored_by_tensor(WeightFormat format, const Workload& workload) {
    const DecoderLlm* llm = language_model(workload);
    if (format.mixed && llm != nullptr) format.tensors = mixed_tensors(format.label, *llm);
    return format;
}

bool is_as_published(const Workload& workload, Precision precision) {
    return unpacks_weights(precision) || (workload.native_weights && workload.native_weights->precision == precision);
}

namespace {

/// A note where the tensors of the model's file are not those of its architecture.
void add_totals_note(std::vector<std::string>& notes, const Workload& workload) {
    const auto* llm = std::get_if<DecoderLlm>(&workload.architecture);
    if (!workload.totals || llm == nullptr) return;
    constexpr double most_apart = 0.01;
    const DecoderParameters own = decoder_parameters(*llm);
    const auto far = [](double found, double expected) { return std::abs(found / expected - 1) > most_apart; };
    const double held = workload.totals->parameters;
    if (held > 0) {
        if (far(held, own.all) && far(held, own.all + own.prediction))
            notes.push_back(fmt::format(
                "the file has {:.4g} billion parameters, and the network that it describes {:.4g}: times are those of the latter",
                held / 1e9, own.all / 1e9));
        return;
    }
    Run published{.precision = workload.default_precision};
    published.weights = stored_weights(workload, published.precision);
    if (is_as_published(workload, published.precision)) published.expert_weights = workload.native_experts;
    const Bytes own_bytes = weight_size(prefill_graph(*llm, published, Lowering{}, 1));
    const Bytes ahead = own.prediction / own.all * own_bytes;
    const double file_gb = workload.totals->bytes.in(gb);
    if (far(file_gb, own_bytes.in(gb)) && far(file_gb, (own_bytes + ahead).in(gb)))
        notes.push_back(
            fmt::format("the index says {:.4g} GB, and the network in config.json has {:.4g} GB of weights", file_gb, own_bytes.in(gb)));
}

}  // namespace

std::vector<std::string> checkpoint_notes(const Workload& workload, const Run& run) {
    std::vector<std::string> notes = workload.notes;
    add_totals_note(notes, workload);
    if (const auto& stored = workload.native_weights; run.weights && stored && stored->tensors && workload.totals) {
        const double gigabytes = workload.totals->bytes.in(gb);
        const std::string mean =
            fmt::format("{}, {:.4g} bits a weight", name(*stored), 8 * workload.totals->bytes.in(byte) / workload.totals->parameters);
        if (*run.weights == *stored)
            notes.push_back(fmt::format("weights are stored as in {}: {}, {:.4g} GB", workload.file, mean, gigabytes));
        else if (name(*run.weights) != name(*stored))
            notes.push_back(
                fmt::format("{} stores weights in {}; the prediction assumes {} instead", workload.file, mean, name(*run.weights)));
    }
    if (run.expert_weights)
        notes.push_back(fmt::format("routed experts are stored as {} ({:.4g} bits a weight), as in the published checkpoint",
                                    name(*run.expert_weights), run.expert_weights->bits));
    if (workload.native_cache && run.kv_precision == workload.native_cache)
        notes.push_back(fmt::format("the KV cache is stored in {}; the checkpoint includes its scales", name(*workload.native_cache)));
    return notes;
}

std::vector<OpGraph> weight_graphs(const Workload& workload, const Run& run, const SoftwareStack& stack) {
    const Lowering& lowering = stack.lowering;
    std::vector<OpGraph> graphs;
    if (const auto* diffusion = std::get_if<Diffusion>(&workload.architecture)) {
        graphs.push_back(text_graph(*diffusion, run, lowering));
        graphs.push_back(latent_encoder_graph(*diffusion, run, lowering));  // part of the autoencoder, run or not
        graphs.push_back(denoising_graph(*diffusion, run, lowering));
        graphs.push_back(latent_decoder_graph(*diffusion, run, lowering));
        return graphs;
    }
    const DecoderLlm* llm = language_model(workload);
    if (llm == nullptr) {
        graphs.push_back(forward_graph(workload, run, lowering));
        return graphs;
    }
    if (const VisionLanguage* vlm = vision_language(workload)) graphs.push_back(vision_graph(*vlm, run, lowering));
    const std::int64_t context = context_tokens(workload, run);
    const std::int64_t tokens = pass_tokens(run, stack, *llm, context - cached_tokens(run));
    graphs.push_back(prefill_graph(*llm, run, lowering, tokens, context - tokens));
    return graphs;
}

void refuse_useless(const GivenSettings& given, const Workload& workload) {
    const auto refuse = [&workload](bool is_given, const char* field, const char* why) {
        if (is_given) throw Error({.what = fmt::format("{} {}", workload.id, why), .key = field, .suggestion = "leave it out"});
    };
    const Architecture& a = workload.architecture;
    const auto* vlm = std::get_if<VisionLanguage>(&a);
    const bool language = vlm != nullptr || std::holds_alternative<DecoderLlm>(a), diffusion = std::holds_alternative<Diffusion>(a);
    const bool encoder = std::holds_alternative<Encoder>(a) || std::holds_alternative<TransformerXl>(a);
    refuse(given.prompt && diffusion, "prompt_tokens", "reads texts of a fixed length");
    const bool net = std::holds_alternative<TensorNet>(a);
    refuse(given.dimensions && !net, "dimensions", "has no symbolic dimensions: only ONNX nets do");
    refuse(given.prompt && !language && !encoder && !net, "prompt_tokens", "takes no text");
    refuse(given.generate && !language, "generate_tokens", "generates no text");
    refuse(given.kv_precision && !language, "kv_precision", "has no KV cache");
    const bool text = std::holds_alternative<DecoderLlm>(a) || encoder;
    refuse(given.image_size && text, "image_size", "takes no images");
    refuse(given.layout && text, "channels_last", "takes no images");
    refuse(given.layout && net && !is_convolutional(workload), "channels_last", "has no convolutions");
    const bool totals = std::holds_alternative<Summary>(a);
    refuse(given.image_size && totals, "image_size", "is known by published totals of one image size only");
    refuse(given.layout && totals, "channels_last", "is known by published totals only");
    refuse(given.image_size && vlm != nullptr && vlm->tiles > 1, "image_size", "takes images in tiles of a fixed size");
    refuse(given.steps && !diffusion, "steps", "is not a diffusion model");
    refuse(given.images && vlm == nullptr, "images", "is not a vision-language model; `batch` sets images at once");
}

}  // namespace roofcast
