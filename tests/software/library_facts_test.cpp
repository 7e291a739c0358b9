#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>

#include "roofcast/error.hpp"
#include "roofcast/software.hpp"
#include "support/paths.hpp"
#include "support/shipped_gpu.hpp"

using namespace roofcast;
using doctest::Contains;

namespace {

/// Software with the library `text` and, in libraries.toml, `choices`.
SoftwareStacks with_library(const std::string& text, const std::string& choices = "libraries = [\"maker\"]\n") {
    const test::TemporaryFile ways("execution.toml", test::text_of(test::software_dir() / "execution.toml"));
    const auto folder = ways.path().parent_path();
    std::filesystem::create_directory(folder / "libraries");
    std::ofstream(folder / "libraries" / "maker.toml") << "name = \"maker\"\nsource = \"a test\"\n" << text;
    std::ofstream(folder / "libraries.toml") << choices;
    return load_software(folder);
}

GpuProfile chip(const std::string& architecture, std::optional<ComputeCapability> capability) {
    GpuProfile gpu;
    gpu.architecture = architecture;
    gpu.compute_capability = capability;
    return gpu;
}

LibraryFacts facts_of(const std::string& lines) {
    return with_libraries(chip("ada", ComputeCapability{8, 9}), with_library("[[facts]]\n" + lines)).libraries;
}

LibraryFacts with_fp8_tiles(const std::string& tiles) {
    return facts_of("fp8_tiles = " + tiles + "\n");
}

}  // namespace

TEST_CASE("facts of a library hold on the architectures and capabilities that they name, later ones over earlier") {
    const SoftwareStacks software = with_library(
        "[[facts]]\narchitectures = [\"pascal\"]\nlinear_simt_rows = 64\nbatched_simt_tile = [64, 128]\n"
        "[[facts]]\narchitectures = [\"pascal\", \"ada\"]\ncapability = [\"6.0\", \"8\"]\nbatched_simt_tile = [32, 32]\n");
    const auto on = [&](const char* architecture, std::optional<ComputeCapability> capability) {
        return with_libraries(chip(architecture, capability), software).libraries;
    };
    CHECK(on("pascal", ComputeCapability{6, 1}).batched_simt_tile == std::array{64, 128});
    CHECK(on("pascal", ComputeCapability{6, 0}).batched_simt_tile == std::array{32, 32});
    CHECK(on("pascal", ComputeCapability{6, 0}).linear_simt_rows == 64);
    CHECK(on("ada", ComputeCapability{8, 9}).batched_simt_tile == std::array{32, 32});
    CHECK(on("ada", std::nullopt).batched_simt_tile == std::array{0, 0});
    CHECK(on("volta", ComputeCapability{7, 0}).linear_simt_rows == 128);
    // A profile without a compute capability is taken for the architecture's usual one.
    GpuProfile usual = chip("pascal", std::nullopt);
    usual.facts.default_capability = ComputeCapability{6, 0};
    CHECK(with_libraries(usual, software).libraries.batched_simt_tile == std::array{32, 32});
    // Libraries that are not named do not run, and folders without libraries.toml have none.
    CHECK(with_libraries(chip("pascal", ComputeCapability{6, 1}), with_library("[[facts]]\nlinear_simt_rows = 64\n", "libraries = []\n"))
              .libraries.linear_simt_rows == 128);
}

TEST_CASE("a stack runs on a GPU with the facts of its libraries") {
    Gpu gpu{chip("ada", ComputeCapability{8, 9}), {}};
    const SoftwareStacks software = with_library("[[facts]]\nlinear_simt_rows = 64\n");
    CHECK(as_software_sees(gpu, software.find(Execution::eager, "")).profile.libraries.linear_simt_rows == 64);
    gpu.profile.libraries.linear_simt_rows = 64;
    CHECK(as_software_sees(gpu, SoftwareStack{}).profile.libraries.linear_simt_rows == 64);  // one that knows no libraries
}

