#include "workload/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "roofcast/error.hpp"
#include "workload/hugging_face.hpp"
#include "workload/hugging_face_formats.hpp"
#include "workload/safetensors_file.hpp"
#include "workload/safetensors_roles.hpp"
#include "workload/tensor_census.hpp"

namespace roofcast {

namespace {

constexpr double narrow_bits = 12;  ///< fewer on average: quantized

const DecoderLlm* decoder_of(const Workload& workload) {
    if (const auto* vlm = std::get_if<VisionLanguage>(&workload.architecture)) return &vlm->language;
    return std::get_if<DecoderLlm>(&workload.architecture);
}

/// Weights that one element of a tensor stands for: packed ones are several to an element.
double weights_of_element(const SafeTensor& tensor, const Workload& workload) {
    const auto& format = workload.native_weights ? workload.native_weights : workload.native_experts;
    constexpr double in_byte = 2, in_word_4 = 8, in_word_8 = 4;
    if (tensor.type == "U8" || tensor.type == "F4") return tensor.type == "F4" ? 1 : in_byte;
    if (tensor.type != "I32") return 1;
    return format && format->precision == Precision::int8 ? in_word_8 : in_word_4;
}

struct CheckpointCensus {
    TensorCensus decoder;   ///< without towers and modules for tokens ahead
    double parameters = 0;  ///< of all tensors
    Bytes bytes{};
    std::map<std::string, Bytes> types;  ///< of matrices of layers
    bool block_scales = false;

    void add(const SafeTensor& tensor, const Workload& workload, std::int64_t layers) {
        CheckpointName name = checkpoint_name(tensor.name);
        const double weights = name.scale ? 0 : tensor.elements() * weights_of_element(tensor, workload);
        parameters += weights;
        bytes += tensor.bytes;
        if (!name.decoder || name.layer >= layers) return;
        block_scales = block_scales || tensor.name.ends_with("weight_scale_inv");
        // Vectors, and scales of large blocks, are no part of a mean; the gate of a shared expert is a matrix of one row.
        const bool vector = tensor.shape.size() < 2 || (name.scale && !name.group_scale);
        if (vector) name.role.reset();
        if (name.role && name.layer >= 0 && !name.scale && name.role != TensorRole::router) types[tensor.type] += tensor.bytes;
        decoder.add({.role = name.role, .weights = weights, .bytes = tensor.bytes});
    }
};

/// What the tensors look like, where config.json does not say it.
WeightFormat format_of_types(const CheckpointCensus& census) {
    const auto most =
        std::max_element(census.types.begin(), census.types.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::string& type = most->first;
    constexpr double mxfp4_bits = 4.25, between = 0.1;
    const auto named = [](const char* name) { return parse_weight_format(name).value(); };
    if (type.starts_with("F8")) return named(census.block_scales ? "fp8_block" : "fp8");
    if (type == "U8" || type == "F4") return named(std::abs(census.decoder.mean_bits() - mxfp4_bits) < between ? "mxfp4" : "nvfp4");
    return named(type == "I8" ? "int8" : "int4");
}

/// Bits of most GEMMs: of experts where there are any.
double bits_of_gemms(const TensorFormats& formats) {
    const double experts = formats.of(TensorRole::experts).bits;
    return experts > 0 ? experts : formats.of(TensorRole::mlp_up).bits;
}

/// Formats by tensor, where the checkpoint is quantized, and a note where config.json says something else.
void apply_tensors(const CheckpointCensus& census, Workload& workload) {
    const TensorFormats formats = census.decoder.formats();
    const double stored = bits_of_gemms(formats), computed = native_weights(workload.default_precision).bits;
    const auto& said = workload.native_experts ? workload.native_experts : workload.native_weights;
    const double expected = said ? said->bits : computed;
    constexpr double most_apart = 0.1;
    if (stored > 0 && std::abs(stored / expected - 1) > most_apart)
        workload.notes.push_back(
            fmt::format("config.json says {:.4g} bits a weight, and the files have {:.4g}{}", expected, stored,
                        stored < narrow_bits || said ? "; the files count" : "; weights are loaded as config.json says"));
    const bool quantized =
        std::any_of(formats.roles.begin(), formats.roles.end(), [](const RoleFormat& f) { return f.bits > 0 && f.bits < narrow_bits; });
    if (!quantized || census.types.empty()) return;
    // What config.json left open of formats, the tensors say.
    std::erase_if(workload.notes, [](const std::string& note) { return note.starts_with(hugging_face::open_formats); });
    if (!workload.native_weights && !workload.native_experts) workload.native_weights = format_of_types(census);
    if (!workload.native_weights) {
        workload.native_weights = native_weights(workload.default_precision);
        workload.native_weights->label = std::string(name(workload.default_precision));
    }
    workload.native_weights->tensors = formats;
}

void read_tensors(const std::vector<std::filesystem::path>& files, Workload& workload) {
    const DecoderLlm* decoder = decoder_of(workload);
    CheckpointCensus census;
    for (const auto& file : files) {
        for (const SafeTensor& tensor : read_safetensors(file)) census.add(tensor, workload, decoder == nullptr ? 0 : decoder->layers);
    }
    workload.totals = FileTotals{census.parameters, census.bytes};
    if (decoder != nullptr) apply_tensors(census, workload);
}

bool is_there(const std::filesystem::path& file) {
    std::error_code ec;
    return std::filesystem::is_regular_file(file, ec);
}

}  // namespace

Workload load_checkpoint(const std::filesystem::path& path) {
    std::error_code ec;
    const std::filesystem::path folder = std::filesystem::is_directory(path, ec) ? path : path.parent_path();
    if (folder != path && !is_there(path))
        throw Error({.what = "the file does not exist", .file = path.string(), .suggestion = "check the path"});
    if (!is_there(folder / "config.json"))
        throw Error({.what = "the file's tensors are known, but not what computes with them",
                     .file = path.string(),
                     .key = "config.json",
                     .found = {},
                     .expected = "the model's config.json in the same folder"});
    Workload workload = load_hugging_face_config(folder / "config.json");
    const std::filesystem::path index = folder / "model.safetensors.index.json", single = folder / "model.safetensors";
    if (!is_there(index)) {
        const std::filesystem::path& only = folder == path ? single : path;
        if (is_there(only)) read_tensors({only}, workload);
        return workload;
    }
    const SafetensorsIndex parts = read_safetensors_index(index);
    std::vector<std::filesystem::path> files;
    for (const std::string& name : parts.files) {
        if (is_there(folder / name)) files.push_back(folder / name);
    }
    if (!files.empty() && files.size() == parts.files.size()) {
        read_tensors(files, workload);
        return workload;
    }
    if (!files.empty())
        workload.notes.push_back(
            fmt::format("{} of {} safetensors files are there: formats are those of config.json", files.size(), parts.files.size()));
    if (parts.total > Bytes{}) workload.totals = FileTotals{0, parts.total};
    return workload;
}

}  // namespace roofcast
