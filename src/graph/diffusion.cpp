// The passes of a diffusion model: its texts, its network with guidance and the update of the latent images, its autoencoder.

#include <fmt/format.h>

#include "graph/conv_graph.hpp"
#include "graph/families.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// `run` whose images are the latent ones. Throws Error unless every level of the networks halves the image evenly.
Run latent_run(const Diffusion& model, const Run& run) {
    const std::int64_t size = run.image_size > 0 ? run.image_size : model.image_size;
    if (size % model.multiple_of != 0)
        throw Error({.what = "every level halves the image",
                     .key = "image_size",
                     .found = std::to_string(size),
                     .expected = fmt::format("a multiple of {} pixels", model.multiple_of)});
    Run latent = run;
    latent.image_size = size / model.pixels_per_place;
    return latent;
}

OpGraph named_graph(const char* name, const ConvNet& net, const Run& run, const Lowering& lowering) {
    OpGraph graph = conv_graph(net, run, lowering);
    graph.name = name;
    return graph;
}

}  // namespace

OpGraph denoiser_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    return conv_graph(model.denoiser, latent_run(model, run), lowering);
}

OpGraph latent_decoder_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    return named_graph("decode_image", model.image_decoder, latent_run(model, run), lowering);
}

OpGraph latent_encoder_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    Run pixels = latent_run(model, run);
    pixels.image_size *= model.pixels_per_place;
    return named_graph("encode_image", model.image_encoder, pixels, lowering);
}

OpGraph denoising_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    Run samples = latent_run(model, run);
    if (model.guidance) samples.batch *= 2;
    OpGraph graph = named_graph("denoise", model.denoiser, samples, lowering);
    OpGraph update = conv_graph(model.scheduler, latent_run(model, run), lowering);
    for (Segment& segment : update.segments) graph.segments.push_back(std::move(segment));
    return graph;
}

OpGraph text_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    Run prompt = run;
    prompt.prompt_tokens = model.tokens;
    OpGraph graph;
    for (const Encoder& text : model.texts) {
        OpGraph one = encoder_graph(text, prompt, lowering);
        for (Segment& segment : one.segments) graph.segments.push_back(std::move(segment));
        graph.peak_activations = max(graph.peak_activations, one.peak_activations);
    }
    graph.name = "text";
    return graph;
}

}  // namespace roofcast
