#include "workload/hugging_face_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "workload/hugging_face_models.hpp"

namespace roofcast::hugging_face {

namespace {

template <auto Read>
Architecture as_architecture(const JsonReader& config) {
    return Read(config);
}

constexpr ModelType model_types[] = {
    {"llama", "llm", as_architecture<llama>},
    {"mistral", "llm", as_architecture<mistral>},
    {"mixtral", "llm", as_architecture<mixtral>},
    {"qwen2", "llm", as_architecture<qwen2>},
    {"qwen2_moe", "llm", as_architecture<qwen2_moe>},
    {"qwen3", "llm", as_architecture<qwen3>},
    {"qwen3_moe", "llm", as_architecture<qwen3_moe>},
    {"deepseek_v3", "llm", as_architecture<deepseek_v3>},
    {"gpt_oss", "llm", as_architecture<gpt_oss>},
    {"gpt2", "llm", as_architecture<gpt2>},
    {"gptj", "llm", as_architecture<gptj>},
    {"opt", "llm", as_architecture<opt>},
    {"phi", "llm", as_architecture<phi>},
    {"falcon", "llm", as_architecture<falcon>},
    {"gemma", "llm", as_architecture<gemma>},
    {"gemma2", "llm", as_architecture<gemma2>},
    {"gemma3_text", "llm", as_architecture<gemma3_text>},
    {"glm4", "llm", as_architecture<glm4>},
    {"gpt_neox", "llm", as_architecture<gpt_neox>},
    {"granite", "llm", as_architecture<llama>},
    {"phi3", "llm", as_architecture<mistral>},
    {"starcoder2", "llm", as_architecture<starcoder2>},
    {"bart", "encoder", as_architecture<bart>},
    {"bert", "encoder", as_architecture<bert>},
    {"roberta", "encoder", as_architecture<roberta>},
    {"electra", "encoder", as_architecture<electra>},
    {"deberta-v2", "encoder", as_architecture<deberta_v2>},
    {"vit", "vit", as_architecture<vit>},
    {"deit", "vit", as_architecture<deit>},
    {"beit", "vit", as_architecture<beit>},
    {"clip", "vit", as_architecture<clip>},
    {"swin", "swin", as_architecture<swin>},
    {"swinv2", "swin", as_architecture<swin_v2>},
    {"resnet", "cnn", as_architecture<resnet>},
    {"convnext", "cnn", as_architecture<convnext>},
    {"efficientnet", "cnn", as_architecture<efficientnet>},
    {"mobilenet_v2", "cnn", as_architecture<mobilenet_v2>},
    {"regnet", "cnn", as_architecture<regnet>},
    {"detr", "detector", as_architecture<detr>},
    {"conditional_detr", "detector", as_architecture<conditional_detr>},
    {"maskformer", "detector", as_architecture<maskformer>},
    {"mask2former", "detector", as_architecture<mask2former>},
    {"segformer", "cnn", as_architecture<segformer>},
    {"qwen2_vl", "vlm", as_architecture<qwen2_vl>},
    {"qwen2_5_vl", "vlm", as_architecture<qwen2_5_vl>},
    {"mllama", "vlm", as_architecture<mllama>},
    {"xlm-roberta", "encoder", as_architecture<roberta>},
    {"kimi_k2", "llm", as_architecture<deepseek_v3>},
    {"deepseek_v2", "llm", as_architecture<deepseek_v3>},
    {"glm4_moe", "llm", as_architecture<glm4_moe>},
    {"qwen3_next", "llm", as_architecture<qwen3_5>},
    {"deepseek_v32", "llm", as_architecture<deepseek_v32>},
    {"deepseek_v4", "llm", as_architecture<deepseek_v4>},
    {"glm_moe_dsa", "llm", as_architecture<glm_moe_dsa>},
    {"minimax_m2", "llm", as_architecture<minimax_m2>},
    {"minimax_m3", "llm", as_architecture<minimax_m3>},
    {"qwen3_5_text", "llm", as_architecture<qwen3_5>},
    {"qwen3_5_moe_text", "llm", as_architecture<qwen3_5>},
    {"nemotron_h", "llm", as_architecture<nemotron_h>},
    {"kimi_linear", "llm", as_architecture<kimi_linear>},
    {"mimo", "llm", as_architecture<mimo>},
    {"mimo_v2_flash", "llm", as_architecture<mimo_v2_flash>},
    {"step3p7", "llm", as_architecture<step3p7>},
    {"gemma4_text", "llm", as_architecture<gemma4_text>},
    {"llama4_text", "llm", as_architecture<llama4_text>},
    {"nemotron-nas", "llm", as_architecture<nemotron_nas>},
    {"smollm3", "llm", as_architecture<smollm3>},
    {"qwen3_vl", "vlm", as_architecture<qwen3_vl>},
    {"qwen3_vl_moe", "vlm", as_architecture<qwen3_vl>},
    {"qwen3_5", "vlm", as_architecture<qwen3_5_vl>},
    {"qwen3_5_moe", "vlm", as_architecture<qwen3_5_vl>},
    {"kimi_k25", "vlm", as_architecture<kimi_k25>},
    {"kimi_k3", "vlm", as_architecture<kimi_k25>},
    {"minimax_m3_vl", "vlm", as_architecture<minimax_m3_vl>},
    {"gemma4", "vlm", as_architecture<gemma4>},
    {"llama4", "vlm", as_architecture<llama4>},
    {"gemma3", "vlm", as_architecture<gemma3>},
    {"mistral3", "vlm", as_architecture<mistral3>},
};

const ModelType* find_type(std::string_view name) {
    const auto* found = std::find_if(std::begin(model_types), std::end(model_types), [&](const ModelType& t) { return t.name == name; });
    return found == std::end(model_types) ? nullptr : found;
}

/// Letters and digits only, in lower case.
std::string plain(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return out;
}

/// The type that the class of the checkpoint is named after: "DeepseekV4ForCausalLM", deepseek_v4.
const ModelType* type_of_class(const JsonReader& config) {
    for (const std::string& name : config.texts("architectures")) {
        const std::string stem = plain(name.substr(0, name.find("For")));
        for (const ModelType& type : model_types) {
            if (plain(type.name) == stem) return &type;
        }
    }
    return nullptr;
}

/// The plainest decoder that has the keys of `config`.
const ModelType* type_of_keys(const JsonReader& config) {
    for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "max_position_embeddings"}) {
        if (!config.has(key)) return nullptr;
    }
    if (config.has("kv_lora_rank")) {
        return config.has("n_routed_experts") ? find_type(config.has("index_topk") ? "deepseek_v32" : "deepseek_v3") : nullptr;
    }
    if (config.has("num_experts")) return find_type("qwen3_moe");
    if (config.has("num_local_experts")) return find_type("mixtral");
    return config.has("intermediate_size") ? find_type(config.has("sliding_window") ? "mistral" : "llama") : nullptr;
}

