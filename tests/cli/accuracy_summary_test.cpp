#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/compare.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using nlohmann::json;
using roofcast::test::rel;

namespace {

json accuracy_rows(const std::string& options) {
    return json::parse(roofcast::test::printed("calibrate --summary --format json " + options))["accuracy"];
}

}  // namespace

TEST_CASE("the accuracy by kind of work weighs each fit's error with its rows") {
    double rows = 0, sum = 0;
    for (const json& line : accuracy_rows("")) {
        if (line["op"] != "gemm" || line["cross_validated_mape_percent"].is_null()) continue;
        rows += line["rows"].get<double>();
        sum += line["rows"].get<double>() * line["cross_validated_mape_percent"].get<double>();
    }
    REQUIRE(rows > 10'000);
    const json kinds = accuracy_rows("--by-kind");
    CHECK(kinds.size() == 9);
    REQUIRE(kinds[0]["kind"] == "GEMM");
    // Rows of a line are those in the fit; all of them are cross-validated but a few that no fold could do without.
    CHECK(kinds[0]["measured_mape_percent"].get<double>() == rel(sum / rows, 0.01));
    CHECK(kinds[0]["measured_rows"].get<double>() == rel(rows, 0.01));
    for (const json& kind : kinds) CHECK(kind["unseen_rows"].get<double>() > 0);
}

TEST_CASE("the table of kinds fits 80 columns") {
    const std::string text = roofcast::test::printed("calibrate --summary --by-kind");
    std::size_t start = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; start = end + 1, end = text.find('\n', start))
        CHECK(end - start <= 80);
}

TEST_CASE("README has the accuracy by kind of work that the fits state") {
    const std::string readme = roofcast::test::text_of(roofcast::test::source_dir() / "README.md");
    for (const json& kind : accuracy_rows("--by-kind")) {
        const std::string line = fmt::format("| {} | {} | {:.3g} | {} | {:.3g} |", kind["kind"].get<std::string>(),
                                             kind["measured_rows"].get<double>(), kind["measured_mape_percent"].get<double>(),
                                             kind["unseen_rows"].get<double>(), kind["unseen_mape_percent"].get<double>());
        CAPTURE(line);
        CHECK(roofcast::test::contains(readme, line));
    }
}

TEST_CASE("README has the numbers of shipped GPUs and models") {
    const auto gpus = json::parse(roofcast::test::printed("gpu list --format json"))["gpus"].size();
    const auto models = json::parse(roofcast::test::printed("model list --format json"))["models"].size();
    const std::string numbers = fmt::format("{} GPUs and {},{:03} models are shipped", gpus, models / 1000, models % 1000);
    CAPTURE(numbers);
    CHECK(roofcast::test::contains(roofcast::test::text_of(roofcast::test::source_dir() / "README.md"), numbers));
}