TEST_CASE("an attention library is a table: its design runs where libraries.toml says so") {
    const std::string design =
        "[[attention]]\nname = \"loose\"\n[[attention]]\nname = \"tight\"\nuncached = \"loose\"\nquery_rows = 64\n"
        "packed_rows = [{ widest_head = 64, rows = [16, 64] }, { rows = [128] }]\n"
        "prompt_split = { algorithm = \"even_steps\", keys = 256 }\ndecode_split = { algorithm = \"free_sms\", most_parts = 8 }\n"
        "has_sinks = false\nimbalance = 0.25\nfar_start_us = 1.5\nstart = { prompt_cycles = 100, narrow_head = 96 }\n"
        "shared_row_tiles = [8, 32]\nrow_bytes_per_sm_clock = 12\nmost_scanned = 10\nscan_cycles = 3\n";
    const SoftwareStacks software =
        with_library(design,
                     "[[attention]]\narchitectures = [\"ada\"]\nsource = \"a test\"\nnarrow = \"tight\"\nframework = \"loose\"\n"
                     "general_widths = { narrow = [192] }\nquery_block = 256\n");
    const LibraryFacts ada = with_libraries(chip("ada", std::nullopt), software).libraries;
    const AttentionKernels& narrow = ada.attention[index(CacheFormat::narrow)];
    CHECK(narrow.design.query_rows == 64);
    CHECK(narrow.uncached.has_value());
    REQUIRE(narrow.design.packed_rows.size() == 2);
    CHECK(narrow.design.packed_rows[0].widest_head == 64);
    CHECK(narrow.design.packed_rows[1].rows == std::vector<std::int64_t>{128});
    CHECK(narrow.design.prompt_split.algorithm == SplitAlgorithm::even_steps);
    CHECK(narrow.design.prompt_split.keys == 256);
    CHECK(narrow.design.decode_split.most_parts == 8);
    CHECK_FALSE(narrow.design.has_sinks);
    CHECK(narrow.design.imbalance == 0.25);
    CHECK(narrow.design.far_start.in(us) == 1.5);
    CHECK(narrow.design.start.prompt_cycles == 100);
    CHECK(narrow.design.start.narrow_head == 96);
    CHECK(narrow.design.shared_row_tiles == std::vector<std::int64_t>{8, 32});
    CHECK(narrow.design.most_scanned == 10);
    CHECK(ada.attention[index(CacheFormat::plain)].design.query_rows == 0);
    CHECK(ada.framework_attention.has_value());
    CHECK(ada.general_widths[index(CacheFormat::narrow)] == std::vector<std::int64_t>{192});
    CHECK(ada.query_block == 256);
    CHECK_FALSE(with_libraries(chip("volta", std::nullopt), software).libraries.framework_attention);
}

TEST_CASE("wrong designs of attention, and wrong choices among them, are refused with file, line and key") {
    const auto design = [](const std::string& lines) { return with_library("[[attention]]\nname = \"tight\"\n" + lines); };
    CHECK_THROWS_WITH_AS(design("decode_split = { algorithm = \"free_sm\" }\n"), Contains("did you mean free_sms"), Error);
    CHECK_THROWS_WITH_AS(design("prompt_split = { algorithm = \"fastest\" }\n"), Contains("prompt_split"), Error);
    CHECK_THROWS_WITH_AS(design("packed_rows = [{ rows = [64, 16] }]\n"), Contains("ascending"), Error);
    CHECK_THROWS_WITH_AS(design("packed_rows = [{ rows = [] }]\n"), Contains("ascending"), Error);
    CHECK_THROWS_WITH_AS(design("imbalance = 2\n"), Contains("maker.toml:5"), Error);
    CHECK_THROWS_WITH_AS(design("shared_row_tiles = [8]\n"), Contains("row_bytes_per_sm_clock"), Error);
    CHECK_THROWS_WITH_AS(design("imbalanced = 0.5\n"), Contains("imbalance"), Error);
    CHECK_THROWS_WITH_AS(design("[[attention]]\nname = \"tight\"\n"), Contains("two attention designs have the same name"), Error);
    CHECK_THROWS_WITH_AS(design("uncached = \"tihgt\"\n"), Contains("unknown attention design"), Error);
    const auto choice = [](const std::string& lines) { return with_library("[[attention]]\nname = \"tight\"\n", lines); };
    CHECK_THROWS_WITH_AS(choice("[[attention]]\nsource = \"t\"\nplain = \"tigth\"\n"), Contains("did you mean tight"), Error);
    CHECK_THROWS_WITH_AS(choice("[[attention]]\nplain = \"tight\"\n"), Contains("source"), Error);
    CHECK_THROWS_WITH_AS(choice("[[attention]]\nsource = \"t\"\nwide = \"tight\"\n"), Contains("wide"), Error);
    CHECK_THROWS_WITH_AS(choice("[[attention]]\nsource = \"t\"\nquery_block = 8\n"), Contains("query_block"), Error);
    CHECK_THROWS_WITH_AS(choice("libraries = [\"make\"]\n"), Contains("unknown kernel library"), Error);
    CHECK_THROWS_WITH_AS(with_library("[[facts]]\ncapability = [\"x\"]\n"), Contains("is not a compute capability"), Error);
}

TEST_CASE("shipped facts of libraries name architectures that there are") {
    std::set<std::string> architectures;
    for (const auto& entry : std::filesystem::directory_iterator(test::gpus_dir() / "arch"))
        architectures.insert(entry.path().stem().string());
    REQUIRE(test::shipped_software().library_facts);
    CHECK(test::shipped_software().library_facts->size() > 10);
    for (const LibraryFactsTable& table : *test::shipped_software().library_facts) {
        CHECK_FALSE(table.source.empty());
        CHECK_FALSE(table.stated.empty());
        for (const std::string& name : table.architectures) {
            CAPTURE(name);
            CHECK(architectures.contains(name));
        }
    }
}

TEST_CASE("linear layers on CUDA cores have tiles of 64 or 128 rows") {
    CHECK(facts_of("linear_simt_rows = 64\n").linear_simt_rows == 64);
    CHECK(facts_of("").linear_simt_rows == 128);
    CHECK_THROWS_WITH_AS(facts_of("linear_simt_rows = 100\n"),
                         Contains("linear_simt_rows: libraries have no such tile; found 100; expected 64 or 128"), Error);
}

