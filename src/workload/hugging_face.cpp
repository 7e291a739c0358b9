#include "workload/hugging_face.hpp"

#include <fmt/format.h>

#include <map>

#include "io/json_text.hpp"
#include "io/text_file.hpp"
#include "workload/hugging_face_models.hpp"

namespace roofcast {

namespace {

struct ModelType {
    const char* family;
    Architecture (*read)(const JsonReader&);
};

template <auto Read>
Architecture as_architecture(const JsonReader& config) {
    return Read(config);
}

const std::map<std::string_view, ModelType>& model_types() {
    namespace hf = hugging_face;
    static const std::map<std::string_view, ModelType> types{
        {"llama", {"llm", as_architecture<hf::llama>}},
        {"mistral", {"llm", as_architecture<hf::mistral>}},
        {"mixtral", {"llm", as_architecture<hf::mixtral>}},
        {"qwen2", {"llm", as_architecture<hf::qwen2>}},
        {"qwen2_moe", {"llm", as_architecture<hf::qwen2_moe>}},
        {"qwen3", {"llm", as_architecture<hf::qwen3>}},
        {"qwen3_moe", {"llm", as_architecture<hf::qwen3_moe>}},
        {"deepseek_v3", {"llm", as_architecture<hf::deepseek_v3>}},
        {"gpt_oss", {"llm", as_architecture<hf::gpt_oss>}},
        {"gpt2", {"llm", as_architecture<hf::gpt2>}},
        {"gptj", {"llm", as_architecture<hf::gptj>}},
        {"opt", {"llm", as_architecture<hf::opt>}},
        {"phi", {"llm", as_architecture<hf::phi>}},
        {"falcon", {"llm", as_architecture<hf::falcon>}},
        {"gemma", {"llm", as_architecture<hf::gemma>}},
        {"gemma2", {"llm", as_architecture<hf::gemma2>}},
        {"gemma3_text", {"llm", as_architecture<hf::gemma3_text>}},
        {"glm4", {"llm", as_architecture<hf::glm4>}},
        {"gpt_neox", {"llm", as_architecture<hf::gpt_neox>}},
        {"granite", {"llm", as_architecture<hf::llama>}},
        {"phi3", {"llm", as_architecture<hf::mistral>}},
        {"starcoder2", {"llm", as_architecture<hf::starcoder2>}},
        {"bart", {"encoder", as_architecture<hf::bart>}},
        {"bert", {"encoder", as_architecture<hf::bert>}},
        {"roberta", {"encoder", as_architecture<hf::roberta>}},
        {"electra", {"encoder", as_architecture<hf::electra>}},
        {"deberta-v2", {"encoder", as_architecture<hf::deberta_v2>}},
        {"vit", {"vit", as_architecture<hf::vit>}},
        {"deit", {"vit", as_architecture<hf::deit>}},
        {"beit", {"vit", as_architecture<hf::beit>}},
        {"clip", {"vit", as_architecture<hf::clip>}},
        {"swin", {"swin", as_architecture<hf::swin>}},
        {"swinv2", {"swin", as_architecture<hf::swin_v2>}},
        {"resnet", {"cnn", as_architecture<hf::resnet>}},
        {"convnext", {"cnn", as_architecture<hf::convnext>}},
        {"efficientnet", {"cnn", as_architecture<hf::efficientnet>}},
        {"mobilenet_v2", {"cnn", as_architecture<hf::mobilenet_v2>}},
        {"regnet", {"cnn", as_architecture<hf::regnet>}},
        {"detr", {"detector", as_architecture<hf::detr>}},
        {"conditional_detr", {"detector", as_architecture<hf::conditional_detr>}},
        {"maskformer", {"detector", as_architecture<hf::maskformer>}},
        {"mask2former", {"detector", as_architecture<hf::mask2former>}},
        {"segformer", {"cnn", as_architecture<hf::segformer>}},
        {"qwen2_vl", {"vlm", as_architecture<hf::qwen2_vl>}},
        {"qwen2_5_vl", {"vlm", as_architecture<hf::qwen2_5_vl>}},
        {"mllama", {"vlm", as_architecture<hf::mllama>}},
    };
    return types;
}

Precision stored_precision(const JsonReader& config) {
    std::string name = config.text_or("torch_dtype", config.text_or("dtype", "float16"));
    const auto precision = parse_precision(name);
    if (!precision)
        throw config.error(config.has("torch_dtype") ? "torch_dtype" : "dtype", "unknown precision", "float32, float16, bfloat16");
    return *precision;
}

/// How a quantized checkpoint stores its weights; nullopt when it is not quantized. Other methods store something that cannot be derived
/// from the config alone.
std::optional<WeightFormat> quantized_weights(const JsonReader& config) {
    if (!config.has("quantization_config")) return std::nullopt;
    const JsonReader quantization = config.object("quantization_config");
    const std::string method = quantization.text_or("quant_method", "");
    if (method == "fp8" || method == "mxfp4") return parse_weight_format(method);
    if (method != "awq" && method != "gptq") throw quantization.error("quant_method", "not supported", "awq, gptq, fp8 or mxfp4");
    constexpr std::int64_t int4_bits = 4, int8_bits = 8;
    constexpr double usual_group = 128;
    const std::int64_t bits = quantization.count("bits");
    const double group = quantization.number_or("group_size", usual_group);  // -1: one for each output
    if (bits != int4_bits && bits != int8_bits) throw quantization.error("bits", "not supported", "4 or 8");
    WeightFormat format = parse_weight_format(bits == int4_bits ? method + "-int4" : "gptq-int8").value();
    constexpr double scale_and_zero_bits = 32;  // 4.25 bits in groups of 128
    if (group >= 1) format.bits = static_cast<double>(bits) + scale_and_zero_bits / group;
    return format;
}

/// Readers ask for the activations that matter; a name that the library does not know is a slip anywhere.
void check_activations(const JsonReader& config) {
    for (const char* key : {"hidden_act", "hidden_activation", "activation_function"}) {
        if (config.has(key)) static_cast<void>(hugging_face::eager_activation(config, key, ""));
    }
    for (const char* part : {"text_config", "vision_config"}) {
        if (config.has(part)) check_activations(config.object(part));
    }
}

}  // namespace

Workload load_hugging_face_config(const std::filesystem::path& file) {
    const auto json = parse_json<nlohmann::json>(read_text_file(file), file.string());
    const JsonReader config(json, file.string());
    std::vector<std::string> known;
    for (const auto& [name, type] : model_types()) known.emplace_back(name);
    const std::string expected = fmt::format("one of {}", fmt::join(known, ", "));
    const std::string name = config.text_or("model_type", "");
    if (name.empty()) throw config.error("model_type", "a required key is missing", expected);
    const auto type = model_types().find(name);
    if (type == model_types().end()) throw config.error("model_type", "this type of model is not supported", expected);

    Workload workload;
    const std::string folder = std::filesystem::absolute(file).parent_path().filename().string();
    workload.id = file.stem() == "config" && !folder.empty() ? folder : file.stem().string();
    workload.name = config.text_or("_name_or_path", "");
    if (workload.name.empty()) workload.name = workload.id;
    workload.family = type->second.family;
    workload.source = "Hugging Face config.json";
    workload.file = file.string();
    workload.default_precision = stored_precision(config);
    workload.native_weights = quantized_weights(config);
    check_activations(config);
    workload.architecture = type->second.read(config);
    return workload;
}

}  // namespace roofcast
