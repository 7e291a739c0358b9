#include "workload/safetensors.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "prediction/shapes.hpp"
#include "roofcast/error.hpp"
#include "roofcast/prediction.hpp"
#include "support/compare.hpp"
#include "support/paths.hpp"
#include "workload/safetensors_roles.hpp"

using namespace roofcast;
using namespace roofcast::test;
using nlohmann::json;

namespace {

/// A safetensors file without data: header and length.
class Header {
public:
    Header& tensor(const std::string& name, const std::string& type, const std::vector<std::int64_t>& shape) {
        std::int64_t bytes = type == "F32" || type == "I32" ? 4 : type == "BF16" ? 2 : 1;
        for (const std::int64_t length : shape) bytes *= length;
        header_[name] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {at_, at_ + bytes}}};
        at_ += bytes;
        return *this;
    }
    [[nodiscard]] std::string bytes() const { return of(header_.dump()); }
    [[nodiscard]] std::int64_t data() const { return at_; }
    static std::string of(const std::string& header) {
        const std::uint64_t length = header.size();
        return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
    }

private:
    json header_ = {{"__metadata__", {{"format", "pt"}}}};
    std::int64_t at_ = 0;
};

/// Llama with two layers of 256 and an MLP of 512; `type` of its linear layers.
json small_config() {
    return {{"model_type", "llama"},    {"num_hidden_layers", 2},    {"hidden_size", 256},
            {"num_attention_heads", 4}, {"num_key_value_heads", 2},  {"intermediate_size", 512},
            {"vocab_size", 1000},       {"torch_dtype", "bfloat16"}, {"max_position_embeddings", 2048}};
}

void add_plain(Header& header) {
    header.tensor("model.embed_tokens.weight", "BF16", {1000, 256}).tensor("lm_head.weight", "BF16", {1000, 256});
    header.tensor("model.norm.weight", "BF16", {256});
    for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
        header.tensor(std::string(layer) + "input_layernorm.weight", "BF16", {256});
        header.tensor(std::string(layer) + "post_attention_layernorm.weight", "BF16", {256});
    }
}

using AddLinear = void (*)(Header&, const std::string&, std::int64_t, std::int64_t);

void add_layers(Header& header, AddLinear attention, AddLinear mlp) {
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
        attention(header, layer + "self_attn.q_proj", 256, 256);
        attention(header, layer + "self_attn.k_proj", 128, 256);
        attention(header, layer + "self_attn.v_proj", 128, 256);
        attention(header, layer + "self_attn.o_proj", 256, 256);
        mlp(header, layer + "mlp.gate_proj", 512, 256);
        mlp(header, layer + "mlp.up_proj", 512, 256);
        mlp(header, layer + "mlp.down_proj", 256, 512);
    }
}

void in_bf16(Header& header, const std::string& name, std::int64_t rows, std::int64_t columns) {
    header.tensor(name + ".weight", "BF16", {rows, columns});
}

void in_fp8(Header& header, const std::string& name, std::int64_t rows, std::int64_t columns) {
    header.tensor(name + ".weight", "F8_E4M3", {rows, columns}).tensor(name + ".weight_scale", "F32", {1});
}

/// NVIDIA's: two 4-bit floats a byte, an 8-bit scale for 16 weights, and one for the tensor.
void in_nvfp4(Header& header, const std::string& name, std::int64_t rows, std::int64_t columns) {
    header.tensor(name + ".weight", "U8", {rows, columns / 2}).tensor(name + ".weight_scale", "F8_E4M3", {rows, columns / 16});
    header.tensor(name + ".weight_scale_2", "F32", {1});
}

struct Checkpoint {
    TemporaryFile config_file;
    std::filesystem::path folder;
    explicit Checkpoint(const json& config) : config_file("model/config.json", config.dump()), folder(config_file.path().parent_path()) {}
    void write(const std::string& name, const std::string& bytes) const { std::ofstream(folder / name, std::ios::binary) << bytes; }
};

double weight_bytes(const Workload& workload) {
    const Run run = completed_sizes({.precision = workload.default_precision}, workload);
    return memory_estimate(workload, run, load_software(software_dir())).weights.in(byte);
}

