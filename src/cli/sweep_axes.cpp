#include "cli/sweep_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/number_ranges.hpp"
#include "roofcast/error.hpp"

namespace roofcast::cli {

namespace {

enum class Kind { setting, technique, scaling };

struct Entry {
    const char* option;  ///< with its letter, where it has one
    const char* key;
    const char* meaning;
    Kind kind = Kind::setting;
    bool whole_numbers = false;  ///< which ranges may stand for
};

const Entry entries[] = {
    {"-p,--precision", "precision", "Precisions of GEMMs (default: the model's, or the nearest that the GPU has)"},
    {"--weights", "weights", "Storage formats of the weights (default: the precision)"},
    {"--kv", "kv_precision", "Precisions of the KV cache (default: that of the activations)"},
    {"--execution", "execution", "Execution modes: eager, cuda_graph, compiled, tensorrt, fused (default: cuda_graph)"},
    {"--software", "software", "Engines, with or without their version. See `roofcast software list` (default: none in particular)"},
    {"--layout", "layout", "Memory layouts of images: nhwc, nchw (default: the execution mode's)"},
    {"-b,--batch", "batch", "Sequences or images in one batch (default: 1)", Kind::setting, true},
    {"--prompt", "prompt_tokens", "Prompt tokens in each sequence (default: 512; encoders: the model's)", Kind::setting, true},
    {"--generate", "output_tokens", "Output tokens of each sequence (default: 128)", Kind::setting, true},
    {"--image-size", "image_size", "Height and width of each image in pixels (default: the model's)", Kind::setting, true},
    {"--images", "images", "Images in each sequence of a vision-language model (default: 1)", Kind::setting, true},
    {"--dim", "dimensions", "Sizes of symbolic dimensions of ONNX nets: NAME=N, several of one point joined by +"},
    {"--steps", "steps", "Denoising steps of a diffusion model (default: the model's)", Kind::setting, true},
    {"--cached-prefix", "cached_prefix", "Fractions of the prompt that the KV cache already holds, below 1 (default: 0)", Kind::technique},
    {"--prefill-chunk", "prefill_chunk", "Prompt tokens of a sequence in one prefill pass (default: the whole prompt)", Kind::technique,
     true},
    {"--kv-block", "kv_block", "Tokens in one block of the paged KV cache (default: 1)", Kind::technique, true},
    {"--offload", "offload", "Fractions of each layer's weights that stay in CPU memory (default: 0)", Kind::technique},
    {"--draft", "draft", "Draft models of speculative decoding. Need --draft-tokens and --acceptance", Kind::technique},
    {"--draft-tokens", "draft_tokens", "Tokens that the draft model proposes in each iteration", Kind::technique, true},
    {"--mtp", "mtp", "Tokens that the model's own multi-token prediction module proposes. Needs --acceptance", Kind::technique, true},
    {"--acceptance", "acceptance", "Fractions of the proposed tokens that are accepted, from 0 to 1", Kind::technique},
    {"--ep", "expert_parallel", "Expert-parallel degrees (default: 1)", Kind::setting, true},
    {"--attention-dp", "attention_data_parallel", "Data-parallel groups of attention among the --tp GPUs (default: 1)", Kind::setting,
     true},
    {"--pcie", "pcie", "PCIe topologies: host, switch (default: the GPU profile's)"},
    {"--gpus", "gpus", "GPUs in total (default: the product of --tp, --pp and --dp)", Kind::scaling, true},
    {"--tp", "tensor_parallel", "Tensor-parallel degrees (default: 1)", Kind::scaling, true},
    {"--pp", "pipeline_parallel", "Pipeline-parallel degrees (default: 1)", Kind::scaling, true},
    {"--dp", "data_parallel", "Data-parallel copies (default: 1)", Kind::scaling, true},
    {"--streams", "streams", "CUDA streams for independent operators (default: the engine's, else 1)", Kind::scaling, true},
};

/// The option without its letter.
std::string long_name(const Entry& entry) {
    const std::string names = entry.option;
    return names.substr(names.find("--"));
}

/// What sets the option: the setting of the library with its name.
const RunSetting& setting_of(const std::string& option) {
    std::string name = option.substr(2);
    std::replace(name.begin(), name.end(), '-', '_');
    const auto settings = run_settings();
    return *std::find_if(settings.begin(), settings.end(), [&name](const RunSetting& setting) { return setting.name == name; });
}

}  // namespace

std::vector<SweepAxis> sweep_axes() {
    std::vector<SweepAxis> axes;
    for (const Entry& e : entries)
        axes.push_back({.option = long_name(e),
                        .key = e.key,
                        .words = {},
                        .values = {},
                        .set = setting_of(long_name(e)).set,
                        .whole_numbers = e.whole_numbers,
                        .technique = e.kind == Kind::technique,
                        .scales = e.kind == Kind::scaling});
    return axes;
}

void add_sweep_options(CLI::App& command, std::vector<SweepAxis>& axes) {
    for (std::size_t i = 0; i < axes.size(); ++i) command.add_option(entries[i].option, axes[i].words, entries[i].meaning);
}

std::vector<std::string> list_values(const std::vector<std::string>& words, const std::string& option, bool whole_numbers) {
    std::vector<std::string> values;
    std::set<std::string> seen;
    const auto add = [&](const std::string& value) {
        if (!seen.insert(value).second)
            throw Error({.what = "the list has a value twice", .key = option, .found = value, .suggestion = "leave one out"});
        values.push_back(value);
    };
    for (const std::string& word : words) {
        for (std::size_t start = 0; start <= word.size();) {
            const std::size_t comma = std::min(word.find(',', start), word.size());
            const std::string entry = word.substr(start, comma - start);
            start = comma + 1;
            if (entry.empty())
                throw Error(
                    {.what = "the list has an empty value", .key = option, .found = word, .expected = "values separated by single commas"});
            const auto of_entry = whole_numbers && is_range(entry) ? range_values(entry, option) : std::vector{entry};
            std::for_each(of_entry.begin(), of_entry.end(), add);
        }
    }
    return values;
}

void read_values(std::vector<SweepAxis>& axes) {
    for (SweepAxis& axis : axes) {
        axis.values = list_values(axis.words, axis.option, axis.whole_numbers);
        for (const std::string& value : axis.values) {
            RunOptions checked;
            axis.set(checked, value, axis.option.c_str());
        }
    }
}

}  // namespace roofcast::cli
