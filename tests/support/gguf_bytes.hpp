#pragma once
/// GGUF headers written by hand, as ggml/include/gguf.h of llama.cpp describes them.

#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast::test {

/// ggml_type of gguf-py/gguf/constants.py.
enum GgmlType : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q5_0 = 6, q8_0 = 8, q4_k = 12, q5_k = 13, q6_k = 14, mxfp4 = 39 };

class GgufBytes {
public:
    explicit GgufBytes(std::uint32_t version = 3) : version_(version) {}

    GgufBytes& text(std::string_view key, std::string_view value) {
        begin(key, 8);
        put_text(values_, value);
        return *this;
    }
    GgufBytes& number(std::string_view key, std::uint32_t value) {
        begin(key, 4);
        put(values_, value);
        return *this;
    }
    GgufBytes& real(std::string_view key, float value) {
        begin(key, 6);
        put(values_, value);
        return *this;
    }
    GgufBytes& flag(std::string_view key, bool value) {
        begin(key, 7);
        put(values_, static_cast<std::uint8_t>(value ? 1 : 0));
        return *this;
    }
    GgufBytes& numbers(std::string_view key, const std::vector<std::int32_t>& values) {
        begin(key, 9);
        put(values_, std::uint32_t{5});
        put(values_, static_cast<std::uint64_t>(values.size()));
        for (const std::int32_t value : values) put(values_, value);
        return *this;
    }
    GgufBytes& texts(std::string_view key, const std::vector<std::string>& values) {
        begin(key, 9);
        put(values_, std::uint32_t{8});
        put(values_, static_cast<std::uint64_t>(values.size()));
        for (const std::string& value : values) put_text(values_, value);
        return *this;
    }
    GgufBytes& tensor(std::string_view name, std::initializer_list<std::int64_t> dims, std::uint32_t type) {
        ++tensors_;
        put_text(infos_, name);
        put(infos_, static_cast<std::uint32_t>(dims.size()));
        for (const std::int64_t dim : dims) put(infos_, dim);
        put(infos_, type);
        put(infos_, std::uint64_t{0});
        return *this;
    }
    [[nodiscard]] std::string bytes() const {
        std::string all = "GGUF";
        put(all, version_);
        put(all, tensors_);
        put(all, keys_);
        return all + values_ + infos_;
    }

    template <class Number>
    static void put(std::string& to, Number value) {
        char raw[sizeof value];
        std::memcpy(raw, &value, sizeof value);
        to.append(raw, sizeof value);
    }
    static void put_text(std::string& to, std::string_view text) {
        put(to, static_cast<std::uint64_t>(text.size()));
        to += text;
    }

private:
    void begin(std::string_view key, std::uint32_t type) {
        ++keys_;
        put_text(values_, key);
        put(values_, type);
    }

    std::uint32_t version_;
    std::uint64_t tensors_ = 0, keys_ = 0;
    std::string values_, infos_;
};

/// Sizes of a decoder in the words of GGUF.
struct GgufSizes {
    std::string architecture = "llama";
    std::uint32_t layers = 2, hidden = 256, heads = 4, kv_heads = 2, head_dim = 64, feed_forward = 512, vocabulary = 1000, context = 2048;
    bool tied = false;
};

inline GgufBytes gguf_keys(const GgufSizes& s) {
    GgufBytes file;
    file.text("general.architecture", s.architecture);
    const auto key = [&](const char* name, std::uint32_t value) { file.number(s.architecture + "." + name, value); };
    key("block_count", s.layers);
    key("embedding_length", s.hidden);
    key("attention.head_count", s.heads);
    key("attention.head_count_kv", s.kv_heads);
    key("attention.key_length", s.head_dim);
    key("context_length", s.context);
    key("feed_forward_length", s.feed_forward);
    return file;
}

/// Tensors that all Llama-like files have; `type` says how a matrix of a layer is stored, by its name less the layer.
inline void add_attention_tensors(GgufBytes& file, const GgufSizes& s,
                                  const std::function<std::uint32_t(const std::string&, std::uint32_t)>& type) {
    const std::int64_t hidden = s.hidden, queries = std::int64_t(s.heads) * s.head_dim, keys = std::int64_t(s.kv_heads) * s.head_dim;
    file.tensor("token_embd.weight", {hidden, s.vocabulary}, type("token_embd", 0));
    if (!s.tied) file.tensor("output.weight", {hidden, s.vocabulary}, type("output", 0));
    file.tensor("output_norm.weight", {hidden}, f32);
    for (std::uint32_t i = 0; i < s.layers; ++i) {
        const std::string layer = "blk." + std::to_string(i) + ".";
        file.tensor(layer + "attn_norm.weight", {hidden}, f32);
        file.tensor(layer + "ffn_norm.weight", {hidden}, f32);
        file.tensor(layer + "attn_q.weight", {hidden, queries}, type("attn_q", i));
        file.tensor(layer + "attn_k.weight", {hidden, keys}, type("attn_k", i));
        file.tensor(layer + "attn_v.weight", {hidden, keys}, type("attn_v", i));
        file.tensor(layer + "attn_output.weight", {queries, hidden}, type("attn_output", i));
    }
}

inline void add_mlp_tensors(GgufBytes& file, const GgufSizes& s,
                            const std::function<std::uint32_t(const std::string&, std::uint32_t)>& type) {
    for (std::uint32_t i = 0; i < s.layers; ++i) {
        const std::string layer = "blk." + std::to_string(i) + ".";
        file.tensor(layer + "ffn_gate.weight", {s.hidden, s.feed_forward}, type("ffn_gate", i));
        file.tensor(layer + "ffn_up.weight", {s.hidden, s.feed_forward}, type("ffn_up", i));
        file.tensor(layer + "ffn_down.weight", {s.feed_forward, s.hidden}, type("ffn_down", i));
    }
}

/// How Llama 3.1 8B is stored as Q4_K_M: attn_v and ffn_down of 16 of 32 layers, and the LM head, in 6 bits.
inline std::uint32_t llama_q4_k_m(const std::string& tensor, std::uint32_t layer) {
    const bool more_bits = layer < 4 || layer >= 28 || (layer - 4) % 3 == 2;
    if (tensor == "output" || ((tensor == "attn_v" || tensor == "ffn_down") && more_bits)) return q6_k;
    return q4_k;
}

inline std::string llama_8b_q4_k_m() {
    const GgufSizes sizes{.layers = 32,
                          .hidden = 4096,
                          .heads = 32,
                          .kv_heads = 8,
                          .head_dim = 128,
                          .feed_forward = 14336,
                          .vocabulary = 128256,
                          .context = 131072};
    GgufBytes file = gguf_keys(sizes);
    file.text("general.name", "Meta Llama 3.1 8B Instruct").number("general.file_type", 15);
    file.texts("tokenizer.ggml.tokens", {"a", "b", "c"}).numbers("tokenizer.ggml.token_type", {1, 1, 3});
    add_attention_tensors(file, sizes, llama_q4_k_m);
    add_mlp_tensors(file, sizes, llama_q4_k_m);
    file.tensor("rope_freqs.weight", {64}, f32);
    return file.bytes();
}

}  // namespace roofcast::test
