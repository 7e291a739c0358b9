// What a diffusion model runs around its network: texts, guidance, the update of the latent images.

#include <fmt/format.h>

#include <algorithm>

#include "graph/diffusion_blocks.hpp"
#include "graph/families.hpp"
#include "graph/latent.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

Run latent_run(const Diffusion& model, const Run& run) {
    const Count size = run.image_size > 0 ? run.image_size : model.image_size, factor = model.autoencoder.factor();
    const Count multiple = factor << (model.denoiser.channels.size() - 1);
    if (size % multiple != 0)
        throw Error({.what = "every level halves the image",
                     .key = "image_size",
                     .found = std::to_string(size),
                     .expected = fmt::format("a multiple of {} pixels", multiple)});
    Run latent = run;
    latent.image_size = size / factor;
    return latent;
}

OpGraph denoising_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    Run samples = run;
    if (model.guidance) samples.batch *= 2;
    OpGraph graph = denoiser_graph(model, samples, lowering);
    // The two halves under guidance are joined and distinguished, and the scheduler moves the latent images one step.
    constexpr double kernels = 12, flops = 3;
    const Run latent = latent_run(model, run);
    const ConvNet net = latent_net(model.autoencoder.latent_channels, latent.image_size);
    ConvBuilder b(net, latent, lowering);
    b.segment("update");
    b.pointwise_kernels("update", b.image(), kernels, flops);
    OpGraph update = std::move(b).finish();
    graph.segments.push_back(std::move(update.segments.front()));
    graph.name = "denoise";
    return graph;
}

OpGraph text_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    Run prompt = run;
    prompt.prompt_tokens = model.denoiser.tokens;
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
