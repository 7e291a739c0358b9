#include "profile/architecture_facts.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <string>

#include "roofcast/error.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using doctest::Contains;
using roofcast::test::gpus_dir;
using roofcast::test::TemporaryFile;

namespace {

/// Facts of Ada with the text from `begin` to `end` replaced by `text`.
ArchitectureFacts ada_with(const std::string& begin, const std::string& end, const std::string& text) {
    std::string document = roofcast::test::text_of(gpus_dir() / "arch" / "ada.toml");
    const std::size_t first = document.find(begin);
    const std::size_t last = document.find(end, first);
    REQUIRE(first != std::string::npos);
    REQUIRE(last != std::string::npos);
    document.replace(first, last + end.size() - first, text);
    const TemporaryFile placeholder("readme", "facts for a test");
    const auto folder = placeholder.path().parent_path();
    std::filesystem::create_directory(folder / "arch");
    std::filesystem::copy(gpus_dir() / "arch" / "_default.toml", folder / "arch" / "_default.toml");
    std::ofstream(folder / "arch" / "ada.toml") << document;
    return load_architecture_facts(folder, "ada", std::nullopt);
}

}  // namespace

TEST_CASE("what shared memory delivers is known of NVIDIA's architectures, half of it on Turing") {
    const auto delivered = [](const char* architecture) {
        return load_architecture_facts(gpus_dir(), architecture, std::nullopt).shared_memory_per_clock.in(byte);
    };
    CHECK(delivered("volta") == 128);
    CHECK(delivered("turing") == 64);
    CHECK(delivered("cdna3") == 0);
    CHECK_THROWS_WITH_AS(ada_with("shared_memory_bytes_per_clock", "\n", "shared_memory_bytes_per_clock = 0\n"),
                         Contains("shared_memory_bytes_per_clock: out of range; found 0"), Error);
}

TEST_CASE("an architecture says what its drivers leave of the memory, or takes the fraction of all others") {
    const auto share = [](const char* architecture, std::optional<ComputeCapability> capability) {
        return load_architecture_facts(gpus_dir(), architecture, capability).usable_memory_fraction.value();
    };
    CHECK(share("apple", std::nullopt) == 0.75);
    CHECK(share("ampere", ComputeCapability{8, 0}) == share("hopper", std::nullopt));
    CHECK(share("ampere", ComputeCapability{8, 7}) < share("ampere", ComputeCapability{8, 0}));
    for (const char* wrong : {"0", "1.1"}) {
        CHECK_THROWS_WITH_AS(ada_with("pcie_generation", "\n", fmt::format("pcie_generation = 4\nusable_memory_fraction = {}\n", wrong)),
                             Contains("usable_memory_fraction: out of range"), Error);
    }
}

TEST_CASE("chips may run the kernels of another architecture, which must have a file") {
    const auto kernels_of = [](ComputeCapability capability) {
        return load_architecture_facts(gpus_dir(), "blackwell", capability).kernels_of;
    };
    CHECK(kernels_of({12, 0}) == "ada");
    CHECK(kernels_of({10, 0}).empty());
    CHECK_THROWS_WITH_AS(ada_with("pcie_generation", "\n", "pcie_generation = 4\nkernels_of = \"adda\"\n"),
                         Contains("kernels_of: unknown architecture; found 'adda'"), Error);
}

TEST_CASE("an architecture says what its GPUs lie within, and how much faster sparse inputs are") {
    const auto with_ranges = [](const std::string& line) { return ada_with("gpu_ranges = {", "\n", line); };
    const std::string rest = ", boost_clock_mhz = [1400, 2800], watts_per_sm = [1, 6], gb_s_per_sm = [4, 14] }\n";
    const auto ranges = with_ranges("gpu_ranges = { sm_count = [18, 144]" + rest).gpu_ranges;
    REQUIRE(ranges);
    CHECK(ranges->fewest_sms == 18);
    CHECK(ranges->highest_boost_clock.in(mhz) == 2800);
    CHECK(ranges->most_power_per_sm.in(watt) == 6);
    CHECK(ranges->least_bandwidth_per_sm.in(gb_per_s) == 4);
    CHECK_FALSE(with_ranges("").gpu_ranges);
    CHECK_THROWS_WITH_AS(with_ranges("gpu_ranges = { sm_count = [144, 18]" + rest), Contains("sm_count: wrong list"), Error);
    CHECK_THROWS_WITH_AS(with_ranges("gpu_ranges = { sm_count = [18]" + rest), Contains("[lowest, highest]"), Error);
    CHECK_THROWS_WITH_AS(with_ranges("gpu_ranges = { sm_counts = [18, 144]" + rest), Contains("sm_count"), Error);
    CHECK(with_ranges("").sparse_ratio == 2);
    CHECK(load_architecture_facts(gpus_dir(), "turing", std::nullopt).sparse_ratio == 1);
    CHECK_THROWS_WITH_AS(with_ranges("sparse_ratio = 0.5\n"), Contains("sparse_ratio: out of range"), Error);
}

TEST_CASE("rows that lie far apart have a length and take cycles") {
    const auto far = [](const std::string& line) { return ada_with("pcie_generation", "\n", "pcie_generation = 4\n" + line).far_rows; };
    CHECK(far("").fetch_cycles == 0);
    CHECK(far("far_rows = { fetch_cycles = 16, kib = 96, rows = 800 }\n").fetch_cycles == 16);
    CHECK(far("far_rows = { fetch_cycles = 16, kib = 96, rows = 800 }\n").length.in(kib) == 96);
    CHECK(far("far_rows = { fetch_cycles = 16, kib = 96, rows = 800 }\n").rows == 800);
    CHECK_THROWS_WITH_AS(far("far_rows = { fetch_cycles = 16, kib = 96 }\n"), Contains("rows"), Error);
    CHECK_THROWS_WITH_AS(far("far_rows = { fetch_cycles = 16, rows = 800 }\n"), Contains("kib"), Error);
    CHECK_THROWS_WITH_AS(far("far_rows = { fetch_cycles = 0, kib = 96, rows = 800 }\n"), Contains("fetch_cycles: out of range"), Error);
}
