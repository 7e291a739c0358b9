// Examples of docs/reference/models.md that are whole files load as they are printed.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "roofcast/error.hpp"
#include "support/paths.hpp"
#include "workload/catalogue.hpp"
#include "workload/convnet_vocabulary.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

std::vector<std::string> toml_examples(const std::string& page) {
    constexpr std::string_view open = "```toml\n", close = "\n```";
    std::vector<std::string> found;
    for (auto start = page.find(open); start != std::string::npos; start = page.find(open, start)) {
        start += open.size();
        const auto end = page.find(close, start);
        REQUIRE(end != std::string::npos);
        found.push_back(page.substr(start, end - start) + "\n");
    }
    return found;
}

}  // namespace

TEST_CASE("models of docs/reference/models.md load") {
    int models = 0;
    for (const std::string& example : toml_examples(text_of(source_dir() / "docs" / "reference" / "models.md"))) {
        const bool whole = example.find("family ") != std::string::npos && example.find("\nid ") != std::string::npos;
        if (!whole && !example.starts_with("id         = \"small-detector\"")) continue;
        CAPTURE(example);
        const TemporaryFile file("example.toml", example);
        CHECK_NOTHROW(static_cast<void>(load_workloads(file.path())));
        ++models;
    }
    CHECK(models >= 2);
}

TEST_CASE("docs/reference/models.md has every block of a convolutional net with its options") {
    const std::string page = text_of(source_dir() / "docs" / "reference" / "models.md");
    for (const BlockSpec& spec : block_specs) {
        std::istringstream words(std::string(spec.name) + ' ' + std::string(spec.options));
        for (std::string word; words >> word;) {
            CAPTURE(spec.name);
            CAPTURE(word);
            CHECK(page.find('`' + word + '`') != std::string::npos);
        }
    }
}

TEST_CASE("the nets of docs/examples load, and guides show them as they are") {
    const std::string guide = text_of(source_dir() / "docs" / "guide" / "describe-a-net.md");
    const auto file = source_dir() / "docs" / "examples" / "nets" / "small-detector.toml";
    CHECK(load_workloads(file).size() == 1);
    CHECK(guide.find(text_of(file)) != std::string::npos);
    const std::string profile = text_of(source_dir() / "docs" / "examples" / "gpus" / "my-gpu.toml");
    CHECK(text_of(source_dir() / "docs" / "guide" / "gpu-profile.md").find(profile) != std::string::npos);
}
