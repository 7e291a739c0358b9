// Latent diffusion: a denoising network with its text encoders and autoencoder.

#include <fmt/format.h>

#include "workload/convnet.hpp"
#include "workload/readers.hpp"

namespace roofcast {

namespace {

ConvNet read_part(TableReader reader, BlockLibrary& blocks) {
    ConvNet net = read_convnet(reader, blocks);
    reader.finish_with_base();
    return net;
}

void read_text(Diffusion& model, TableReader& reader, std::string_view key) {
    if (!reader.has(key)) return;
    TableReader table = reader.table(key);
    model.texts.push_back(read_encoder(table));
    const std::int64_t positions = model.texts.back().max_positions;
    if (positions > 0 && positions < model.tokens)
        throw table.error("max_positions", "the network reads more tokens than the text encoder has positions", std::to_string(positions),
                          fmt::format("at least {}", model.tokens));
    table.finish_with_base();
}

}  // namespace

Diffusion read_diffusion(TableReader& reader, BlockLibrary& blocks) {
    constexpr std::int64_t most_steps = 100'000;
    Diffusion model;
    model.image_size = reader.count_if("image_size", 1, largest_image).value_or(model.image_size);
    model.pixels_per_place = reader.count_if("pixels_per_place", 1, largest_image).value_or(model.pixels_per_place);
    model.multiple_of = reader.count_if("multiple_of", 1, largest_image).value_or(model.pixels_per_place);
    if (model.multiple_of % model.pixels_per_place != 0)
        throw reader.error("multiple_of", "an image is made of whole latent places", {},
                           fmt::format("a multiple of {}", model.pixels_per_place));
    model.tokens = reader.count_if("tokens", 1, largest_size).value_or(model.tokens);
    model.steps = reader.count_if("steps", 1, most_steps).value_or(model.steps);
    model.guidance = reader.flag_if("guidance").value_or(true);
    model.from_image = reader.flag_if("from_image").value_or(false);
    model.denoiser = read_part(reader.table("denoiser"), blocks);
    model.scheduler = read_part(reader.table("scheduler"), blocks);
    model.image_encoder = read_part(reader.table("image_encoder"), blocks);
    model.image_decoder = read_part(reader.table("image_decoder"), blocks);
    read_text(model, reader, "text");
    read_text(model, reader, "second_text");
    return model;
}

}  // namespace roofcast
