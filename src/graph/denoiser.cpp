// The denoising UNet of latent diffusion, and its ControlNet. Rombach et al. (2022); Zhang et al., Adding Conditional Control to
// Text-to-Image Diffusion Models (2023); layers as the diffusers library runs them.

#include "graph/diffusion_blocks.hpp"
#include "graph/families.hpp"
#include "graph/latent.hpp"

namespace roofcast {

namespace {

/// Appends the network to a builder.
class Network {
public:
    Network(const Diffusion& model, const Run& run, const Lowering& lowering)
        : model_(model),
          denoiser_(model.denoiser),
          run_(latent_run(model, run)),
          net_(latent_net(denoiser_.input_channels, run_.image_size)),
          builder_(net_, run_, lowering) {}

    OpGraph run() && {
        if (denoiser_.control) control();
        embed_time();
        Map x = way_down(first_conv());
        x = middle(x);
        if (denoiser_.control) add_control(x);
        way_up(x);
        return std::move(builder_).finish();
    }

private:
    [[nodiscard]] std::size_t levels() const { return denoiser_.channels.size(); }
    [[nodiscard]] Count time_width() const { return 4 * denoiser_.channels.front(); }

    /// Sines and cosines of the time, and two GEMMs; other conditions likewise.
    void embed_time() {
        builder_.segment("time");
        constexpr double kernels = 8;  // frequencies, GEMMs, sine, cosine, joined and cast
        const Count waves = denoiser_.channels.front();
        builder_.pointwise_kernels("sines", {.channels = waves, .height = 1, .width = 1}, kernels, kernels);
        embed(waves);
        if (denoiser_.conditions == 0) return;
        embed(denoiser_.conditions);
        builder_.add({.channels = time_width(), .height = 1, .width = 1});
    }

    void embed(Count width) {
        builder_.linear(1, width, time_width());
        builder_.activate({.channels = time_width(), .height = 1, .width = 1}, Activation::silu);
        builder_.linear(1, time_width(), time_width());
    }

    Map first_conv() {
        builder_.segment("first_conv");
        return plain_conv(builder_, {.channels = denoiser_.input_channels, .height = run_.image_size, .width = run_.image_size},
                          denoiser_.channels.front());
    }

    Map transformer(const Map& x, std::size_t level, Count layers) {
        const SpatialTransformer block{.layers = layers,
                                       .heads = denoiser_.heads[level],
                                       .tokens = denoiser_.tokens,
                                       .context = denoiser_.context,
                                       .linear_projections = denoiser_.linear_projections};
        return layers > 0 ? block(builder_, x) : x;
    }

    void skip(Map x) {
        builder_.keep(x);
        skips_.push_back(x);
    }

    Map way_down(Map x) {
        skip(x);
        for (std::size_t level = 0; level < levels(); ++level) {
            for (Count i = 0; i < denoiser_.blocks; ++i) {
                x = residual_block(builder_, skips_.back(), denoiser_.channels[level], time_width());
                x = transformer(x, level, denoiser_.transformers[level]);
                skip(x);
            }
            if (level + 1 == levels()) break;
            builder_.segment("downsample");
            skip(plain_conv(builder_, skips_.back(), denoiser_.channels[level], 2));
        }
        return skips_.back();
    }

    /// As many layers as in the deepest transformer before it.
    Map middle(const Map& in) {
        const Count channels = denoiser_.channels.back();
        Count layers = 0;
        for (const Count count : denoiser_.transformers) layers = count > 0 ? count : layers;
        Map x = residual_block(builder_, in, channels, time_width());
        x = transformer(x, levels() - 1, layers);
        return residual_block(builder_, x, channels, time_width());
    }

    void way_up(Map x) {
        for (std::size_t level = levels(); level-- > 0;) {
            for (Count i = 0; i <= denoiser_.blocks; ++i) {
                builder_.segment("join");
                const Map joined = builder_.concat({x, skips_.back()});
                builder_.release(skips_.back());
                skips_.pop_back();
                x = residual_block(builder_, joined, denoiser_.channels[level], time_width());
                x = transformer(x, level, denoiser_.transformers[level]);
            }
            if (level > 0) x = upsampled(builder_, x);
        }
        builder_.segment("last_conv");
        const Map y = builder_.group_norm(x, norm_groups);
        builder_.activate(y, Activation::silu);
        plain_conv(builder_, y, model_.autoencoder.latent_channels);
    }

    /// The image that guides becomes a map of the latent size by strided convolutions.
    Map conditioning() {
        constexpr Count widths[] = {16, 32, 96, 256};
        const Count size = run_.image_size * model_.autoencoder.factor();
        builder_.segment("conditioning");
        const auto unit = [&](const Map& x, Count channels, Count stride) {
            const Map y = plain_conv(builder_, x, channels, stride);
            builder_.activate(y, Activation::silu);
            return y;
        };
        Map x = unit({.channels = 3, .height = size, .width = size}, widths[0], 1);
        for (std::size_t i = 0; i + 1 < std::size(widths); ++i) x = unit(unit(x, widths[i], 1), widths[i + 1], 2);
        return plain_conv(builder_, x, denoiser_.channels.front());
    }

    /// A copy of the way down and the middle, each of whose maps leaves through a 1×1 convolution and a factor.
    void control() {
        const Map guide = conditioning();
        embed_time();
        const Map x = first_conv();
        builder_.add(guide);
        const Map deepest = middle(way_down(x));
        builder_.segment("control");
        for (Map& map : skips_) {
            leave(map);
            controls_.push_back(map);
        }
        leave(deepest);
        skips_.clear();
    }

    void leave(const Map& map) {
        const Map y = builder_.conv(map, {.channels = map.channels, .bias = true, .norm = ConvNorm::none});
        builder_.pointwise("strength", y, 1, 1, Fusion::epilogue);
    }

    void add_control(const Map& deepest) {
        builder_.segment("add_control");
        for (Map& map : controls_) {
            builder_.add(map);
            builder_.release(map);
        }
        builder_.add(deepest);
    }

    const Diffusion& model_;
    const Denoiser& denoiser_;
    Run run_;
    ConvNet net_;
    ConvBuilder builder_;
    std::vector<Map> skips_, controls_;
};

}  // namespace

OpGraph denoiser_graph(const Diffusion& model, const Run& run, const Lowering& lowering) {
    return Network(model, run, lowering).run();
}

}  // namespace roofcast
