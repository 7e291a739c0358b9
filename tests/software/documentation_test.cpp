// docs/reference/software.md has every key of engines and execution modes, with its unit and default.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "roofcast/software.hpp"
#include "support/paths.hpp"

using namespace roofcast;

TEST_CASE("docs/reference/software.md has every key with its unit and default") {
    const std::string page = test::text_of(test::source_dir() / "docs" / "reference" / "software.md");
    for (const SoftwareKeyInfo& key : software_keys()) {
        const std::string fallback = key.required ? "required" : key.fallback.empty() ? "absent" : fmt::format("`{}`", key.fallback);
        CAPTURE(key.name);
        CHECK(page.find(fmt::format("\n| `{}` | {} | {} |", key.name, key.unit, fallback)) != std::string::npos);
    }
}
