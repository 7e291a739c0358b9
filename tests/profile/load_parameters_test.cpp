#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "roofcast/error.hpp"
#include "roofcast/gpu_profile.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using doctest::Contains;
using roofcast::test::rel;
using roofcast::test::TemporaryFile;

namespace {

/// A folder of profiles with parameter files of its own.
class ParameterFolder {
public:
    ParameterFolder() {
        std::filesystem::create_directory(path() / "arch");
        std::filesystem::create_directories(path() / "fits" / "arch");
    }
    [[nodiscard]] std::filesystem::path path() const { return placeholder_.path().parent_path(); }
    ParameterFolder& write(const char* file, const std::string& text) {
        std::ofstream(path() / file) << text;
        return *this;
    }
    [[nodiscard]] ParameterSet load() const {
        GpuProfile gpu;
        gpu.id = "card";
        gpu.vendor = "NVIDIA";
        gpu.architecture = "ada";
        return load_parameters(path(), gpu);
    }

private:
    TemporaryFile placeholder_{"readme", "profiles for a test"};
};

constexpr const char* key = "gemm.tensor16.peak_fraction";
constexpr const char* assumed = "source = \"assumed: test\"\n[gemm.tensor16]\npeak_fraction = 0.5\n";

}  // namespace

TEST_CASE("parameters come from the defaults, the architecture, its fit and the GPU's fit, the last one winning") {
    ParameterFolder folder;
    const std::size_t i = parameter_index(key);
    const auto value = [&] { return parameter_specs()[i].get(folder.load().values); };
    folder.write("arch/_default.toml", assumed);
    CHECK(value() == rel(0.5, 1e-12));
    CHECK(folder.load().provenance[i] == Provenance::assumed);
    CHECK(folder.load().source[i] == "assumed: test");
    folder.write("fits/arch/_default.fit.toml", "[gemm.tensor16]\npeak_fraction = 0.55\n");
    CHECK(folder.load().provenance[i] == Provenance::pooled_fit);
    folder.write("arch/ada.toml", "[typical]\nanything = 1\n[gemm.tensor16]\npeak_fraction = { value = 0.6, source = \"a paper\" }\n");
    CHECK(value() == rel(0.6, 1e-12));
    CHECK(folder.load().provenance[i] == Provenance::cited);
    CHECK(folder.load().source[i] == "a paper");
    folder.write("fits/arch/ada.fit.toml", "[fit]\nseed = 1\n[gemm.tensor16]\npeak_fraction = 0.7\n");
    CHECK(value() == rel(0.7, 1e-12));
    CHECK(folder.load().provenance[i] == Provenance::architecture_fit);
    folder.write("fits/card.fit.toml", "[gemm.tensor16]\npeak_fraction = { value = 0.8, unit = \"1\", standard_error = 0.01 }\n");
    CHECK(value() == rel(0.8, 1e-12));
    CHECK(folder.load().provenance[i] == Provenance::gpu_fit);
    CHECK(folder.load().source[i] == "card.fit.toml");
}

TEST_CASE("a value that a fit kept has the provenance and source of where it comes from") {
    ParameterFolder folder;
    const std::size_t i = parameter_index(key);
    folder.write("arch/_default.toml", assumed);
    folder.write("fits/arch/ada.fit.toml", "[gemm.tensor16]\npeak_fraction = 0.7\n");
    const auto keep = [&](std::string_view source) {
        folder.write("fits/card.fit.toml",
                     fmt::format("[gemm.tensor16]\npeak_fraction = {{ value = 0.8, source = \"{}: not fitted\" }}\n", source));
        CHECK(parameter_specs()[i].get(folder.load().values) == rel(0.8, 1e-12));
    };
    keep(kept_from_others);
    CHECK(folder.load().provenance[i] == Provenance::architecture_fit);
    CHECK(folder.load().source[i] == "ada.fit.toml");
    keep(kept_source);
    CHECK(folder.load().provenance[i] == Provenance::assumed);
    CHECK(folder.load().source[i] == "assumed: test");
    folder.write("arch/ada.toml", "[gemm.tensor16]\npeak_fraction = { value = 0.6, source = \"a paper\" }\n");
    CHECK(folder.load().provenance[i] == Provenance::cited);
    CHECK(folder.load().source[i] == "a paper");
}

