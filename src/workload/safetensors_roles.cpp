#include "workload/safetensors_roles.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace roofcast {

namespace {

bool has_any(std::string_view name, std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return name.ends_with(ending); });
}

/// The number behind "layers.", "h." or "blocks."; -1: there is none.
std::int64_t layer_of(std::string_view name) {
    for (const std::string_view before : {"layers.", "blocks.", ".h."}) {
        const std::size_t at = name.find(before);
        if (at == std::string_view::npos) continue;
        std::int64_t layer = -1;
        const auto parsed = std::from_chars(name.data() + at + before.size(), name.data() + name.size(), layer);
        if (parsed.ec == std::errc{}) return layer;
    }
    constexpr std::string_view first = "h.";
    std::int64_t layer = -1;
    if (name.starts_with(first)) std::from_chars(name.data() + first.size(), name.data() + name.size(), layer);
    return layer;
}

TensorRole role_in_mlp(std::string_view module, TensorRole up, TensorRole down) {
    return ends_with_any(module, {"down_proj", "c_proj", "dense_4h_to_h", "fc2", "fc_out", "w2", "linear_2"}) ? down : up;
}

/// Of the module that holds a weight, such as "model.layers.0.self_attn.q_proj".
std::optional<TensorRole> role_of_module(std::string_view module, bool in_layer) {
    if (ends_with_any(module, {"lm_head", "embed_out"})) return TensorRole::head;
    if (ends_with_any(module, {"embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings"})) return TensorRole::embedding;
    if (!in_layer) return std::nullopt;
    if (ends_with_any(module, {"conv1d", "norm", "layernorm", "ln_1", "ln_2"})) return std::nullopt;
    if (ends_with_any(module, {".gate", ".router", "shared_expert_gate"})) return TensorRole::router;
    if (has_any(module, {"shared_expert"})) return role_in_mlp(module, TensorRole::shared_up, TensorRole::shared_down);
    if (has_any(module, {".experts"})) return TensorRole::experts;
    if (has_any(module, {"attn.", "attention.", ".mixer."}))
        return ends_with_any(module, {"o_proj", "out_proj", ".dense", "c_proj", ".wo"}) ? TensorRole::attention_output
                                                                                        : TensorRole::attention;
    if (has_any(module, {".mlp.", ".feed_forward.", ".ffn.", ".fc1", ".fc2", "block_sparse_moe"}))
        return role_in_mlp(module, TensorRole::mlp_up, TensorRole::mlp_down);
    return std::nullopt;
}

struct NameEnding {
    std::string_view text;
    bool scale = false, group_scale = false;
};

/// Endings of what belongs to one weight: of the library, AutoAWQ and AutoGPTQ, compressed-tensors, ModelOpt, and OpenAI's files.
constexpr NameEnding name_endings[] = {{".weight_scale_inv", true},
                                       {".weight_scale_2", true},
                                       {".weight_global_scale", true},
                                       {".input_global_scale", true},
                                       {".input_scale", true},
                                       {".k_scale", true},
                                       {".v_scale", true},
                                       {".weight_shape", true},
                                       {".weight_scale", true, true},
                                       {".weight_zero_point", true, true},
                                       {".scales", true, true},
                                       {".qzeros", true, true},
                                       {".g_idx", true, true},
                                       {"_scales", true, true},
                                       {".weight_packed"},
                                       {".qweight"},
                                       {".weight"},
                                       {"_blocks"}};

}  // namespace

CheckpointName checkpoint_name(std::string_view tensor) {
    CheckpointName name;
    name.layer = layer_of(tensor);
    name.decoder = !has_any(tensor, {"visual.", "vision", "multi_modal_projector", "mm_projector", "image_newline", "audio"}) &&
                   !tensor.starts_with("mtp.") && !has_any(tensor, {".mtp."});
    std::string_view module = tensor;
    for (const NameEnding& ending : name_endings) {
        if (!tensor.ends_with(ending.text)) continue;
        module.remove_suffix(ending.text.size());
        name.scale = ending.scale;
        name.group_scale = ending.group_scale;
        break;
    }
    const bool bias = ends_with_any(module, {"bias"});
    if (!bias) name.role = role_of_module(module, name.layer >= 0);
    return name;
}

}  // namespace roofcast
