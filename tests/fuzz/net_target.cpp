/// Models by structure: bytes choose blocks, options and sizes that the readers know, so that inputs reach the graph builders.
/// The first byte chooses the family.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "fuzz/choices.hpp"
#include "fuzz/input.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/targets.hpp"
#include "workload/catalogue.hpp"
#include "workload/convnet_vocabulary.hpp"

namespace roofcast {

namespace {

using fuzz::Choices;

/// One of a list, such as a word of a vocabulary.
template <class List>
const auto& one_of(const List& list, Choices& bytes) {
    return list[bytes.below(list.size())];
}

std::string word_of_option(const std::string& option, Choices& bytes) {
    if (option == "activation" || option == "gate_activation") return fmt::format("\"{}\"", one_of(activation_names, bytes));
    if (option == "norm") return fmt::format("\"{}\"", one_of(norm_names, bytes));
    if (option == "gate") return fmt::format("\"{}\"", one_of(gate_names, bytes));
    if (option == "anchors") return fmt::format("[{}, {}]", 1 + bytes.below(8), 1 + bytes.below(8));
    for (const auto& field : flags) {
        if (field.key == option) return bytes.flag() ? "true" : "false";
    }
    constexpr double quarter = 0.25;
    if (option == "expand") return fmt::format("{:.2f}", quarter * static_cast<double>(1 + bytes.below(24)));
    return fmt::format("{}", bytes.size());
}

/// The layers that a layer reads: mostly the one before it, sometimes several, any of those that there are.
std::string inputs(std::size_t index, Choices& bytes) {
    constexpr std::size_t usual = 128, most = 4;
    if (bytes.byte() < usual) return {};
    std::string list;
    for (std::size_t i = 0, count = 1 + bytes.below(most); i < count; ++i) {
        const std::size_t back = bytes.below(index + 1);
        list += i == 0 ? "" : ", ";
        list += back == index ? "\"in\"" : fmt::format("\"l{}\"", index - 1 - back);
    }
    return fmt::format(", from = [{}]", list);
}

/// An expression of a block's arguments, which may be nonsense.
std::string expression(Choices& bytes) {
    constexpr std::array terms{"channels", "in", "stride", "n", "2", "0.5", "min(in, n)", "divisible(in, 8)", "(n if stride > 1 else in)"};
    constexpr std::array signs{" + ", " - ", " * ", " / ", " == ", " > ", " and "};
    std::string text = one_of(terms, bytes);
    constexpr std::size_t most = 3;
    for (std::size_t i = bytes.below(most); i > 0; --i) text += std::string(one_of(signs, bytes)) + one_of(terms, bytes);
    return '"' + text + '"';
}

std::string layer(std::size_t index, Choices& bytes, bool in_block) {
    const BlockSpec& spec = one_of(block_specs, bytes);
    std::string text = fmt::format("{{{} = ", spec.name);
    text += spec.is(bare) && bytes.flag() ? "true" : fmt::format("{}", bytes.size());
    text += inputs(index, bytes);
    constexpr std::size_t few = 4;
    if (spec.is(repeated)) text += fmt::format(", repeat = {}", 1 + bytes.below(few));
    std::istringstream options{std::string(spec.options)};
    const std::vector<std::string> known{std::istream_iterator<std::string>(options), {}};
    for (const std::string& option : known) {
        const bool needed = option == "heads" || option == "layers" || option == "protos";
        if (needed || bytes.below(few) == 0)
            text += fmt::format(", {} = {}", option, in_block && bytes.flag() ? expression(bytes) : word_of_option(option, bytes));
    }
    if (in_block && bytes.below(few) == 0) text += ", when = " + expression(bytes);
    return text + fmt::format(", name = \"l{}\"}}", index);
}

/// A call of one of the blocks below.
std::string call(std::size_t index, Choices& bytes) {
    constexpr std::size_t blocks = 3, few = 4;
    return fmt::format("{{b{} = {}, n = {}, stride = {}, repeat = {}{}, name = \"l{}\"}}", bytes.below(blocks), bytes.size(), bytes.size(),
                       1 + bytes.below(2), bytes.below(few), inputs(index, bytes), index);
}

/// Three blocks, which may call each other, or themselves.
std::string blocks(Choices& bytes) {
    std::string text;
    constexpr std::size_t count = 3, most = 6, few = 4;
    for (std::size_t block = 0; block < count; ++block) {
        text += fmt::format("[blocks.b{}]\narguments = [\"n\", \"stride = 1\", \"half = n / 2\"]\nlayers = [\n", block);
        for (std::size_t i = 0, layers = 1 + bytes.below(most); i < layers; ++i)
            text += (bytes.below(few) == 0 ? call(i, bytes) : layer(i, bytes, true)) + ",\n";
        text += bytes.flag() ? "]\n" : "]\noutputs = [\"l0\", \"in\"]\n";
    }
    return text;
}

std::string net(Choices& bytes) {
    std::string text =
        fmt::format("id = \"net\"\nsource = \"none\"\nfamily = \"cnn\"\nimage_size = {}\nchannels = {}\nclasses = {}\n",
                    std::min<std::int64_t>(bytes.size(), 1 << 16), std::min<std::int64_t>(bytes.size(), 1 << 16), bytes.size());
    if (bytes.flag()) text += fmt::format("norm = \"{}\"\nnorm_groups = {}\n", one_of(norm_names, bytes), bytes.size());
    if (bytes.flag()) text += fmt::format("activation = \"{}\"\n", one_of(activation_names, bytes));
    constexpr std::size_t shapes = 8;
    if (const std::size_t shape = bytes.below(shapes); shape == 1 || shape == 3) text += fmt::format("dimensions = {}\n", shape);
    if (bytes.flag()) text += "width_multiple = 1.5\nchannel_divisor = 8\ndepth_multiple = 0.5\n";
    if (bytes.flag()) text += "grouped_repeats = true\n";
    const std::string defined = bytes.flag() ? blocks(bytes) : std::string{};
    text += "layers = [\n";
    constexpr std::size_t most = 512, few = 4;
    for (std::size_t i = 0; i < most && (i == 0 || !bytes.empty()); ++i)
        text += (!defined.empty() && bytes.below(few) == 0 ? call(i, bytes) : layer(i, bytes, false)) + ",\n";
    return text + "]\n" + defined;
}

struct Key {
    const char* name;
    bool needed;
};

/// `keys` with a size each.
template <std::size_t Count>
std::string sizes(const std::array<Key, Count>& keys, Choices& bytes) {
    std::string text;
    for (const Key& key : keys) {
        if (key.needed || bytes.flag()) text += fmt::format("{} = {}\n", key.name, bytes.size());
    }
    return text;
}

/// Heads and their width, which must divide each other in most families.
std::string heads(Choices& bytes) {
    const std::int64_t each = bytes.size(), heads = bytes.size();
    constexpr std::int64_t largest = std::int64_t{1} << 24;
    return fmt::format("heads = {}\nhidden = {}\n", heads, std::min(largest, each * heads));
}

std::string decoder(Choices& bytes) {
    constexpr std::array keys{Key{"layers", true},          Key{"intermediate", true},   Key{"vocabulary", true},
                              Key{"head_dim", false},       Key{"kv_heads", false},      Key{"max_context", true},
                              Key{"sliding_window", false}, Key{"embedding_dim", false}, Key{"learned_positions", false}};
    std::string text = "id = \"net\"\nsource = \"none\"\nfamily = \"llm\"\n" + heads(bytes) + sizes(keys, bytes);
    for (const char* flag : {"qk_norm", "gated_mlp", "tied_embeddings", "attention_bias", "parallel_block"}) {
        if (bytes.flag()) text += fmt::format("{} = {}\n", flag, bytes.flag() ? "true" : "false");
    }
    constexpr std::array expert_keys{Key{"experts", true}, Key{"top_k", true}, Key{"expert_intermediate", true},
                                     Key{"shared_intermediate", false}, Key{"dense_layers", false}};
    constexpr std::array latent_keys{Key{"kv_rank", true}, Key{"rope_dim", true}, Key{"nope_dim", true}, Key{"value_dim", true},
                                     Key{"q_rank", false}};
    if (bytes.flag()) text += "[moe]\n" + sizes(expert_keys, bytes);
    if (bytes.flag()) text += "[mla]\n" + sizes(latent_keys, bytes);
    return text;
}

std::string encoder(Choices& bytes) {
    constexpr std::array keys{Key{"layers", true}, Key{"intermediate", true}, Key{"vocabulary", true}, Key{"max_positions", false},
                              Key{"default_tokens", false}};
    return "id = \"net\"\nsource = \"none\"\nfamily = \"encoder\"\n" + heads(bytes) + sizes(keys, bytes);
}

std::string vit(Choices& bytes) {
    constexpr std::array keys{Key{"layers", true},        Key{"patch", true},    Key{"image_size", false}, Key{"intermediate", false},
                              Key{"extra_tokens", false}, Key{"classes", false}, Key{"channels", false}};
    return "id = \"net\"\nsource = \"none\"\nfamily = \"vit\"\n" + heads(bytes) + sizes(keys, bytes);
}

std::string swin(Choices& bytes) {
    constexpr std::array keys{Key{"embed", true}, Key{"window", true}, Key{"image_size", false}, Key{"patch", false},
                              Key{"classes", false}};
    std::string text = "id = \"net\"\nsource = \"none\"\nfamily = \"swin\"\n" + sizes(keys, bytes), depths, heads;
    constexpr std::size_t most_stages = 5;
    for (std::size_t i = 0, stages = 1 + bytes.below(most_stages); i < stages; ++i) {
        depths += fmt::format("{}{}", i == 0 ? "" : ", ", bytes.size());
        heads += fmt::format("{}{}", i == 0 ? "" : ", ", bytes.size());
    }
    return text + fmt::format("depths = [{}]\nheads = [{}]\n", depths, heads);
}

}  // namespace

int fuzz::net(const std::uint8_t* data, std::size_t size) {
    Choices bytes(data, size);
    constexpr std::array generators{roofcast::net, decoder, encoder, vit, swin};
    const std::string text = one_of(generators, bytes)(bytes);
    try {
        for (const Workload& workload : load_workloads(folder().file("net.toml", text))) require_sound_runs(workload);
    } catch (const Error&) {
    }
    folder().clear();
    return 0;
}

}  // namespace roofcast