TEST_CASE("chips that run another architecture's kernels have its parameters and fit") {
    ParameterFolder folder;
    folder.write("arch/_default.toml", assumed);
    folder.write("arch/ada.toml", "[gemm.tensor16]\npeak_fraction = { value = 0.6, source = \"a paper\" }\n");
    folder.write("arch/blackwell.toml", "[gemm.tensor16]\npeak_fraction = { value = 0.9, source = \"a paper\" }\n");
    GpuProfile gpu;
    gpu.architecture = "blackwell";
    const auto value = [&] { return parameter_specs()[parameter_index(key)].get(load_parameters(folder.path(), gpu).values); };
    CHECK(value() == rel(0.9, 1e-12));
    gpu.facts.kernels_of = "ada";
    CHECK(value() == rel(0.6, 1e-12));
    folder.write("fits/arch/blackwell.fit.toml", "[gemm.tensor16]\npeak_fraction = 0.95\n");
    folder.write("fits/arch/ada.fit.toml", "[gemm.tensor16]\npeak_fraction = 0.7\n");
    CHECK(value() == rel(0.7, 1e-12));
}

TEST_CASE("a parameter that no file sets keeps its built-in value and says so") {
    const ParameterFolder folder;
    CHECK(folder.load().source[parameter_index(key)] == "assumed: built-in default");
}

TEST_CASE("parameter files are read strictly") {
    const auto load = [](const char* text) { return ParameterFolder().write("arch/ada.toml", text).load(); };
    CHECK_THROWS_WITH_AS(load("source = \"x\"\n[gemm.tensor16]\npeak_fracton = 0.5\n"),
                         Contains("ada.toml:3: gemm.tensor16.peak_fracton: unknown parameter"), Error);
    CHECK_THROWS_WITH_AS(load("source = \"x\"\n[gemm.tensor16]\npeak_fracton = 0.5\n"),
                         Contains("did you mean gemm.tensor16.peak_fraction"), Error);
    CHECK_THROWS_WITH_AS(load("source = \"x\"\n[gemm.tensor16]\npeak_fraction = 1.72\n"),
                         Contains("ada.toml:3: gemm.tensor16.peak_fraction: outside its physical bounds; found 1.72"), Error);
    CHECK_THROWS_WITH_AS(load("source = \"x\"\n[gemm.tensor16]\npeak_fraction = nan\n"), Contains("outside its physical bounds"), Error);
    CHECK_THROWS_WITH_AS(load("source = \"x\"\n[gemm.tensor16]\npeak_fraction = true\n"), Contains("not a parameter"), Error);
    CHECK_THROWS_WITH_AS(load("[gemm.tensor16]\npeak_fraction = 0.5\n"), Contains("a source is missing"), Error);
    CHECK_THROWS_WITH_AS(load("[gemm.tensor16]\npeak_fraction = { value = 0.5, source = \"x\", unit = \"us\" }\n"), Contains("wrong unit"),
                         Error);
}

TEST_CASE("a fit cannot set a peak") {
    ParameterFolder folder;
    folder.write("fits/card.fit.toml", "[compute]\nfp32_tflops = 40\n");
    CHECK_THROWS_WITH_AS(folder.load(), Contains("data-sheet values cannot be set here"), Error);
}

TEST_CASE("what a fit reports of its accuracy changes nothing, and lines after it keep their numbers") {
    const std::string report = "[fit.accuracy]\nin_fit = { rows = 9 }\n[[fit.stage]]\nloss = [\n  1,\n]\n";
    const auto load = [&](const std::string& text) { return ParameterFolder().write("fits/card.fit.toml", text).load(); };
    const std::size_t i = parameter_index(key);
    const std::string intervals = "[fit.intervals]  # quantiles\ngemm = { lower = -0.1, upper = 0.1 }\n";
    const ParameterSet set = load("[fit]\ngpus = [\"card\"]\n" + report + intervals + "[gemm.tensor16]\npeak_fraction = 0.8\n");
    CHECK(parameter_specs()[i].get(set.values) == rel(0.8, 1e-12));
    CHECK(set.intervals.size() == 1);
    CHECK_THROWS_WITH_AS(load(report + "[gemm.tensor16]\npeak_fraction = 1.72\n"), Contains("card.fit.toml:8: gemm.tensor16.peak_fraction"),
                         Error);
    // Where lines of a report look like tables, and in texts of several lines, all is read.
    const std::string matrix = "[[fit.stage]]\nloss = [\n[1, 2],\n[3, 4]\n]\n";
    CHECK(parameter_specs()[i].get(load(matrix + "[gemm.tensor16]\npeak_fraction = 0.7\n").values) == rel(0.7, 1e-12));
    const std::string text = "[gemm]\nsource = \"\"\"\n[fit.stage]\n\"\"\"\ntensor16.peak_fraction = 0.6\n";
    CHECK(parameter_specs()[i].get(load(text).values) == rel(0.6, 1e-12));
}