std::string checkpoint_refusal(const std::filesystem::path& path) {
    try {
        static_cast<void>(load_workload(path));
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

bool tells(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a folder with a 16-bit safetensors file is the network of its config.json") {
    const Checkpoint checkpoint(small_config());
    Header header;
    add_plain(header);
    add_layers(header, in_bf16, in_bf16);
    checkpoint.write("model.safetensors", header.bytes());
    const Workload workload = load_workload(checkpoint.folder);
    CHECK_FALSE(workload.native_weights);
    CHECK(workload.notes.empty());
    CHECK(workload.totals->bytes.in(byte) == static_cast<double>(header.data()));
    CHECK(weight_bytes(workload) == static_cast<double>(header.data()));
    CHECK(checkpoint_notes(workload, completed_sizes({}, workload)).empty());
    // The file beside config.json works as its folder does.
    CHECK(load_workload(checkpoint.folder / "model.safetensors").totals->bytes == workload.totals->bytes);
}

TEST_CASE("formats and bytes of a checkpoint are those of its tensors") {
    json quantized = small_config();
    quantized["quantization_config"] = {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}};
    const Checkpoint checkpoint(quantized);
    Header header;
    add_plain(header);
    add_layers(header, in_fp8, in_nvfp4);
    checkpoint.write("model.safetensors", header.bytes());
    const Workload workload = load_workload(checkpoint.folder);
    const TensorFormats& formats = *workload.native_weights->tensors;
    CHECK(workload.native_weights->label == "nvfp4");
    CHECK(formats.of(TensorRole::mlp_up).bits == 4.5);  // 4 bits, and 8 for each 16
    CHECK(formats.of(TensorRole::mlp_down).bits == 4.5);
    CHECK(formats.of(TensorRole::attention).bits == 8);
    CHECK(formats.of(TensorRole::head).bits == 16);
    CHECK(workload.notes.empty());
    CHECK(weight_bytes(workload) == rel(static_cast<double>(header.data()), 1e-12));
}

TEST_CASE("files that disagree with config.json count, and a note says so") {
    const Checkpoint checkpoint(small_config());  // 16 bits
    Header header;
    add_plain(header);
    add_layers(header, in_fp8, in_fp8);
    checkpoint.write("model.safetensors", header.bytes());
    const Workload workload = load_workload(checkpoint.folder);
    CHECK(workload.native_weights->label == "fp8");
    REQUIRE(workload.notes.size() == 1);
    CHECK(tells(workload.notes[0], "config.json says 16 bits a weight, and the files have 8"));
    CHECK(weight_bytes(workload) == rel(static_cast<double>(header.data()), 1e-12));
}

TEST_CASE("an index without its files is held against the network of config.json") {
    const Checkpoint checkpoint(small_config());
    Header header;
    add_plain(header);
    add_layers(header, in_bf16, in_bf16);
    const auto notes = [&](double total) {
        checkpoint.write(
            "model.safetensors.index.json",
            json{{"metadata", {{"total_size", total}}}, {"weight_map", {{"lm_head.weight", "model-00001-of-00001.safetensors"}}}}.dump());
        const Workload workload = load_workload(checkpoint.folder);
        return checkpoint_notes(workload, completed_sizes({.precision = Precision::bf16}, workload));
    };
    const auto bytes = static_cast<double>(header.data());
    CHECK(notes(bytes).empty());
    CHECK(notes(1.009 * bytes).empty());
    REQUIRE(notes(1.02 * bytes).size() == 1);
    CHECK(tells(notes(1.02 * bytes)[0], "the index says"));
}

TEST_CASE("all files that an index names are read, or none") {
    const Checkpoint checkpoint(small_config());
    Header first, second;
    add_plain(first);
    add_layers(second, in_fp8, in_fp8);
    checkpoint.write("model-00001-of-00002.safetensors", first.bytes());
    checkpoint.write("model.safetensors.index.json", json{{"weight_map",
                                                           {{"lm_head.weight", "model-00001-of-00002.safetensors"},
                                                            {"model.layers.0.mlp.up_proj.weight", "model-00002-of-00002.safetensors"}}}}
                                                         .dump());
    CHECK(tells(load_workload(checkpoint.folder).notes.at(0), "1 of 2 safetensors files"));
    checkpoint.write("model-00002-of-00002.safetensors", second.bytes());
    CHECK(load_workload(checkpoint.folder).totals->bytes.in(byte) == static_cast<double>(first.data() + second.data()));
}

TEST_CASE("names of tensors say what they are for") {
    const std::pair<const char*, TensorRole> names[] = {{"model.embed_tokens.weight", TensorRole::embedding},
                                                        {"transformer.wte.weight", TensorRole::embedding},
                                                        {"lm_head.weight", TensorRole::head},
                                                        {"model.layers.3.self_attn.q_proj.weight", TensorRole::attention},
                                                        {"model.layers.3.self_attn.kv_a_proj_with_mqa.weight", TensorRole::attention},
                                                        {"model.layers.3.self_attn.o_proj.qweight", TensorRole::attention_output},
                                                        {"transformer.h.3.self_attention.dense.weight", TensorRole::attention_output},
                                                        {"transformer.h.3.mlp.dense_4h_to_h.weight", TensorRole::mlp_down},
                                                        {"h.3.mlp.c_fc.weight", TensorRole::mlp_up},
                                                        {"model.layers.3.mlp.gate_proj.weight", TensorRole::mlp_up},
                                                        {"model.decoder.layers.3.fc2.weight", TensorRole::mlp_down},
                                                        {"model.layers.3.mlp.gate.weight", TensorRole::router},
                                                        {"model.layers.3.block_sparse_moe.gate.weight", TensorRole::router},
                                                        {"model.layers.3.block_sparse_moe.experts.7.w2.weight", TensorRole::experts},
                                                        {"model.layers.3.mlp.experts.gate_up_proj_blocks", TensorRole::experts},
                                                        {"model.layers.3.mlp.shared_experts.down_proj.weight", TensorRole::shared_down},
                                                        {"model.layers.3.mlp.shared_expert.up_proj.weight", TensorRole::shared_up}};
    for (const auto& [name, role] : names) {
        CAPTURE(std::string(name));
        CHECK(checkpoint_name(name).role == role);
    }
    CHECK_FALSE(checkpoint_name("model.layers.3.mlp.experts.gate_up_proj_bias").role);
    CHECK(checkpoint_name("model.layers.61.mlp.gate.weight").layer == 61);
    CHECK(checkpoint_name("model.layers.3.mlp.experts.down_proj_scales").group_scale);
    CHECK_FALSE(checkpoint_name("visual.blocks.3.attn.qkv.weight").decoder);
    CHECK_FALSE(checkpoint_name("model.vision_tower.layers.3.self_attn.q_proj.weight").decoder);
    CHECK_FALSE(checkpoint_name("mtp.layers.0.mlp.gate.weight").decoder);
}

TEST_CASE("safetensors files that are not what they say are refused with one message") {
    const Checkpoint checkpoint(small_config());
    const auto text_of = [&](const std::string& bytes) {
        checkpoint.write("model.safetensors", bytes);
        return checkpoint_refusal(checkpoint.folder);
    };
    CHECK(tells(text_of("abc"), "first 8 bytes"));
    CHECK(tells(text_of(std::string(16, '\xff')), "longer than it may be"));
    CHECK(tells(text_of(Header::of("[1]")), "no JSON object"));
    CHECK(tells(text_of(Header::of("{]")), "not valid JSON"));
    CHECK(tells(text_of(Header::of(R"({"a": 1})")), "no dtype"));
    CHECK(tells(text_of(Header::of(R"({"a": {"dtype": "Q9", "shape": [1], "data_offsets": [0, 1]}})")), "unknown type"));
    CHECK(tells(text_of(Header::of(R"({"a": {"dtype": "I8", "shape": [-1], "data_offsets": [0, 1]}})")), "whole numbers"));
    CHECK(tells(text_of(Header::of(R"({"a": {"dtype": "I8", "shape": [1], "data_offsets": [1, 0]}})")), "ends before it begins"));
    CHECK(tells(text_of(Header::of(R"({"a": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 4]}})")), "not those of its shape"));
    CHECK(tells(text_of(Header::of(R"({"a": {"dtype": "I8", "shape": [9007199254740992, 9007199254740992], "data_offsets": [0, 4]}})")),
                "not those of its shape"));
    const TemporaryFile alone("alone/model.safetensors", Header::of("{}"));
    CHECK(tells(checkpoint_refusal(alone.path()), "config.json"));
    checkpoint.write("model.safetensors", Header::of("{}"));
    checkpoint.write("model.safetensors.index.json", R"({"weight_map": {"a": "../secret"}})");
    CHECK(tells(checkpoint_refusal(checkpoint.folder), "beside the index"));
}
