#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "roofcast/workload.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::TemporaryFile;

namespace {

constexpr const char* small_model = R"(
id = "small"
family = "diffusion"
source = "a test"
image_size = 64
pixels_per_place = 2
[denoiser]
channels = 4
layers = [{conv = 32}, {conv = 4}]
[scheduler]
channels = 4
layers = [{pointwise = 1}]
[image_encoder]
layers = [{conv = 8, kernel = 3, stride = 2}]
[image_decoder]
channels = 4
layers = [{upsample = 2}, {conv = 3}]
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

/// What the model with `from` replaced by `to` is refused for: the key.
std::string refused_key(const std::string& from, const std::string& to) {
    const TemporaryFile file("diffusion.toml", replaced(small_model, from, to));
    try {
        load_workload(file.path());
    } catch (const Error& e) {
        return e.detail().key;
    }
    return "";
}

}  // namespace

TEST_CASE("a diffusion model has the sizes of its file, and defaults for the rest") {
    const TemporaryFile file("diffusion.toml", small_model);
    const auto model = std::get<Diffusion>(load_workload(file.path()).architecture);
    CHECK(model.image_size == 64);
    CHECK(model.steps == 50);
    CHECK(model.guidance);
    CHECK(model.tokens == 77);
    // Sides of images are whole places at least.
    CHECK(model.multiple_of == 2);
    CHECK(model.denoiser.channels == 4);
    CHECK(model.image_encoder.channels == 3);
    CHECK(model.denoiser.layers.size() == 2);
    CHECK(model.texts.empty());
}

TEST_CASE("what a diffusion model cannot have is refused by its key") {
    CHECK(refused_key("image_size = 64", "steps = 0").find("steps") != std::string::npos);
    CHECK(refused_key("image_size = 64", "image_size = 100000").find("image_size") != std::string::npos);
    CHECK(refused_key("image_size = 64", "multiple_of = 3").find("multiple_of") != std::string::npos);
    CHECK(refused_key("channels = 4\nlayers = [{conv = 32}", "chanels = 4\nlayers = [{conv = 32}").find("chanels") != std::string::npos);
    CHECK(refused_key("[image_encoder]", "[image_coder]").find("image_coder") != std::string::npos);
    CHECK(refused_key("[image_encoder]", "[text]\nlayers = 2\n[image_encoder]").find("hidden") != std::string::npos);
    const std::string text = "[text]\nlayers = 2\nhidden = 64\nheads = 2\nintermediate = 128\nvocabulary = 100\n";
    CHECK(refused_key("[image_encoder]", text + "max_positions = 76\n[image_encoder]").find("max_positions") != std::string::npos);
    CHECK(refused_key("[image_encoder]", text + "max_positions = 77\n[image_encoder]") == "");
}
