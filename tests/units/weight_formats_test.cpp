#include "units/weight_formats.hpp"

#include <doctest/doctest.h>

#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

using namespace roofcast;
using roofcast::test::rel;

TEST_CASE("llama.cpp's formats have the bits of their blocks") {
    // GGML_QUANT_SIZES of gguf-py/gguf/constants.py: weights and bytes of a block, with 16 bits a scale.
    const std::pair<const char*, double> formats[] = {{"q4_0", 8 * 18 / 32.0},
                                                      {"q4_1", 8 * 20 / 32.0},
                                                      {"q5_0", 8 * 22 / 32.0},
                                                      {"q5_1", 8 * 24 / 32.0},
                                                      {"q8_0", 8 * 34 / 32.0},
                                                      {"q2_k", 8 * 84 / 256.0},
                                                      {"q3_k", 8 * 110 / 256.0},
                                                      {"q4_k", 8 * 144 / 256.0},
                                                      {"q5_k", 8 * 176 / 256.0},
                                                      {"q6_k", 8 * 210 / 256.0},
                                                      {"iq1_s", 1.5625},
                                                      {"iq1_m", 1.75},
                                                      {"iq2_xxs", 2.0625},
                                                      {"iq2_xs", 2.3125},
                                                      {"iq2_s", 2.5625},
                                                      {"iq3_xxs", 3.0625},
                                                      {"iq3_s", 3.4375},
                                                      {"iq4_nl", 4.5},
                                                      {"iq4_xs", 4.25},
                                                      {"tq1_0", 1.6875},
                                                      {"tq2_0", 2.0625},
                                                      {"mxfp4", 8 * 17 / 32.0},
                                                      {"nvfp4", 4.5}};
    for (const auto& [name, bits] : formats) {
        CAPTURE(std::string(name));
        REQUIRE(weight_tables().format(name) != nullptr);
        CHECK(weight_tables().format(name)->format.bits == bits);
    }
}

TEST_CASE("every name that llama.cpp's quantizer takes is a weight format") {
    for (const char* name :
         {"q4_0",    "q4_1",   "q5_0",  "q5_1",   "q8_0",   "q2_k",   "q2_k_s", "q3_k",  "q3_k_s",  "q3_k_m", "q3_k_l", "q4_k",
          "q4_k_s",  "q4_k_m", "q5_k",  "q5_k_s", "q5_k_m", "q6_k",   "iq1_s",  "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s",  "iq2_m",
          "iq3_xxs", "iq3_xs", "iq3_s", "iq3_m",  "iq4_nl", "iq4_xs", "tq1_0",  "tq2_0", "mxfp4",   "Q4_K_M"}) {
        CAPTURE(std::string(name));
        CHECK(parse_weight_format(name));
    }
    CHECK(parse_weight_format("q4_k")->label == "q4_k_m");  // as quantize.cpp has it
    CHECK(parse_weight_format("q4_k_m")->mixed);
    CHECK_FALSE(parse_weight_format("int4")->mixed);
}

TEST_CASE("the shipped table of weight formats is the one in the program") {
    const WeightTables shipped = read_weight_tables(test::text_of(test::software_dir() / "weight-formats.toml"), "weight-formats.toml");
    CHECK(shipped.formats.size() == weight_tables().formats.size());
    CHECK(shipped.mixes.size() == weight_tables().mixes.size());
    // Numbers of types and files name one row each.
    for (const StoredFormat& stored : shipped.formats) {
        if (stored.ggml_type) CHECK(shipped.of_ggml_type(*stored.ggml_type) == &stored);
    }
    for (const WeightMix& mix : shipped.mixes) CHECK(shipped.of_file_type(mix.file_type) == &mix);
}

TEST_CASE("a table of weight formats that names what is not there is refused with its line") {
    const auto refused = [](const char* text) {
        try {
            static_cast<void>(read_weight_tables(text, "formats.toml"));
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const std::string format = "[[format]]\nname = \"a\"\nprecision = \"int4\"\nbits = 4\n";
    CHECK(refused((std::string("short_output = \"b\"\n") + format).c_str()).find("unknown format") != std::string::npos);
    CHECK(
        refused((std::string("short_output = \"a\"\n") + format + "[[mix]]\nname = \"m\"\nformat = \"a\"\nmean_bits = 4\nfile_type = 1\n" +
                 "rules = [{ tensors = [\"attn_w\"], format = \"a\" }]\n")
                    .c_str())
            .find("attn_w") != std::string::npos);
    CHECK(refused((std::string("short_output = \"a\"\n") + format + "colour = 1\n").c_str()).find("colour") != std::string::npos);
}

TEST_CASE("the guide names every mix, and the reference every key") {
    const std::string guide = test::text_of(test::source_dir() / "docs/guide/quantized-models.md");
    for (const WeightMix& mix : weight_tables().mixes) {
        CAPTURE(mix.name);
        CHECK(guide.find("`" + mix.name + "`") != std::string::npos);
    }
    const std::string reference = test::text_of(test::source_dir() / "docs/reference/software.md");
    for (const char* key : {"ggml_type", "short_rows", "unpacked_per_sm_clock", "file_type", "mean_bits", "short_output", "least_group"}) {
        CAPTURE(std::string(key));
        CHECK(reference.find(key) != std::string::npos);
    }
}