Error unknown_type(const JsonReader& config) {
    if (config.has("_class_name") || config.has("_diffusers_version")) {
        return config.error(config.has("_class_name") ? "_class_name" : "_diffusers_version",
                            "this is the configuration of a part of a diffusion model",
                            "a config.json with model_type; for diffusion models, an id of `roofcast model list`");
    }
    const std::string expected = "a type that docs/reference/models.md lists under Transformers";
    if (!config.has("model_type")) return config.error("model_type", "a required key is missing", expected);
    std::vector<std::string> known;
    for (const ModelType& type : model_types) known.emplace_back(type.name);
    const std::string name = config.text_or("model_type", "");
    ErrorDetail detail = config.error("model_type", "this type of model is not supported", expected).detail();
    detail.suggestion = did_you_mean(name, known);
    return Error(std::move(detail));
}

}  // namespace

std::vector<std::string> decoder_types() {
    std::vector<std::string> names;
    for (const ModelType& type : model_types) {
        if (type.family == "llm") names.emplace_back(type.name);
    }
    return names;
}

ModelType model_type(const JsonReader& config, std::string& note) {
    const std::string name = config.text_or("model_type", "");
    if (const ModelType* type = find_type(name); type != nullptr) return *type;
    if (name.empty()) throw unknown_type(config);
    if (const ModelType* type = type_of_class(config); type != nullptr) {
        note = fmt::format("unknown model_type {}: read as {}, from its architectures entry", name, type->name);
        return *type;
    }
    const ModelType* type = type_of_keys(config);
    if (type == nullptr) throw unknown_type(config);
    note = fmt::format("unknown model_type {}: read as {}, from its keys", name, type->name);
    return *type;
}

}  // namespace roofcast::hugging_face
