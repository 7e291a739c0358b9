/// 0: GGUF files; 1: safetensors files beside a config.json; 2: indexes of safetensors files; 3: tables of weight formats.

#include "fuzz/input.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/targets.hpp"
#include "units/weight_formats.hpp"

namespace roofcast {

namespace {

/// Of the smallest net that the reader takes, so that inputs reach the readers of tensors.
std::filesystem::path small_checkpoint() {
    return fuzz::folder()
        .file("model/config.json",
              R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 8,
                  "vocab_size": 8, "max_position_embeddings": 8})")
        .parent_path();
}

}  // namespace

int fuzz::weights(const std::uint8_t* data, std::size_t size) {
    constexpr std::array<fuzz::Reader, 4> readers{
        [](std::string_view text) { fuzz::require_sound_runs(load_workload(fuzz::folder().file("model.gguf", text))); },
        [](std::string_view text) {
            static_cast<void>(fuzz::folder().file("model/model.safetensors", text));
            fuzz::require_sound_runs(load_workload(small_checkpoint()));
        },
        [](std::string_view text) {
            static_cast<void>(fuzz::folder().file("model/model.safetensors.index.json", text));
            fuzz::require_sound_runs(load_workload(small_checkpoint()));
        },
        [](std::string_view text) { static_cast<void>(read_weight_tables(text, "weight-formats.toml")); },
    };
    return fuzz::read(data, size, readers);
}

}  // namespace roofcast