TEST_CASE("fits of kernel families are read where they are wanted") {
    ParameterFolder folder;
    std::filesystem::create_directory(folder.path() / "fits" / "card");
    for (const char* family : {"fits/card/fast.fit.toml", "fits/card/slow.fit.toml"})
        folder.write(family, "[gemm.tensor16]\npeak_fraction = 0.9\n");
    CHECK(folder.load().families.size() == 2);
    GpuProfile gpu;
    gpu.id = "card";
    const auto only = [&](std::vector<std::string> names) { return load_parameters(folder.path(), gpu, {}, std::move(names)).families; };
    REQUIRE(only({"slow", "none"}).size() == 1);
    CHECK(only({"slow"}).front().family == "slow");
    CHECK(parameter_specs()[parameter_index(key)].get(only({"slow"}).front().values) == rel(0.9, 1e-12));
    CHECK(only({}).empty());
}

TEST_CASE("a family's fit to all GPUs applies where neither the GPU nor its architecture has one, on GPUs of NVIDIA") {
    ParameterFolder folder;
    for (const char* of : {"_default", "ada"}) std::filesystem::create_directory(folder.path() / "fits" / "arch" / of);
    const auto fraction = [&] { return parameter_specs()[parameter_index(key)].get(folder.load().families.at(0).values); };
    folder.write("fits/arch/_default/fast.fit.toml", "[gemm.tensor16]\npeak_fraction = 0.6\n");
    CHECK(fraction() == rel(0.6, 1e-12));
    folder.write("fits/arch/ada/fast.fit.toml", "[gemm.tensor16]\npeak_fraction = 0.7\n");
    CHECK(folder.load().families.size() == 1);
    CHECK(fraction() == rel(0.7, 1e-12));
    GpuProfile other;
    other.id = "other";
    other.vendor = "AMD";
    other.architecture = "cdna3";
    CHECK(load_parameters(folder.path(), other).families.empty());
}

TEST_CASE("a user's fit stands in place of the shipped one, and says whose it is") {
    ParameterFolder shipped, users;
    GpuProfile gpu;
    gpu.id = "card";
    gpu.vendor = "NVIDIA";
    gpu.architecture = "ada";
    const std::size_t i = parameter_index(key), factor = parameter_index("time_factor.models");
    shipped.write("arch/_default.toml", assumed);
    shipped.write("fits/card.fit.toml",
                  "[fit.intervals]\ngemm = { rows = 9, lower = -0.1, upper = 0.1 }\n[gemm.tensor16]\npeak_fraction = 0.8\n");
    CHECK(load_parameters(shipped.path(), gpu, users.path()).provenance[i] == Provenance::gpu_fit);
    users.write("fits/card.fit.toml",
                "[fit.intervals]\ngemm = { rows = 9, lower = -0.2, upper = 0.2 }\n[gemm.tensor16]\npeak_fraction = { value = 0.9, source = "
                "\"unchanged from the shipped fit\" }\n[time_factor]\nmodels = { value = 2.2, interval_low = 2.1, interval_high = 2.3 }\n");
    const ParameterSet set = load_parameters(shipped.path(), gpu, users.path());
    CHECK(parameter_specs()[i].get(set.values) == rel(0.9, 1e-12));
    CHECK(set.provenance[i] == Provenance::gpu_fit);  // as good as in the shipped fit
    CHECK(set.provenance[factor] == Provenance::user_fit);
    CHECK(name(set.provenance[factor]) == "user_fit");
    CHECK(set.source[factor] == "your card.fit.toml, 80 % within 2.1 to 2.3");
    REQUIRE(set.intervals.size() == 1);
    CHECK(set.intervals[0].lower == -0.2);
    CHECK(set.intervals[0].basis == "your fit of card");
    CHECK(load_parameters(shipped.path(), gpu).source[i] == "card.fit.toml");
}

TEST_CASE("a fit that refines a shipped one is a user's wherever it lies") {
    ParameterFolder folder;
    folder.write("arch/_default.toml", assumed);
    folder.write("fits/card.fit.toml", "[fit]\nrefines = \"shipped fit of card\"\n[gemm.tensor16]\npeak_fraction = 0.8\n");
    CHECK(folder.load().provenance[parameter_index(key)] == Provenance::user_fit);
    CHECK(folder.load().source[parameter_index(key)] == "your card.fit.toml");
    CHECK(is_refined_fit(folder.path() / "fits" / "card.fit.toml"));
}
