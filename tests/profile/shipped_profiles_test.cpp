#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "roofcast/gpu_profile.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::gpus_dir;
using roofcast::test::rel;

TEST_CASE("every shipped profile loads, with its parameters, and differs from its architecture only where it says why") {
    const auto gpus = load_gpu_catalogue(gpus_dir());
    CHECK(gpus.size() >= 114);
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
    // docs/model/memory.md, GiB
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
                                                       {"gb10", 119.7},
                                                       {"tpu-v5e", 15.75},
                                                       {"tpu-v6e", 31.25},
                                                       {"m2-max", 72}};
    for (const auto& [id, gibibytes] : reported) {
        CAPTURE(std::string(id));
        CHECK(load_gpu(gpus_dir(), id).profile.usable_memory()->in(gib) == rel(gibibytes, 0.013));
    }
    CHECK_FALSE(load_gpu(gpus_dir(), "xeon-8480").profile.usable_memory());
}

TEST_CASE("a GPU computes in the number formats that its chip has, and in no other") {
    using enum Precision;
    struct Formats {
        const char* id;
        std::vector<Precision> has, lacks;
    };
    // CUDA C++ Programming Guide, arithmetic by compute capability; data sheets of the others
    const Formats ranges[] = {{"m40", {fp32, fp64}, {fp16, bf16, int8}},
                              {"gtx-1060", {fp32, fp16, int8}, {bf16, tf32, fp8}},
                              {"p40", {fp32, fp16, int8}, {bf16, tf32, fp8}},
                              {"rtx-2070", {fp16, int8, int4}, {bf16, tf32, fp8}},
                              {"rtx-3060-ti", {fp16, bf16, tf32, int8, int4}, {fp8, fp4}},
                              {"jetson-orin-nano", {fp16, bf16, int8}, {fp64, fp8, fp4}},
                              {"rtx-4070-super", {fp16, bf16, fp8, int8, int4}, {fp4}},
                              {"l20", {fp16, bf16, fp8, int8}, {fp4}},
                              {"rtx-5070", {fp16, bf16, fp8, int8, fp4}, {int4}},
                              {"gb10", {fp16, bf16, fp8, int8, fp4}, {int4}},
                              {"jetson-thor", {fp16, bf16, fp8, int8, fp4}, {fp64, int4}},
                              {"mi355x", {fp64, fp32, fp16, bf16, fp8, int8, fp4}, {tf32, int4}},
                              {"rx-9070-xt", {fp16, bf16, fp8, int8, int4}, {tf32, fp4}},
                              {"arc-b580", {fp16, bf16, int8}, {fp8, fp4}},
                              {"gaudi3", {bf16, fp16, tf32, fp8}, {fp64, fp4}},
                              {"m4-pro", {fp32, fp16}, {fp64, fp8, int8}},
                              {"tpu-v6e", {bf16, int8}, {fp64, fp16, fp8, fp4}}};
    for (const Formats& known : ranges) {
        CAPTURE(std::string(known.id));
        const GpuProfile gpu = load_gpu(gpus_dir(), known.id).profile;
        for (const Precision p : known.has) {
            CAPTURE(name(p));
            CHECK(gpu.supports(p));
        }
        for (const Precision p : known.lacks) {
            CAPTURE(name(p));
            CHECK_FALSE(gpu.supports(p));
        }
    }
}

TEST_CASE("consumer GPUs of Pascal have token fp16 units, and multiply 16-bit operands in fp32") {
    for (const char* id : {"gtx-1060", "gtx-1070", "p40"}) {
        CAPTURE(std::string(id));
        const GpuProfile gpu = load_gpu(gpus_dir(), id).profile;
        CHECK(gpu.vector_peak[index(Precision::fp16)]->value == rel(gpu.vector_peak[index(Precision::fp32)]->value / 64, 0.01));
        CHECK(gpu.matmul_peak(Precision::fp16)->value == gpu.vector_peak[index(Precision::fp32)]->value);
    }
}

TEST_CASE("a GPU is no weaker than the next lower one of its series") {
    const std::vector<const char*> series[] = {{"gtx-1060", "gtx-1070", "gtx-1080-ti"},
                                               {"rtx-2060", "rtx-2070", "rtx-2080-ti"},
                                               {"rtx-3050", "rtx-3060", "rtx-3060-ti", "rtx-3070", "rtx-3080", "rtx-3080-ti", "rtx-3090"},
                                               {"rtx-4060", "rtx-4060-ti", "rtx-4070", "rtx-4070-super", "rtx-4070-ti", "rtx-4070-ti-super",
                                                "rtx-4080", "rtx-4080-super", "rtx-4090"},
                                               {"rtx-5060", "rtx-5060-ti-8gb", "rtx-5070", "rtx-5070-ti", "rtx-5080", "rtx-5090"},
                                               {"rtx-2000-ada", "rtx-4000-ada", "rtx-4500-ada", "rtx-5000-ada", "rtx-6000-ada"},
                                               {"jetson-orin-nano", "jetson-orin-nano-super", "jetson-agx-orin", "jetson-thor"},
                                               {"mi300x", "mi325x", "mi350x", "mi355x"},
                                               {"gaudi2", "gaudi3"},
                                               {"m4-pro", "m4-max"},
                                               {"m3-max", "m3-ultra"},
                                               {"tpu-v5e", "tpu-v6e"}};
    for (const auto& ranges : series) {
        for (std::size_t i = 1; i < ranges.size(); ++i) {
            CAPTURE(std::string(ranges[i]));
            const GpuProfile lower = load_gpu(gpus_dir(), ranges[i - 1]).profile, upper = load_gpu(gpus_dir(), ranges[i]).profile;
            const Precision p = lower.supports(Precision::bf16) ? Precision::bf16 : Precision::fp16;
            CHECK(upper.matmul_peak(p)->value >= lower.matmul_peak(p)->value);
            CHECK(upper.bandwidth.value >= lower.bandwidth.value);
        }
    }
}
