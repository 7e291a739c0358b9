#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "roofcast/error.hpp"
#include "roofcast/op_graph.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"

/// Configs of Hugging Face's library as tests read them.
namespace roofcast::test {

using nlohmann::json;

/// What is wrong with `text` as a config.
inline ErrorDetail failure(const std::string& text) {
    const TemporaryFile file("config.json", text);
    try {
        load_workload(file.path());
    } catch (const Error& e) {
        CHECK(e.detail().file == file.path().string());
        return e.detail();
    }
    return {};
}

inline Workload read(const json& config) {
    const TemporaryFile file("config.json", config.dump());
    return load_workload(file.path());
}

/// The config describes the shipped model: parameters, multiply-adds and FLOPs are equal.
inline void check_same(const json& config, const char* id) {
    CAPTURE(std::string(id));
    const OpGraph found = forward_graph(read(config), {}, {});
    const OpGraph shipped = forward_graph(find_workload(models_dir(), id), {}, {});
    CHECK(total_parameters(found) == rel(total_parameters(shipped), 1e-12));
    CHECK(total_macs(found) == rel(total_macs(shipped), 1e-12));
    CHECK(total_flops(found).in(flop) == rel(total_flops(shipped).in(flop), 1e-12));
}

inline json decoder(const char* type, int layers, int hidden, int heads, int kv_heads, int intermediate, int vocabulary, int context) {
    return {{"model_type", type},           {"num_hidden_layers", layers},       {"hidden_size", hidden},
            {"num_attention_heads", heads}, {"num_key_value_heads", kv_heads},   {"intermediate_size", intermediate},
            {"vocab_size", vocabulary},     {"max_position_embeddings", context}};
}

inline json with(json config, const json& more) {
    config.update(more);
    return config;
}

}  // namespace roofcast::test
