#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "workload/hugging_face_configs.hpp"

using namespace roofcast;
using nlohmann::json;
using roofcast::test::decoder;
using roofcast::test::failure;
using roofcast::test::read;
using roofcast::test::with;

namespace {

/// Of the config's first forward pass: what the checkpoint's safetensors hold.
double parameters(const json& config) {
    return total_parameters(forward_graph(read(config), {}, {}));
}

DecoderLlm read_decoder(const json& config) {
    return std::get<DecoderLlm>(read(config).architecture);
}

const json gemma2_2b = with(decoder("gemma2", 26, 2304, 8, 4, 9216, 256000, 8192), {{"head_dim", 256}, {"sliding_window", 4096}});
const json gemma3_1b = with(decoder("gemma3_text", 26, 1152, 4, 1, 6912, 262144, 32768),
                            {{"head_dim", 256}, {"sliding_window", 512}, {"sliding_window_pattern", 6}});

}  // namespace

TEST_CASE("configs of decoders give the parameters of their checkpoints") {
    CHECK(parameters(with(decoder("gemma", 18, 2048, 8, 1, 16384, 256000, 8192), {{"head_dim", 256}})) == 2506172416);
    CHECK(parameters(gemma2_2b) == 2614341888);
    CHECK(parameters(gemma3_1b) == 999885952);
    CHECK(parameters(decoder("phi3", 32, 3072, 32, 32, 8192, 32064, 4096)) == 3821079552);
    CHECK(parameters(decoder("gpt_neox", 44, 6144, 64, 64, 24576, 50432, 2048)) == 20554567680);
    CHECK(parameters(with(decoder("starcoder2", 30, 3072, 24, 2, 12288, 49152, 16384), {{"sliding_window", 4096}})) == 3030371328);
    CHECK(parameters(with(decoder("glm4", 40, 4096, 32, 2, 13696, 151552, 32768), {{"attention_bias", true}, {"head_dim", 128}})) ==
          9400279040);
}

TEST_CASE("windows of Gemma leave every n-th layer full") {
    CHECK(read_decoder(gemma2_2b).sliding_window == 4096);
    CHECK(read_decoder(gemma2_2b).full_attention_every == 2);
    CHECK(read_decoder(gemma3_1b).sliding_window == 512);
    CHECK(read_decoder(gemma3_1b).full_attention_every == 6);
    // As later versions of the library write it.
    json types = json::array();
    for (int i = 1; i <= 26; ++i) types.push_back(i % 6 == 0 ? "full_attention" : "sliding_attention");
    CHECK(read_decoder(with(gemma3_1b, {{"layer_types", types}, {"sliding_window_pattern", 4}})).full_attention_every == 6);
    types[0] = "full_attention";
    CHECK(failure(with(gemma3_1b, {{"layer_types", types}}).dump()).key == "layer_types");
}

TEST_CASE("windows of other decoders are those of all layers, where they are on") {
    const json phi3 = decoder("phi3", 32, 3072, 32, 32, 8192, 32064, 4096);
    CHECK(read_decoder(phi3).sliding_window == 0);
    CHECK(read_decoder(with(phi3, {{"sliding_window", 2047}})).full_attention_every == 0);
    CHECK(read_decoder(decoder("starcoder2", 30, 3072, 24, 2, 12288, 49152, 16384)).full_attention_every == 1);
    const json serial = with(decoder("gpt_neox", 2, 64, 4, 4, 256, 1000, 128), {{"use_parallel_residual", false}});
    CHECK_FALSE(read_decoder(serial).parallel_block);
    CHECK(read_decoder(serial).mlp_bias);
}
