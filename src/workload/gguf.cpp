#include "workload/gguf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "io/identifier.hpp"
#include "io/printable.hpp"
#include "units/weight_formats.hpp"
#include "workload/gguf_config.hpp"
#include "workload/hugging_face.hpp"
#include "workload/tensor_census.hpp"

namespace roofcast {

namespace {

/// The number of a tensor's layer; -1: it is of none. `name` becomes the rest.
std::int64_t take_layer(std::string_view& name) {
    constexpr std::string_view prefix = "blk.";
    if (!name.starts_with(prefix)) return -1;
    std::int64_t layer = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + prefix.size(), end, layer);
    if (parsed.ec != std::errc{} || parsed.ptr == end || *parsed.ptr != '.') return -1;
    name.remove_prefix(static_cast<std::size_t>(parsed.ptr - name.data()) + 1);
    return layer;
}

/// Matrices of a layer by their names less ".weight"; gguf-py/gguf/constants.py of llama.cpp.
std::optional<TensorRole> role_of_matrix(std::string_view name) {
    constexpr std::pair<std::string_view, TensorRole> roles[] = {
        {"attn_output", TensorRole::attention_output},
        {"ffn_gate_inp", TensorRole::router},
        {"ffn_gate_inp_shexp", TensorRole::router},
        {"ffn_down_exps", TensorRole::experts},
        {"ffn_gate_exps", TensorRole::experts},
        {"ffn_up_exps", TensorRole::experts},
        {"ffn_gate_up_exps", TensorRole::experts},
        {"ffn_gate_shexp", TensorRole::shared_up},
        {"ffn_up_shexp", TensorRole::shared_up},
        {"ffn_down_shexp", TensorRole::shared_down},
        {"ffn_gate", TensorRole::mlp_up},
        {"ffn_up", TensorRole::mlp_up},
        {"ffn_down", TensorRole::mlp_down},
    };
    for (const auto& [known, role] : roles) {
        if (name == known) return role;
    }
    for (const char* of_experts : {"ffn_gate.", "ffn_up.", "ffn_down."}) {  // one tensor an expert, in files of early 2024
        if (name.starts_with(of_experts)) return TensorRole::experts;
    }
    constexpr std::string_view attention[] = {"attn_q",   "attn_k",        "attn_v",    "attn_qkv", "attn_q_a",
                                              "attn_q_b", "attn_kv_a_mqa", "attn_kv_b", "attn_k_b", "attn_v_b"};
    return std::find(std::begin(attention), std::end(attention), name) == std::end(attention) ? std::nullopt
                                                                                              : std::optional(TensorRole::attention);
}

std::optional<TensorRole> role_of(const GgufTensor& tensor) {
    constexpr std::string_view ending = ".weight";
    std::string_view name = tensor.name;
    if (!name.ends_with(ending)) return std::nullopt;
    name.remove_suffix(ending.size());
    if (name == "token_embd") return TensorRole::embedding;
    if (name == "output") return TensorRole::head;
    if (take_layer(name) < 0) return std::nullopt;
    const auto role = role_of_matrix(name);
    // A vector is a norm or a bias, but for the gate of a shared expert.
    return tensor.dims.size() > 1 || role == TensorRole::router ? role : std::nullopt;
}

struct GgufCensus {
    TensorCensus loaded;
    Bytes ahead{};                                    ///< of blocks that predict several tokens ahead, which are not loaded
    std::map<const StoredFormat*, double> by_format;  ///< bytes of what is loaded
};

GgufCensus census_of(const GgufFile& gguf) {
    const std::int64_t layers = gguf_layers(gguf);
    GgufCensus census;
    for (const GgufTensor& tensor : gguf.tensors) {
        std::string_view name = tensor.name;
        if (take_layer(name) >= layers) {
            census.ahead += tensor.bytes();
            continue;
        }
        census.loaded.add({role_of(tensor), tensor.weights(), tensor.bytes(), tensor.format->format.unpack_cycles});
        census.by_format[tensor.format] += tensor.bytes().in(byte);
    }
    return census;
}

/// As the file's type says, else the format of most of its bytes.
WeightFormat format_of(const GgufFile& gguf, const GgufCensus& census) {
    const auto most = std::max_element(census.by_format.begin(), census.by_format.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    WeightFormat format = most->first->format;
    const auto type = gguf.values.find("general.file_type");
    const bool has_type = type != gguf.values.end() && type->second.is_number_unsigned();
    const WeightMix* mix = has_type ? weight_tables().of_file_type(type->second.get<std::int64_t>()) : nullptr;
    if (mix != nullptr) format.label = mix->name;
    format.bits = census.loaded.mean_bits();
    format.unpack_cycles = 0;
    format.every_table = true;
    format.tensors = census.loaded.formats();
    return format;
}

/// The file's name less the ending that parts have.
std::string plain_stem(const std::filesystem::path& file) {
    std::string stem = file.stem().string();
    constexpr std::size_t part = std::string_view("-00001-of-00003").size();
    if (stem.size() > part && stem.substr(stem.size() - part).find("-of-") == part - std::string_view("-of-00003").size())
        stem.resize(stem.size() - part);
    return stem;
}

}  // namespace

Workload load_gguf(const std::filesystem::path& file, const std::filesystem::path& architectures_file) {
    const GgufFile gguf = read_gguf(file);
    const std::vector<GgufArchitecture> architectures = load_gguf_architectures(architectures_file);
    const GgufArchitecture& architecture = architecture_of(architectures, gguf);
    Workload workload = read_hugging_face_config(gguf_config(gguf, architecture), file);
    workload.notes.clear();  // of keys that this configuration has for other types
    const GgufCensus census = census_of(gguf);
    workload.id = lower_case(printable(plain_stem(file)));
    const auto name = gguf.values.find("general.name");
    const bool named = name != gguf.values.end() && name->second.is_string() && !name->second.get<std::string>().empty();
    workload.name = named ? printable(name->second.get<std::string>()) : workload.id;
    workload.source = "GGUF file";
    workload.native_weights = format_of(gguf, census);
    const Precision stored = workload.native_weights->precision;
    workload.default_precision = stored == Precision::bf16 || stored == Precision::fp32 ? stored : Precision::fp16;
    workload.totals = FileTotals{census.loaded.parameters(), census.loaded.bytes()};
    if (census.ahead > Bytes{})
        workload.notes.push_back(fmt::format("{:.2f} GB of multi-token prediction blocks are not loaded", census.ahead.in(gb)));
    apply_gguf_tensors(gguf, architecture, std::get<DecoderLlm>(workload.architecture));
    return workload;
}

}  // namespace roofcast
