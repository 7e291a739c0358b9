#include <doctest/doctest.h>

#include <fstream>

#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using doctest::Contains;
using roofcast::test::gpus_dir;
using roofcast::test::TemporaryFile;

namespace {

std::string chosen(const char* asked) {
    return choose_gpu(gpus_dir(), asked).file.stem().string();
}

}  // namespace

TEST_CASE("an id, an alias or a name finds its profile whatever the case, spaces, hyphens and underscores") {
    CHECK(chosen("rtx-4090") == "rtx-4090");
    CHECK(chosen("4090") == "rtx-4090");
    CHECK(chosen("RTX 4090") == "rtx-4090");
    CHECK(chosen("rtx4090") == "rtx-4090");
    CHECK(chosen("GeForce RTX 4090") == "rtx-4090");
    CHECK(chosen("A100_SXM4_80GB") == "a100-sxm4-80gb");
    CHECK(chosen("m2max") == "m2-max");
    CHECK(chosen("MI300X") == "mi300x");
    CHECK(chosen("3090") == "rtx-3090");
    CHECK(chosen("b200") == "b200-sxm");
    CHECK(chosen("h200") == "h200-sxm-141gb");
    CHECK(choose_gpu(gpus_dir(), "4090").note.empty());
}

TEST_CASE("an ambiguous name takes the stated default and names the others") {
    CHECK(chosen("v100") == "v100-sxm2-16gb");
    CHECK(choose_gpu(gpus_dir(), "V100").note ==
          "V100 is ambiguous: took v100-sxm2-16gb (others: v100-pcie-16gb, v100-pcie-32gb, v100-sxm2-32gb)");
    CHECK(chosen("a100") == "a100-sxm4-80gb");
    CHECK(chosen("h100") == "h100-sxm5-80gb");
    // As drivers name GPUs.
    for (const char* name : {"NVIDIA GeForce RTX 4090", "nvidia-rtx-4090", "GeForce RTX 4090"})
        CHECK(choose_gpu(gpus_dir(), name).file.stem() == "rtx-4090");
    CHECK_THROWS_WITH_AS(static_cast<void>(choose_gpu(gpus_dir(), "NVIDIA X9")), doctest::Contains("NVIDIA X9"), Error);
    CHECK(choose_gpu(gpus_dir(), "a100-40gb").note == "a100-40gb is ambiguous: took a100-sxm4-40gb (others: a100-pcie-40gb)");
}

TEST_CASE("an unknown GPU is an error that names the nearest") {
    CHECK_THROWS_WITH_AS(choose_gpu(gpus_dir(), "v1000"), Contains("did you mean v100"), Error);
    CHECK_THROWS_WITH_AS(choose_gpu(gpus_dir(), "rtx-4099"), Contains("rtx-4090"), Error);
    CHECK_THROWS_WITH_AS(choose_gpu(gpus_dir(), ""), Contains("unknown GPU"), Error);
    CHECK_THROWS_WITH_AS(choose_gpu(gpus_dir(), "arch"), Contains("unknown GPU"), Error);
    CHECK_THROWS_WITH_AS(choose_gpu(gpus_dir(), "a100-sxm4-80gb.fit"), Contains("unknown GPU"), Error);
    CHECK_THROWS_WITH_AS(choose_gpu(gpus_dir(), "software"), Contains("unknown GPU"), Error);
}

TEST_CASE("a path stands for itself") {
    CHECK(choose_gpu(gpus_dir(), "some/where.toml").file == "some/where.toml");
    CHECK_THROWS_WITH_AS(load_gpu(gpus_dir(), "some/where.toml"), Contains("does not exist"), Error);
}

TEST_CASE("a name that two profiles claim is an error in a catalogue") {
    const char* profile =
        "name = \"One\"\naliases = [\"card\"]\narchitecture = \"ada\"\nmemory_gb = 1\ncompute_tflops = 1\n"
        "memory_bandwidth_gbps = 1\n";
    const TemporaryFile one("one.toml", profile);
    const auto folder = one.path().parent_path();
    std::ofstream(folder / "two.toml") << profile;
    std::filesystem::copy(gpus_dir() / "arch", folder / "arch", std::filesystem::copy_options::recursive);
    CHECK_THROWS_WITH_AS(load_gpu_catalogue(folder), Contains("\"card\" is already the name of one"), Error);
}
