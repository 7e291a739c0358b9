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
[denoiser]
channels = [32, 64]
transformers = [0, 2]
heads = [1, 4]
[autoencoder]
channels = [32, 64]
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
    CHECK(model.denoiser.transformers == std::vector<std::int64_t>{0, 2});
    CHECK(model.denoiser.input_channels == 4);
    // Two levels halve the image once.
    CHECK(model.autoencoder.factor() == 2);
    CHECK(model.texts.empty());
}

TEST_CASE("what a denoising network cannot have is refused by its key") {
    CHECK(refused_key("channels = [32, 64]", "channels = [32, 60]").find("channels") != std::string::npos);
    CHECK(refused_key("channels = [32, 64]", "channels = []").find("channels") != std::string::npos);
    CHECK(refused_key("channels = [32, 64]", "channels = [32, 64, 64, 64, 64, 64, 64, 64, 64]").find("channels") != std::string::npos);
    CHECK(refused_key("transformers = [0, 2]", "transformers = [2]").find("transformers") != std::string::npos);
    CHECK(refused_key("transformers = [0, 2]", "transformers = [0, 1000]").find("transformers") != std::string::npos);
    CHECK(refused_key("heads = [1, 4]", "heads = [1, 3]").find("heads") != std::string::npos);
    CHECK(refused_key("heads = [1, 4]", "heads = [0, 4]").find("heads") != std::string::npos);
    CHECK(refused_key("image_size = 64", "steps = 0").find("steps") != std::string::npos);
    CHECK(refused_key("image_size = 64", "image_size = 100000").find("image_size") != std::string::npos);
    CHECK(refused_key("heads = [1, 4]", "heads = [1, 4]\nhaeds = 2").find("haeds") != std::string::npos);
    CHECK(refused_key("[autoencoder]", "[text]\nlayers = 2\n[autoencoder]").find("hidden") != std::string::npos);
    // Its image is halved three times on the way to the latent size, and two levels of the autoencoder halve it once.
    CHECK(refused_key("heads = [1, 4]", "heads = [1, 4]\ncontrol = true").find("denoiser") != std::string::npos);
    const std::string text = "[text]\nlayers = 2\nhidden = 64\nheads = 2\nintermediate = 128\nvocabulary = 100\n";
    CHECK(refused_key("[autoencoder]", text + "max_positions = 76\n[autoencoder]").find("max_positions") != std::string::npos);
    CHECK(refused_key("[autoencoder]", text + "max_positions = 77\n[autoencoder]") == "");
}
