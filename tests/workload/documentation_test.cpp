// Examples of docs/reference/models.md that are whole files load as they are printed.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "roofcast/error.hpp"
#include "support/paths.hpp"
#include "workload/catalogue.hpp"

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
