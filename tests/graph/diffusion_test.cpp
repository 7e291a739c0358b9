#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "support/compare.hpp"
#include "support/nodes.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::operators;
using roofcast::test::rel;

namespace {

Workload shipped_diffusion(std::string_view id) {
    return find_workload(test::models_dir(), id);
}

Diffusion model(std::string_view id) {
    return std::get<Diffusion>(shipped_diffusion(id).architecture);
}

}  // namespace

TEST_CASE("the parts of Stable Diffusion 1.5 have the parameters of its checkpoint") {
    // Safetensors files: UNet 859,520,964; text encoder 123,060,480; autoencoder 83,653,863, of which 34,163,664 encode.
    const Diffusion sd = model("sd-1.5-txt2img");
    CHECK(total_parameters(forward_graph(shipped_diffusion("sd-1.5-txt2img"), Run{}, {})) == 859520964);
    CHECK(total_parameters(text_graph(sd, Run{}, {})) == 123060480);
    CHECK(total_parameters(latent_encoder_graph(sd, Run{}, {})) == 34163664);
    CHECK(total_parameters(latent_decoder_graph(sd, Run{}, {})) == 83653863 - 34163664);
}

TEST_CASE("the first level of Stable Diffusion attends among 64x64 places with eight heads of 40, and to 77 tokens") {
    const auto attention = operators<Attention>(forward_graph(shipped_diffusion("sd-1.5-txt2img"), Run{.batch = 3}, {}));
    REQUIRE(attention.size() > 2);
    CHECK(attention[0].batch == 3);
    CHECK(attention[0].heads == 8);
    CHECK(attention[0].head_dim == 40);
    CHECK(attention[0].query_len == 64 * 64);
    CHECK(attention[0].kv_len == 64 * 64);
    CHECK(attention[1].kv_len == 77);
}

TEST_CASE("a UNet whose channels were masks too reads nine of them") {
    const auto first = operators<Conv2d>(forward_graph(shipped_diffusion("sd-1.5-inpaint"), Run{}, {})).front();
    CHECK(first.in_channels == 9);
    CHECK(first.out_channels == 320);
}

TEST_CASE("guidance runs the network twice an image") {
    Diffusion guided = model("sd-1.5-txt2img"), plain = guided;
    plain.guidance = false;
    // The update of the latent images has no GEMMs.
    CHECK(total_macs(denoising_graph(guided, Run{.batch = 2}, {})) ==
          rel(2 * total_macs(denoising_graph(plain, Run{.batch = 2}, {})), 1e-9));
}

TEST_CASE("a ControlNet adds its copy of the way down and the middle, some 40 % of a step's GEMMs") {
    // 361,279,120 parameters in its safetensors file.
    const OpGraph both = forward_graph(shipped_diffusion("sd-1.5-controlnet"), Run{}, {}),
                  alone = forward_graph(shipped_diffusion("sd-1.5-txt2img"), Run{}, {});
    CHECK(total_parameters(both) - total_parameters(alone) == 361279120);
    CHECK(total_macs(both) / total_macs(alone) > 1.3);
    CHECK(total_macs(both) / total_macs(alone) < 1.5);
}

TEST_CASE("group norms of a denoising network read planes in 32 groups an image, which convolutions in channels last copy back") {
    const OpGraph graph = forward_graph(shipped_diffusion("sd-1.5-txt2img"), Run{.batch = 3}, {.channels_last = true});
    std::vector<OpNode> block;
    for (const Segment& segment : graph.segments) {
        if (segment.name == "residual_block" && block.empty()) block = segment.nodes;
    }
    REQUIRE(block.size() > 4);
    // 320 channels of 64x64 places in 32 groups.
    CHECK(block[0].name == "to_planes");
    const auto norm = std::get<RowWise>(block[1].op);
    CHECK(norm.rows == 3 * 32);
    CHECK(norm.cols == 10 * 64 * 64);
    CHECK(block[1].weights == 2 * 320);
    CHECK(block[2].name == "silu");
    CHECK(block[3].name == "to_channels_last");
    CHECK(std::holds_alternative<Conv2d>(block[4].op));
}

TEST_CASE("twice the side is four times the places, and sixteen times the scores") {
    const Workload sd = shipped_diffusion("sd-1.5-txt2img");
    const auto small = operators<Attention>(forward_graph(sd, Run{}, {})),
               large = operators<Attention>(forward_graph(sd, Run{.image_size = 1024}, {}));
    REQUIRE(small.size() == large.size());
    CHECK(op_macs(large[0]) == rel(16 * op_macs(small[0]), 1e-9));
}

TEST_CASE("an image that some level could not halve is refused") {
    // Eight pixels a latent place, halved three times: multiples of 64.
    CHECK_THROWS_AS(forward_graph(shipped_diffusion("sd-1.5-txt2img"), Run{.image_size = 544}, {}), Error);
    CHECK_NOTHROW(forward_graph(shipped_diffusion("sd-1.5-txt2img"), Run{.image_size = 576}, {}));
    CHECK_THROWS_AS(denoising_graph(model("sd-1.5-txt2img"), Run{.image_size = 8}, {}), Error);
}
