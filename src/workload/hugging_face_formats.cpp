#include "workload/hugging_face_formats.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast::hugging_face {

namespace {

WeightFormat named(std::string_view label) {
    return parse_weight_format(label).value();
}

/// Integers of `bits` with 16 bits of scale, and as many of zero point, for each group of weights.
WeightFormat grouped_integers(const JsonReader& reader, std::string_view label, std::int64_t bits, double group, double bits_of_group) {
    constexpr std::int64_t int4_bits = 4, int8_bits = 8;
    if (bits != int4_bits && bits != int8_bits) throw reader.error(reader.has("bits") ? "bits" : "num_bits", "not supported", "4 or 8");
    WeightFormat format = named(bits == int4_bits ? label : "gptq-int8");
    if (bits == int8_bits && label == "int4") format.label = "int8";
    if (group >= 1) format.bits = static_cast<double>(bits) + bits_of_group / group;  // -1: one for each output
    return format;
}

/// AWQ and GPTQ: 4.25 bits in groups of 128.
WeightFormat integer_weights(const JsonReader& quantization, const std::string& method) {
    constexpr double usual_group = 128, scale_and_zero_bits = 32;
    const std::string label = method + "-int4";
    return grouped_integers(quantization, label, quantization.count("bits"), quantization.number_or("group_size", usual_group),
                            scale_and_zero_bits);
}

/// One `config_groups` entry of compressed-tensors.
WeightFormat compressed_weights(const JsonReader& quantization) {
    const JsonReader groups = quantization.object("config_groups");
    if (quantization.size_of("config_groups") != 1)
        throw quantization.error("config_groups", "several formats are not supported", "one group");
    if (!groups.has("group_0")) throw quantization.error("config_groups", "not supported", "group_0");
    const JsonReader group = groups.object("group_0"), weights = group.object("weights");
    const std::string packing = group.text_or("format", quantization.text_or("format", ""));
    weights.ignore({"num_bits", "type", "symmetric", "block_structure"});  // as the packing says, where it has a name
    if (packing.starts_with("mxfp4")) return named("mxfp4");
    if (packing.starts_with("nvfp4")) return named("nvfp4");
    const std::string type = weights.text_or("type", "int");
    const std::int64_t bits = weights.count("num_bits");
    constexpr std::int64_t fp8_bits = 8;
    if (type == "float" && bits == fp8_bits) {
        WeightFormat format = named(weights.has("block_structure") ? "fp8_block" : "fp8");
        format.activation_scales = group.has("input_activations") && !group.object("input_activations").flag_or("dynamic", false);
        return format;
    }
    if (type != "int") throw weights.error("type", "not supported", "int, or float of 8 bits");
    constexpr double scale_bits = 16, scale_and_zero_bits = 32;
    return grouped_integers(weights, "int4", bits, weights.number_or("group_size", 0),
                            weights.flag_or("symmetric", true) ? scale_bits : scale_and_zero_bits);
}

bool leaves_attention(const JsonReader& quantization, std::string_view key) {
    const auto left = quantization.texts(key);
    return std::any_of(left.begin(), left.end(), [](const std::string& name) { return name.find("self_attn") != std::string::npos; });
}

/// ModelOpt's algorithms that store all GEMMs alike; nullopt: several.
std::optional<WeightFormat> modelopt_weights(const JsonReader& reader, const std::string& algorithm) {
    if (algorithm == "FP8") {
        WeightFormat format = named("fp8");
        format.activation_scales = true;
        return format;
    }
    if (algorithm == "FP8_PB_WO" || algorithm == "FP8_PB_REAL") return named("fp8_block");
    if (algorithm == "NVFP4" || algorithm == "NVFP4_AWQ" || algorithm == "W4A16_NVFP4") return named("nvfp4");
    if (algorithm == "W4A16_AWQ" || algorithm == "INT4_AWQ") return named("awq-int4");
    if (algorithm == "MXFP4") return named("mxfp4");
    if (algorithm == "MIXED_PRECISION") return std::nullopt;
    throw reader.error("quant_algo", "not supported", "FP8, FP8_PB_WO, NVFP4, W4A16_AWQ, MXFP4 or MIXED_PRECISION");
}

void read_fp8(const JsonReader& config, const JsonReader& quantization, Workload& workload) {
    workload.native_weights = named(quantization.has("weight_block_size") ? "fp8_block" : "fp8");
    const std::string experts = config.text_or("expert_dtype", "");
    if (experts.empty() || experts == "fp8") return;
    if (experts != "fp4") throw config.error("expert_dtype", "not supported", "fp4 or fp8");
    // In groups of 16 it is NVIDIA's format, in groups of 32 OCP's.
    constexpr std::int64_t nvidia_group = 16, ocp_group = 32;
    workload.native_experts = named(quantization.count_or("group_size", ocp_group) == nvidia_group ? "nvfp4" : "mxfp4");
}

void read_modelopt(const JsonReader& reader, const std::string& algorithm, Workload& workload) {
    const auto format = modelopt_weights(reader, algorithm);
    if (!format) {
        workload.notes.push_back(
            fmt::format("{}MIXED_PRECISION: the config does not say which layers are stored how, so weights are assumed to be stored as "
                        "computed unless the run names a format",
                        open_formats));
        return;
    }
    const bool experts_only = leaves_attention(reader, "ignore") || leaves_attention(reader, "exclude_modules");
    (experts_only ? workload.native_experts : workload.native_weights) = format;
    if (!experts_only && format->precision == Precision::fp4 && !reader.has("ignore") && !reader.has("exclude_modules"))
        workload.notes.push_back(
            fmt::format("{}{}: the config lists no excluded layers, so all GEMMs are taken as {}", open_formats, algorithm, format->label));
}

void read_quantization(const JsonReader& config, const JsonReader& quantization, Workload& workload) {
    const std::string method = quantization.text_or("quant_method", ""), algorithm = quantization.text_or("quant_algo", "");
    if (method == "fp8") return read_fp8(config, quantization, workload);
    if (method == "mxfp4") {
        workload.native_weights = named(method);
    } else if (method == "awq" || method == "gptq") {
        workload.native_weights = integer_weights(quantization, method);
    } else if (method == "compressed-tensors") {
        (leaves_attention(quantization, "ignore") ? workload.native_experts : workload.native_weights) = compressed_weights(quantization);
    } else if (!algorithm.empty()) {
        read_modelopt(quantization, algorithm, workload);
    } else {
        throw quantization.error("quant_method", "not supported", "awq, gptq, fp8, mxfp4, compressed-tensors or modelopt");
    }
}

/// A scheme is a name, or an object of bits and type.
void read_cache(const JsonReader& quantization, std::string_view key, Workload& workload) {
    constexpr std::int64_t fp8_bits = 8;
    if (quantization.is_object(key)) {
        const JsonReader scheme = quantization.object(key);
        if (scheme.count_or("num_bits", 0) != fp8_bits || scheme.text_or("type", "float") != "float")
            throw quantization.error(key, "not supported", "8-bit floats");
        workload.native_cache = Precision::fp8;
    } else if (const std::string name = quantization.text_or(key, ""); !name.empty()) {
        if (name != "FP8") throw quantization.error(key, "not supported", "FP8");
        workload.native_cache = Precision::fp8;
    }
}

}  // namespace

void read_formats(const JsonReader& config, Workload& workload) {
    const bool nested = !config.has("quantization_config") && config.has("text_config");
    const JsonReader holder = nested ? config.object("text_config") : config;
    if (holder.has("quantization_config")) {
        const JsonReader quantization = holder.object("quantization_config");
        read_quantization(holder, quantization, workload);
        read_cache(quantization, "kv_cache_scheme", workload);
    }
    if (!config.has("hf_quant")) return;
    const JsonReader modelopt = config.object("hf_quant");
    read_cache(modelopt, "kv_cache_quant_algo", workload);
    const bool known = workload.native_weights || workload.native_experts || !workload.notes.empty();
    if (const std::string algorithm = modelopt.text_or("quant_algo", ""); !known && !algorithm.empty())
        read_modelopt(modelopt, algorithm, workload);
}

}  // namespace roofcast::hugging_face
