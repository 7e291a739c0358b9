// Latent diffusion: a denoising network with its text encoders and autoencoder.

#include <fmt/format.h>

#include "workload/readers.hpp"

namespace roofcast {

namespace {

/// The deepest level of an image of 65,536 pixels still has a place.
constexpr std::size_t most_levels = 8;
constexpr std::int64_t most_blocks = 100, most_steps = 100'000;

std::vector<std::int64_t> read_levels(TableReader& reader, std::string_view key, std::int64_t least, std::size_t levels) {
    std::vector<std::int64_t> values = reader.counts_if(key, least, largest_size);
    if (values.empty()) throw reader.missing(key, "a number for each level");
    if (levels > 0 && values.size() != levels) throw reader.error(key, "every level needs a number", {}, fmt::format("{} numbers", levels));
    if (values.size() > most_levels) throw reader.error(key, "too many levels", {}, fmt::format("at most {}", most_levels));
    for (const std::int64_t value : values) {
        if (value > largest_size) throw reader.error(key, "out of range", {}, fmt::format("at most {}", largest_size));
    }
    return values;
}

/// The ControlNet's image is halved three times on its way to the latent size.
void check_control(const TableReader& reader, const Diffusion& model) {
    constexpr std::int64_t factor = 8;
    if (model.denoiser.control && model.autoencoder.factor() != factor)
        throw reader.error("denoiser", "a ControlNet takes images eight times the latent size",
                           fmt::format("control = true, and an autoencoder of {} levels", model.autoencoder.channels.size()),
                           "an autoencoder of 4 levels");
}

/// Group norm takes channels in groups of a fixed number.
void check_groups(const TableReader& reader, const std::vector<std::int64_t>& channels) {
    for (const std::int64_t count : channels) {
        if (count % norm_groups != 0)
            throw reader.error("channels", "group normalization needs channels that its groups divide", {},
                               fmt::format("multiples of {}", norm_groups));
    }
}

Denoiser read_denoiser(TableReader reader) {
    Denoiser model;
    model.channels = read_levels(reader, "channels", 1, 0);
    check_groups(reader, model.channels);
    const std::size_t levels = model.channels.size();
    model.transformers = read_levels(reader, "transformers", 0, levels);
    model.heads = read_levels(reader, "heads", 1, levels);
    for (std::size_t i = 0; i < levels; ++i) {
        if (model.transformers[i] > most_blocks)
            throw reader.error("transformers", "too many layers", {}, fmt::format("at most {}", most_blocks));
        if (model.channels[i] % model.heads[i] != 0) throw reader.error("heads", "a level's channels are not a multiple of its heads");
    }
    model.blocks = reader.count_if("blocks", 1, most_blocks).value_or(model.blocks);
    model.input_channels = reader.count_if("input_channels", 1, largest_size).value_or(model.input_channels);
    model.context = reader.count_if("context", 1, largest_size).value_or(model.context);
    model.tokens = reader.count_if("tokens", 1, largest_size).value_or(model.tokens);
    model.conditions = reader.count_if("conditions", 0, largest_size).value_or(0);
    model.linear_projections = reader.flag_if("linear_projections").value_or(false);
    model.control = reader.flag_if("control").value_or(false);
    reader.finish_with_base();
    return model;
}

Autoencoder read_autoencoder(TableReader reader) {
    Autoencoder model;
    if (reader.has("channels")) model.channels = read_levels(reader, "channels", 1, 0);
    check_groups(reader, model.channels);
    model.blocks = reader.count_if("blocks", 1, most_blocks).value_or(model.blocks);
    model.latent_channels = reader.count_if("latent_channels", 1, largest_size).value_or(model.latent_channels);
    reader.finish_with_base();
    return model;
}

void read_text(Diffusion& model, TableReader& reader, std::string_view key) {
    if (!reader.has(key)) return;
    TableReader table = reader.table(key);
    model.texts.push_back(read_encoder(table));
    const std::int64_t positions = model.texts.back().max_positions, tokens = model.denoiser.tokens;
    if (positions > 0 && positions < tokens)
        throw table.error("max_positions", "the network reads more tokens than the text encoder has positions", std::to_string(positions),
                          fmt::format("at least {}", tokens));
    table.finish_with_base();
}

}  // namespace

Diffusion read_diffusion(TableReader& reader) {
    Diffusion model;
    model.image_size = reader.count_if("image_size", 1, largest_image).value_or(model.image_size);
    model.steps = reader.count_if("steps", 1, most_steps).value_or(model.steps);
    model.guidance = reader.flag_if("guidance").value_or(true);
    model.from_image = reader.flag_if("from_image").value_or(false);
    model.denoiser = read_denoiser(reader.table("denoiser"));
    model.autoencoder = read_autoencoder(reader.table("autoencoder"));
    read_text(model, reader, "text");
    read_text(model, reader, "second_text");
    check_control(reader, model);
    return model;
}

}  // namespace roofcast
