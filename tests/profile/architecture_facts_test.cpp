#include "profile/architecture_facts.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <string>

#include "roofcast/error.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using doctest::Contains;
using roofcast::test::gpus_dir;
using roofcast::test::TemporaryFile;

namespace {

/// Facts of Ada with `tiles` for its fp8 kernels.
ArchitectureFacts with_fp8_tiles(const std::string& tiles) {
    std::string text = roofcast::test::text_of(gpus_dir() / "arch" / "ada.toml");
    const std::string key = "fp8_tiles = [\n";
    const std::size_t begin = text.find(key);
    const std::size_t end = text.find("\n]\n", begin);
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    text.replace(begin, end + 2 - begin, "fp8_tiles = " + tiles);
    const TemporaryFile placeholder("readme", "facts for a test");
    const auto folder = placeholder.path().parent_path();
    std::filesystem::create_directory(folder / "arch");
    std::filesystem::copy(gpus_dir() / "arch" / "_default.toml", folder / "arch" / "_default.toml");
    std::ofstream(folder / "arch" / "ada.toml") << text;
    return load_architecture_facts(folder, "ada", std::nullopt);
}

}  // namespace

TEST_CASE("tiles of fp8 kernels hold for any shape and have plain epilogues unless they say otherwise") {
    const auto tiles = with_fp8_tiles(
                           "[{ m = 16, n = 8192, tile = [16, 64], relative_epilogue = 2.5, cluster_rows = 32, "
                           "padding_cost = 0.5 }, { tile = [128, 256] }]")
                           .fp8_tiles;
    REQUIRE(tiles.size() == 2);
    CHECK(tiles[0].most_m == 16);
    CHECK(tiles[0].most_n == 8192);
    CHECK(tiles[0].rows == 16);
    CHECK(tiles[0].columns == 64);
    CHECK(tiles[0].relative_epilogue == 2.5);
    CHECK(tiles[0].cluster_rows == 32);
    CHECK(tiles[0].padding_cost == 0.5);
    CHECK(tiles[1].most_m == std::numeric_limits<std::int64_t>::max());
    CHECK(tiles[1].most_n == std::numeric_limits<std::int64_t>::max());
    CHECK(tiles[1].relative_epilogue == 1);
    CHECK(tiles[1].cluster_rows == 0);
    CHECK(tiles[1].padding_cost == 0);
}

TEST_CASE("wrong tiles of fp8 kernels are refused with file, line and key") {
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], relative_epilogue = 0 }]"),
                         Contains("relative_epilogue: out of range; found 0; expected a number above 0"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], relative_epilogue = 0 }]"), Contains("ada.toml:"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], relative_epilogue = \"long\" }]"), Contains("relative_epilogue"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], cluster_rows = 0 }]"), Contains("cluster_rows"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], padding_cost = -1 }]"), Contains("padding_cost: out of range"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16] }]"), Contains("not a tile"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], epilogue = 2 }]"), Contains("epilogue"), Error);
}
