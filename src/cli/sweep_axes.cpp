#include "cli/sweep_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

std::int64_t whole(const std::string& text, const char* option, std::int64_t most = largest_run_count) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= 1 && value <= most) return value;
    throw Error({.what = "not a number in range",
                 .key = option,
                 .found = text,
                 .expected = fmt::format("whole numbers from 1 to {}, with commas between", most)});
}

template <std::optional<std::int64_t> RunOptions::*Member>
void set_count(RunOptions& o, const std::string& text, const char* option) {
    o.*Member = whole(text, option);
}

/// Techniques are checked together, where they are read.
template <std::string TechniqueOptions::*Member>
void set_technique(RunOptions& o, const std::string& text, const char*) {
    o.techniques.*Member = text;
}

void set_layout(RunOptions& o, const std::string& text, const char* option) {
    if (text != "nhwc" && text != "nchw") throw Error({.what = "unknown layout", .key = option, .found = text, .expected = "nhwc or nchw"});
    o.layout = text;
}

enum class Kind { setting, technique, scaling };

struct Entry {
    const char* option;
    const char* key;
    const char* meaning;
    void (*set)(RunOptions&, const std::string&, const char*);
    Kind kind = Kind::setting;
};

const Entry entries[] = {
    {"--precision", "precision", "Precisions (default: each model's own, or the nearest that the GPU has)",
     [](RunOptions& o, const std::string& t, const char* option) { required_precision(o.precision = t, option); }},
    {"--weights", "weights", "Formats of stored weights",
     [](RunOptions& o, const std::string& t, const char*) { required_weights(o.weights = t); }},
    {"--kv", "kv_precision", "Precisions of the KV cache",
     [](RunOptions& o, const std::string& t, const char* option) { required_precision(o.kv = t, option); }},
    {"--execution", "execution", "Execution modes (default: cuda_graph)",
     [](RunOptions& o, const std::string& t, const char*) { required_execution(o.execution = t); }},
    {"--software", "software", "Engines", [](RunOptions& o, const std::string& t, const char*) { o.software = t; }},
    {"--layout", "layout", "Layouts of images: nhwc, nchw", set_layout},
    {"--batch", "batch", "Sequences or images at once (default: 1)", set_count<&RunOptions::batch>},
    {"--prompt", "prompt_tokens", "Prompt tokens of each sequence", set_count<&RunOptions::prompt>},
    {"--generate", "output_tokens", "Output tokens of each sequence", set_count<&RunOptions::generate>},
    {"--image-size", "image_size", "Pixels on a side", set_count<&RunOptions::image_size>},
    {"--images", "images", "Images of each sequence, for vision-language models", set_count<&RunOptions::images>},
    {"--steps", "steps", "Denoising steps of diffusion models (default: each model's)", set_count<&RunOptions::steps>},
    {"--cached-prefix", "cached_prefix", "Shares of the prompt that are cached", set_technique<&TechniqueOptions::cached_prefix>,
     Kind::technique},
    {"--prefill-chunk", "prefill_chunk", "Tokens in one pass of prefill", set_technique<&TechniqueOptions::prefill_chunk>, Kind::technique},
    {"--kv-block", "kv_block", "Tokens in a block of a paged KV cache", set_technique<&TechniqueOptions::kv_block>, Kind::technique},
    {"--offload", "offload", "Shares of the weights in host memory", set_technique<&TechniqueOptions::offload>, Kind::technique},
    {"--draft", "draft", "Draft models of speculative decoding", set_technique<&TechniqueOptions::draft>, Kind::technique},
    {"--draft-tokens", "draft_tokens", "Tokens that it proposes", set_technique<&TechniqueOptions::draft_tokens>, Kind::technique},
    {"--mtp", "mtp", "Tokens that the model's own prediction module proposes", set_technique<&TechniqueOptions::mtp>, Kind::technique},
    {"--acceptance", "acceptance", "Probabilities that one is accepted", set_technique<&TechniqueOptions::acceptance>, Kind::technique},
    {"--ep", "expert_parallel", "Expert-parallel degrees", set_count<&RunOptions::expert>},
    {"--attention-dp", "attention_data_parallel", "Attention data-parallel groups of the --tp GPUs",
     set_count<&RunOptions::attention_data>},
    {"--pcie", "pcie", "PCIe topologies: host, switch (default: that of each GPU's machines)",
     [](RunOptions& o, const std::string& t, const char*) { required_pcie(o.pcie = t); }},
    {"--gpus", "gpus", "GPUs in all", set_count<&RunOptions::gpus>, Kind::scaling},
    {"--tp", "tensor_parallel", "Tensor-parallel degrees", set_count<&RunOptions::tensor>, Kind::scaling},
    {"--pp", "pipeline_parallel", "Pipeline-parallel degrees", set_count<&RunOptions::pipeline>, Kind::scaling},
    {"--dp", "data_parallel", "Data-parallel copies", set_count<&RunOptions::data>, Kind::scaling},
    {"--streams", "streams", "Streams for independent operators (default: the software's, else 1)",
     [](RunOptions& o, const std::string& t, const char* option) {
         o.streams = static_cast<int>(whole(t, option, static_cast<std::int64_t>(most_streams)));
     },
     Kind::scaling},
};

}  // namespace

std::vector<SweepAxis> sweep_axes() {
    std::vector<SweepAxis> axes;
    for (const Entry& e : entries)
        axes.push_back({.option = e.option,
                        .key = e.key,
                        .words = {},
                        .values = {},
                        .set = e.set,
                        .technique = e.kind == Kind::technique,
                        .scales = e.kind == Kind::scaling});
    return axes;
}

void add_sweep_options(CLI::App& command, std::vector<SweepAxis>& axes) {
    for (std::size_t i = 0; i < axes.size(); ++i) command.add_option(axes[i].option, axes[i].words, entries[i].meaning);
}

std::vector<std::string> list_values(const std::vector<std::string>& words, const std::string& option) {
    std::vector<std::string> values;
    for (const std::string& word : words) {
        for (std::size_t start = 0; start <= word.size();) {
            const std::size_t comma = std::min(word.find(',', start), word.size());
            values.push_back(word.substr(start, comma - start));
            start = comma + 1;
            if (values.back().empty())
                throw Error(
                    {.what = "the list has an empty value", .key = option, .found = word, .expected = "values with one comma between"});
            if (std::count(values.begin(), values.end(), values.back()) > 1)
                throw Error({.what = "the list has a value twice", .key = option, .found = values.back(), .suggestion = "leave one out"});
        }
    }
    return values;
}

void read_values(std::vector<SweepAxis>& axes) {
    for (SweepAxis& axis : axes) {
        axis.values = list_values(axis.words, axis.option);
        for (const std::string& value : axis.values) {
            RunOptions checked;
            axis.set(checked, value, axis.option.c_str());
        }
    }
}

}  // namespace roofcast::cli
