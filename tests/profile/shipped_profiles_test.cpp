#include <doctest/doctest.h>

#include "roofcast/gpu_profile.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::gpus_dir;

TEST_CASE("every shipped profile loads, with its parameters, and differs from its architecture only where it says why") {
    const auto gpus = load_gpu_catalogue(gpus_dir());
    CHECK(gpus.size() >= 77);
    for (const auto& gpu : gpus) {
        CAPTURE(gpu.id);
        CHECK(gpu.id + ".toml" == std::filesystem::path(gpu.file).filename().string());
        CHECK_FALSE(gpu.source.empty());
        CHECK(gpu.release_year > 0);
        for (const auto& finding : check_gpu_profile(gpu)) {
            CAPTURE(finding.key);
            CAPTURE(finding.found);
            CAPTURE(finding.expected);
            CAPTURE(finding.rule);
            CHECK(finding.explained);
        }
        CHECK_NOTHROW(load_parameters(gpus_dir(), gpu));
    }
}
