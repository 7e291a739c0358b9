// docs/model/ has every parameter of the cost model, with its unit and bounds.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "roofcast/cost_parameters.hpp"
#include "support/paths.hpp"

using namespace roofcast;

namespace {

std::map<std::string, std::string> model_pages() {
    std::map<std::string, std::string> pages;
    for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "docs" / "model"))
        if (entry.path().extension() == ".md") pages[entry.path().filename().string()] = test::text_of(entry.path());
    return pages;
}

/// Pages write a unit as people do.
std::string printed_unit(const std::string& unit) {
    return unit == "us" ? "µs" : unit;
}

/// Whether a table of `page` has the parameter: its group stands on the page, and a row has key, unit and bounds.
bool documents(const std::string& page, const ParameterSpec& spec) {
    const std::size_t dot = spec.name.rfind('.');
    const std::string group = spec.name.substr(0, dot), key = spec.name.substr(dot + 1);
    const bool has_group = page.find("`" + group + "`") != std::string::npos;
    const std::string rest = fmt::format("| {} | {} to {}", printed_unit(spec.unit), spec.lower, spec.upper);
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("|") || line.find(rest) == std::string::npos) continue;
        if (line.find("`" + spec.name + "`") != std::string::npos) return true;
        if (has_group && line.find("`" + key + "`") != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("docs/model/ has every parameter with its unit and bounds") {
    const auto pages = model_pages();
    REQUIRE(pages.size() > 10);
    for (const ParameterSpec& spec : parameter_specs()) {
        CAPTURE(spec.name);
        CHECK(std::any_of(pages.begin(), pages.end(), [&](const auto& page) { return documents(page.second, spec); }));
    }
}

TEST_CASE("a parameter with other bounds is not the documented one") {
    ParameterSpec spec = parameter_specs()[parameter_index("streaming.fixed_us")];
    const std::string page = model_pages().at("memory-bound.md");
    CHECK(documents(page, spec));
    spec.upper = 5;
    CHECK_FALSE(documents(page, spec));
}
