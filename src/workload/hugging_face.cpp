#include "workload/hugging_face.hpp"

#include <fmt/format.h>

#include "io/identifier.hpp"
#include "io/json_text.hpp"
#include "io/text_file.hpp"
#include "workload/hugging_face_formats.hpp"
#include "workload/hugging_face_models.hpp"
#include "workload/hugging_face_types.hpp"

namespace roofcast {

namespace {

Precision stored_precision(const JsonReader& config) {
    const JsonReader holder = config.has("torch_dtype") || config.has("dtype") ? config : config.object_or_this("text_config");
    // Quantized checkpoints that name none compute in bf16.
    const char* standard = config.has("quantization_config") ? "bfloat16" : "float16";
    const std::string name = holder.text_or("torch_dtype", holder.text_or("dtype", standard));
    const auto precision = parse_precision(name);
    if (!precision)
        throw holder.error(holder.has("torch_dtype") ? "torch_dtype" : "dtype", "unknown precision", "float32, float16, bfloat16");
    return *precision;
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

/// Python writes numbers that JSON has no words for: they become null, outside of texts.
std::string without_python_numbers(std::string text) {
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && quoted) {
            ++i;
        } else if (text[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && (text[i] == 'I' || text[i] == 'N' || text[i] == '-')) {
            for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
                if (text.compare(i, word.size(), word) == 0) text.replace(i, word.size(), "null");
            }
        }
    }
    return text;
}

/// A file is named as the hub names the model, with "__" for "/": then that is its id.
void name_workload(const JsonReader& config, const std::filesystem::path& file, Workload& workload) {
    const std::string folder = std::filesystem::absolute(file).parent_path().filename().string();
    const std::string stem = file.stem() == "config" && !folder.empty() ? folder : file.stem().string();
    workload.id = stem;
    workload.name = config.text_or("_name_or_path", "");
    workload.source = "Hugging Face config.json";
    if (const auto bar = stem.find("__"); bar != std::string::npos && bar > 0 && bar + 2 < stem.size()) {
        const std::string hub_id = stem.substr(0, bar) + "/" + stem.substr(bar + 2);
        workload.id = lower_case(stem.substr(bar + 2));
        workload.aliases = {lower_case(hub_id)};
        workload.name = stem.substr(bar + 2);
        workload.source = fmt::format("architecture keys of config.json of {} on Hugging Face", hub_id);
    }
    if (workload.name.empty()) workload.name = workload.id;
}

/// Keys that no reader asked for and that may change what runs: of a type that was inferred, an error; else the user is told.
void report_unread(const JsonReader& config, bool inferred, Workload& workload) {
    const auto unread = hugging_face::not_understood(config.unread());
    for (const std::string& remark : config.remarks()) workload.notes.push_back(remark);
    if (unread.empty()) return;
    const std::string keys = fmt::format("{}", fmt::join(unread, ", "));
    if (!inferred) {
        workload.notes.push_back("unknown keys were ignored: " + keys);
        return;
    }
    throw config.error("model_type", "unknown model type, with keys that no reader knows: " + keys,
                       "a type of docs/reference/models.md, or keys of one of these");
}

}  // namespace

Workload load_hugging_face_config(const std::filesystem::path& file) {
    return read_hugging_face_config(parse_json<nlohmann::json>(without_python_numbers(read_text_file(file)), file.string()), file);
}

Workload read_hugging_face_config(const nlohmann::json& json, const std::filesystem::path& file) {
    const JsonReader config(json, file.string());
    std::string inferred;
    const hugging_face::ModelType type = hugging_face::model_type(config, inferred);
    Workload workload;
    name_workload(config, file, workload);
    workload.family = type.family;
    workload.file = file.string();
    workload.default_precision = stored_precision(config);
    if (!inferred.empty()) workload.notes.push_back(inferred);
    hugging_face::read_formats(config, workload);
    check_activations(config);
    workload.architecture = type.read(config);
    if (std::holds_alternative<DecoderLlm>(workload.architecture)) workload.family = "llm";
    if (workload.family == "llm" || workload.family == "vlm") report_unread(config, !inferred.empty(), workload);
    return workload;
}

}  // namespace roofcast