TEST_CASE("a library may have one tile for batched GEMMs on CUDA cores") {
    CHECK(facts_of("").batched_simt_tile == std::array{0, 0});
    CHECK(facts_of("batched_simt_tile = [64, 128]\n").batched_simt_tile == std::array{64, 128});
    CHECK_THROWS_WITH_AS(facts_of("batched_simt_tile = [64]\n"), Contains("batched_simt_tile: not a tile"), Error);
    CHECK_THROWS_WITH_AS(facts_of("batched_simt_tile = [64, 2048]\n"), Contains("at most 1024 each"), Error);
    CHECK_THROWS_AS(facts_of("batched_simt_tile = [0, 64]\n"), Error);
}

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
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], relative_epilogue = 0 }]"), Contains("relative_epilogue: out of range"),
                         Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], relative_epilogue = 0 }]"), Contains("maker.toml:"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], relative_epilogue = \"long\" }]"), Contains("relative_epilogue"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], cluster_rows = 0 }]"), Contains("cluster_rows"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], padding_cost = -1 }]"), Contains("padding_cost: out of range"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16] }]"), Contains("not a tile"), Error);
    CHECK_THROWS_WITH_AS(with_fp8_tiles("[{ tile = [16, 64], epilogue = 2 }]"), Contains("epilogue"), Error);
}

TEST_CASE("what not all architectures have alike is stated by its own name, not told from the silicon") {
    const LibraryFacts facts = facts_of(
        "splits_misaligned = true\nmisaligned_tile = 64\nmisaligned_pair_rate = 1.5\nmisaligned_row_on_simt = true\n"
        "bias_without_split = true\ntf32_kernels = { start_cycles = 2500, widest_tile = 128 }\n"
        "few_row_kernel = { least_rows = 2, most_rows = 4, least_columns = 640, short_k = 64, block_columns = 8, block_threads = 128, "
        "element_cycles = 2.5, start_cycles = 1600, bandwidth_fraction = 0.85 }\n"
        "gathering = { step_bytes = 64, wide_step_bytes = 128, least_outputs = 32, start_cycles = 3000 }\n"
        "large_filter_rate = 0.7\nfp8_convolution_rate = 0.25\nfirst_layer_kernel = true\npads_channels = true\n"
        "group_conversion = { gathered_clocks = 1.5, scattered_clocks = 2.5 }\nbatch_norm_by_grid = true\n"
        "general_depthwise = { tap_instructions = 100, group_output_instructions = 6000 }\n"
        "framework_depthwise = { output_instructions = 107, tap_instructions = 10.5, usual_tap_instructions = 7.5 }\n");
    CHECK(facts.gemms.splits_misaligned);
    CHECK(facts.gemms.misaligned_tile == 64);
    CHECK(facts.gemms.misaligned_pair_rate == 1.5);
    CHECK(facts.gemms.misaligned_row_on_simt);
    CHECK(facts.gemms.bias_without_split);
    REQUIRE(facts.gemms.tf32);
    CHECK(facts.gemms.tf32->widest_tile == 128);
    REQUIRE(facts.gemms.few_rows);
    CHECK(facts.gemms.few_rows->most_rows == 4);
    CHECK(facts.gemms.few_rows->bandwidth_fraction == 0.85);
    REQUIRE(facts.convolutions.gathering);
    CHECK(facts.convolutions.gathering->wide_step.in(byte) == 128);
    CHECK(facts.convolutions.gathering->least_outputs == 32);
    CHECK(facts.convolutions.large_filter_rate == 0.7);
    CHECK(facts.convolutions.fp8_rate == 0.25);
    CHECK(facts.convolutions.first_layer_kernel);
    CHECK(facts.convolutions.pads_channels);
    CHECK(facts.convolutions.batch_norm_by_grid);
    CHECK(facts.convolutions.group_conversion->scattered_clocks == 2.5);
    CHECK(facts.convolutions.general_depthwise->tap_instructions == 100);
    CHECK(facts.convolutions.framework_depthwise->usual_tap_instructions == 7.5);
    const GemmKernels usual = facts_of("").gemms;
    CHECK_FALSE(usual.splits_misaligned);
    CHECK_FALSE(usual.few_rows);
    CHECK_FALSE(facts_of("").convolutions.gathering);
    CHECK_THROWS_WITH_AS(facts_of("large_filter_rate = 1.5\n"), Contains("large_filter_rate: out of range"), Error);
    CHECK_THROWS_WITH_AS(facts_of("tf32_kernels = { start_cycles = 2500 }\n"), Contains("widest_tile"), Error);
    CHECK_THROWS_WITH_AS(facts_of("gathering = { step_bytes = 64 }\n"), Contains("wide_step_bytes"), Error);
    CHECK_THROWS_WITH_AS(facts_of("misaligned_tiles = 64\n"), Contains("did you mean misaligned_tile"), Error);
}
