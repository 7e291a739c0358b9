#include "workload/gguf.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "roofcast/decoder_figures.hpp"
#include "roofcast/error.hpp"
#include "support/compare.hpp"
#include "support/gguf_bytes.hpp"
#include "support/paths.hpp"
#include "units/weight_formats.hpp"
#include "workload/gguf_config.hpp"

using namespace roofcast;
using namespace roofcast::test;

namespace {

Workload gguf_workload(const GgufBytes& file, std::string_view name = "model.gguf") {
    const TemporaryFile gguf(name, file.bytes());
    return load_workload(gguf.path());
}

const DecoderLlm& gguf_decoder(const Workload& workload) {
    return std::get<DecoderLlm>(workload.architecture);
}

std::uint32_t all_q4_k(const std::string&, std::uint32_t) {
    return q4_k;
}

/// A small model of `architecture` with the tensors of Llama.
GgufBytes small_gguf(const std::string& architecture) {
    const GgufSizes sizes{.architecture = architecture};
    GgufBytes file = gguf_keys(sizes);
    add_attention_tensors(file, sizes, all_q4_k);
    add_mlp_tensors(file, sizes, all_q4_k);
    return file;
}

std::string gguf_refusal(const GgufBytes& file) {
    try {
        static_cast<void>(gguf_workload(file));
    } catch (const Error& e) {
        return e.what();
    }
    return {};
}

bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a GGUF file of Llama 3.1 8B gives the shipped network, named after the file") {
    const TemporaryFile file("Llama-3.1-8B-Q4_K_M.gguf", llama_8b_q4_k_m());
    const Workload workload = load_workload(file.path());
    const Workload shipped = find_workload(models_dir(), "llama-3.1-8b");
    CHECK(workload.id == "llama-3.1-8b-q4_k_m");
    CHECK(workload.name == "Meta Llama 3.1 8B Instruct");
    CHECK(workload.family == "llm");
    CHECK(workload.notes.empty());
    CHECK(workload.default_precision == Precision::fp16);
    CHECK(workload.native_weights->label == "q4_k_m");
    CHECK(decoder_parameters(gguf_decoder(workload)).all == decoder_parameters(std::get<DecoderLlm>(shipped.architecture)).all);
    CHECK(workload.totals->parameters == 8'030'261'248.0 + 64);  // and frequencies of the rotation
    CHECK(gguf_decoder(workload).max_context == 131072);
}

TEST_CASE("biases, norms of queries and a shared embedding are read from a GGUF file's tensors") {
    const GgufSizes sizes{.architecture = "qwen3", .tied = true};
    GgufBytes file = gguf_keys(sizes);
    add_attention_tensors(file, sizes, all_q4_k);
    add_mlp_tensors(file, sizes, all_q4_k);
    file.tensor("blk.0.attn_q_norm.weight", {64}, f32).tensor("blk.0.attn_q.bias", {256}, f32);
    const Workload workload = gguf_workload(file);
    CHECK(gguf_decoder(workload).tied_embeddings);
    CHECK(gguf_decoder(workload).qk_norm);
    CHECK(gguf_decoder(workload).attention_bias);
    CHECK_FALSE(gguf_decoder(workload).output_bias);
    const TensorFormats& formats = *workload.native_weights->tensors;
    CHECK(formats.of(TensorRole::head) == formats.of(TensorRole::embedding));      // one table
    CHECK_FALSE(gguf_decoder(gguf_workload(small_gguf("qwen2"))).attention_bias);  // no biases in the file
}

TEST_CASE("every architecture that is known loads from tensors of Llama or says what is missing") {
    for (const char* name :
         {"llama",   "mistral3", "qwen2",      "qwen3",     "gemma",   "gemma2",   "gemma3",   "phi2",          "phi3",     "falcon",
          "gptneox", "stablelm", "starcoder2", "command-r", "cohere2", "granite",  "olmo2",    "internlm2",     "baichuan", "minicpm",
          "exaone",  "smollm3",  "glm4",       "gpt2",      "gptj",    "seed_oss", "ernie4_5", "hunyuan-dense", "nemotron"}) {
        CAPTURE(std::string(name));
        GgufBytes file = small_gguf(name);
        file.number(std::string(name) + ".attention.sliding_window", 1024);
        CHECK(gguf_decoder(gguf_workload(file)).layers == 2);
    }
    CHECK(mentions(gguf_refusal(small_gguf("deepseek2")), "deepseek2.expert_count"));
    CHECK(mentions(gguf_refusal(small_gguf("qwen3moe")), "qwen3moe.expert_count"));
}

TEST_CASE("experts of a GGUF file are their own tensors, whose widths say how wide they are") {
    const GgufSizes sizes{.architecture = "qwen2moe"};
    GgufBytes file = gguf_keys(sizes);
    file.number("qwen2moe.expert_count", 8).number("qwen2moe.expert_used_count", 2);
    add_attention_tensors(file, sizes, all_q4_k);
    for (const char* layer : {"blk.0.", "blk.1."}) {
        const std::string of(layer);
        file.tensor(of + "ffn_gate_inp.weight", {256, 8}, f32).tensor(of + "ffn_gate_inp_shexp.weight", {256}, f32);
        file.tensor(of + "ffn_gate_exps.weight", {256, 768, 8}, q4_k).tensor(of + "ffn_up_exps.weight", {256, 768, 8}, q4_k);
        file.tensor(of + "ffn_down_exps.weight", {768, 256, 8}, q6_k);
        file.tensor(of + "ffn_gate_shexp.weight", {256, 512}, q4_k).tensor(of + "ffn_up_shexp.weight", {256, 512}, q4_k);
        file.tensor(of + "ffn_down_shexp.weight", {512, 256}, q6_k);
    }
    const Workload workload = gguf_workload(file);
    const MoeShape& moe = *gguf_decoder(workload).moe;
    CHECK(moe.experts == 8);
    CHECK(moe.expert_intermediate == 768);
    CHECK(moe.shared_intermediate == 512);
    const TensorFormats& formats = *workload.native_weights->tensors;
    CHECK(formats.of(TensorRole::experts).bits == rel((2 * 4.5 + 6.5625) / 3, 1e-12));
    CHECK(formats.of(TensorRole::shared_down).bits == 6.5625);
    CHECK(formats.of(TensorRole::router).bits == 32);
}

TEST_CASE("latent attention of a GGUF file has the widths of one head, absorbed or not") {
    const GgufSizes sizes{.architecture = "deepseek2", .kv_heads = 1, .head_dim = 576};
    GgufBytes file = gguf_keys(sizes);
    const auto key = [&](const char* name, std::uint32_t value) { file.number(std::string("deepseek2.") + name, value); };
    key("attention.kv_lora_rank", 512);
    key("attention.key_length_mla", 192);
    key("attention.value_length_mla", 128);
    key("rope.dimension_count", 64);
    key("expert_count", 16);
    key("expert_used_count", 4);
    key("expert_shared_count", 2);
    key("expert_feed_forward_length", 256);
    key("leading_dense_block_count", 1);
    add_attention_tensors(file, sizes, all_q4_k);
    const Workload workload = gguf_workload(file);
    const DecoderLlm& m = gguf_decoder(workload);
    REQUIRE(m.mla);
    CHECK(m.mla->nope_dim == 128);
    CHECK(m.mla->value_dim == 128);
    CHECK(m.mla->q_rank == 0);
    CHECK(m.moe->dense_layers == 1);
    CHECK(m.moe->shared_intermediate == 512);
}

TEST_CASE("parts of a GGUF file are read with the first, and only with all of them") {
    const GgufSizes sizes;
    GgufBytes first = gguf_keys(sizes), second;
    first.number("split.no", 0).number("split.count", 2);
    second.number("split.no", 1).number("split.count", 2);
    add_attention_tensors(first, sizes, all_q4_k);
    add_mlp_tensors(second, sizes, all_q4_k);
    const TemporaryFile file("net-00001-of-00002.gguf", first.bytes());
    const auto refused_of = [](const std::filesystem::path& path) {
        try {
            static_cast<void>(load_workload(path));
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    CHECK(mentions(refused_of(file.path()), "net-00002-of-00002.gguf"));
    const auto other = file.path().parent_path() / "net-00002-of-00002.gguf";
    std::ofstream(other, std::ios::binary) << second.bytes();
    const Workload workload = load_workload(file.path());
    CHECK(workload.id == "net");
    // Two tables of 1000 rows; of two layers attention of 1.5 squares of 256 and three matrices of 512 x 256; norms in 32 bits.
    constexpr double matrices = 2 * 256'000.0 + 2 * (3.0 * 65'536 + 3.0 * 131'072);
    CHECK(workload.totals->bytes.in(byte) == rel(4.5 / 8 * matrices + 4 * 5 * 256.0, 1e-12));
    CHECK(mentions(refused_of(other), "name the first part: net-00001-of-00002.gguf"));
}

TEST_CASE("an unknown architecture names those that are known") {
    const std::string text = gguf_refusal(small_gguf("mamba"));
    CHECK(mentions(text, "general.architecture"));
    CHECK(mentions(text, "deepseek2"));
    CHECK(mentions(gguf_refusal(small_gguf("qwen2mo")), "qwen2moe"));
}

TEST_CASE("GGUF files that are not what they say are refused with one message") {
    const std::string good = small_gguf("llama").bytes();
    const auto text_of = [](const std::string& bytes) {
        const TemporaryFile file("bad.gguf", bytes);
        try {
            static_cast<void>(load_workload(file.path()));
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string("accepted");
    };
    const auto with_version = [&](std::uint32_t version) {
        std::string bytes = good;
        std::memcpy(bytes.data() + 4, &version, sizeof version);
        return bytes;
    };
    CHECK(text_of(with_version(2)) == "accepted");
    CHECK(mentions(text_of("GGML and so on, long enough for a header"), "not a GGUF file"));
    CHECK(mentions(text_of(with_version(0x03000000)), "big-endian"));
    CHECK(mentions(text_of(with_version(1)), "version"));
    CHECK(mentions(text_of(with_version(4)), "version"));
    for (std::size_t length = 0; length < good.size(); length += 41) CHECK(mentions(text_of(good.substr(0, length)), "bad.gguf"));
    const auto with_count = [&](std::size_t at, std::uint64_t count) {
        std::string bytes = good;
        std::memcpy(bytes.data() + at, &count, sizeof count);
        return bytes;
    };
    CHECK(mentions(text_of(with_count(8, ~0ULL)), "too many tensors"));
    CHECK(mentions(text_of(with_count(8, 1'000'000)), "ends before its tensors"));
    CHECK(mentions(text_of(with_count(16, ~0ULL)), "too many keys"));
    CHECK(mentions(text_of(with_count(24, 1ULL << 40)), "key"));  // the length of the first key
    GgufBytes wide = gguf_keys({});
    CHECK(mentions(gguf_refusal(wide.tensor("token_embd.weight", {250, 1000}, q4_k)), "whole blocks"));
    GgufBytes unknown = gguf_keys({});
    CHECK(mentions(gguf_refusal(unknown.tensor("token_embd.weight", {256, 1000}, 99)), "unknown tensor type"));
    GgufBytes huge = gguf_keys({});
    CHECK(mentions(gguf_refusal(huge.tensor("token_embd.weight", {std::int64_t{1} << 40, std::int64_t{1} << 40}, f16)),
                   "larger than any model"));
    GgufBytes twice = gguf_keys({});
    CHECK(mentions(gguf_refusal(twice.number("llama.block_count", 3)), "twice"));
    CHECK(mentions(gguf_refusal(gguf_keys({})), "embedding table"));
}

TEST_CASE("keys of a GGUF file that differ from layer to layer are named") {
    GgufBytes file;
    file.text("general.architecture", "llama").numbers("llama.attention.head_count", {32, 16});
    file.number("llama.block_count", 2).number("llama.embedding_length", 256).tensor("token_embd.weight", {256, 1000}, f16);
    CHECK(mentions(gguf_refusal(file), "llama.attention.head_count"));
}

TEST_CASE("blocks that predict several tokens ahead are in a GGUF file, but not in memory") {
    GgufSizes sizes{.architecture = "llama", .layers = 3};
    GgufBytes file = gguf_keys(sizes);
    file.number("llama.nextn_predict_layers", 1);
    add_attention_tensors(file, sizes, all_q4_k);
    add_mlp_tensors(file, sizes, all_q4_k);
    const Workload workload = gguf_workload(file);
    CHECK(gguf_decoder(workload).layers == 2);
    REQUIRE(workload.notes.size() == 1);
    CHECK(mentions(workload.notes[0], "not loaded"));
}

TEST_CASE("an architecture is a table of a data file, which may lie beside the model") {
    const TemporaryFile model("model.gguf", small_gguf("newarch").bytes());
    const auto refusal = [&]() -> std::string {
        try {
            static_cast<void>(load_workload(model.path()));
        } catch (const Error& e) {
            return e.what();
        }
        return {};
    };
    CHECK(mentions(refusal(), "this architecture is not supported; found newarch"));
    const auto folder = model.path().parent_path() / "gguf";
    std::filesystem::create_directory(folder);
    const auto beside = [&](const std::string& lines) {
        std::ofstream(folder / "architectures.toml") << "[[architecture]]\nname = \"newarch\"\n" << lines;
        return refusal();
    };
    CHECK(mentions(beside(""), "architectures.toml:1: architecture[0].model_type"));
    CHECK(mentions(beside("model_type = \"lama\"\n"), "architectures.toml:3: architecture[0].model_type: no reader knows this type"));
    CHECK(mentions(beside("model_type = \"resnet\"\n"), "no reader knows this type"));
    CHECK(mentions(beside("model_type = \"llama\"\ntraits = [\"windw\"]\n"), "did you mean window"));
    CHECK(mentions(beside("model_type = \"llama\"\ntrait = []\n"), "trait"));
    CHECK(mentions(beside("model_type = \"llama\"\n[[architecture]]\nname = \"newarch\"\nmodel_type = \"llama\"\n"), "occurs twice"));
    CHECK(beside("model_type = \"llama\"\ntraits = [\"layer_norms\"]\n").empty());
    CHECK(gguf_decoder(load_workload(model.path())).norm == Normalization::layernorm);
}

TEST_CASE("the GGUF example of the guide is the file of these tests, and the reference names all architectures") {
    const Workload example = load_workload(source_dir() / "docs/examples/Llama-3.1-8B-Q4_K_M.gguf");
    const TemporaryFile file("Llama-3.1-8B-Q4_K_M.gguf", llama_8b_q4_k_m());
    const Workload own = load_workload(file.path());
    CHECK(example.totals->bytes == own.totals->bytes);
    CHECK(*example.native_weights == *own.native_weights);
    const std::string reference = text_of(source_dir() / "docs/reference/models.md");
    const std::vector<GgufArchitecture> architectures = load_gguf_architectures(models_dir() / "gguf/architectures.toml");
    CHECK(architectures.size() >= 37);
    for (const GgufArchitecture& architecture : architectures) {
        CAPTURE(architecture.name);
        CHECK(mentions(reference, "`" + architecture.name + "`"));
    }
}
