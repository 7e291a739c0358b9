#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "roofcast/gpu_profile.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::gpus_dir;
using roofcast::test::rel;

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

TEST_CASE("programs can allocate what CUDA, HIP and Metal report, and a device without a capacity says nothing") {
    // docs/usable_memory.md, GiB
    const std::pair<const char*, double> reported[] = {{"b200-sxm", 178.35},
                                                       {"h200-sxm-141gb", 139.8},
                                                       {"h100-sxm5-80gb", 79.19},
                                                       {"rtx-pro-6000-blackwell", 94.97},
                                                       {"a100-sxm4-40gb", 39.49},
                                                       {"v100-sxm2-32gb", 31.73},
                                                       {"v100-sxm2-16gb", 15.78},
                                                       {"rtx-a6000", 47.5},
                                                       {"l40s", 44.4},
                                                       {"rtx-5090", 31.36},
                                                       {"rtx-4090", 23.65},
                                                       {"rtx-3090", 23.69},
                                                       {"l4", 22.05},
                                                       {"t4", 14.75},
                                                       {"rtx-2080-ti", 10.73},
                                                       {"rtx-3070", 7.78},
                                                       {"mi300x", 191.98},
                                                       {"rx-7900-xtx", 23.98},
                                                       {"jetson-agx-orin", 61.37},
                                                       {"m2-max", 72}};
    for (const auto& [id, gibibytes] : reported) {
        CAPTURE(std::string(id));
        CHECK(load_gpu(gpus_dir(), id).profile.usable_memory()->in(gib) == rel(gibibytes, 0.013));
    }
    CHECK_FALSE(load_gpu(gpus_dir(), "xeon-8480").profile.usable_memory());
}
