#include "roofcast/launch_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "io/shell_word.hpp"
#include "io/toml_reader.hpp"
#include "roofcast/error.hpp"

namespace roofcast {

namespace {

/// `text` with what `value` gives for each placeholder; nullopt where one has none.
template <class Value>
std::optional<std::string> filled(std::string_view text, Value value) {
    std::string result;
    while (!text.empty()) {
        const auto open = text.find('{'), close = text.find('}', open == std::string_view::npos ? 0 : open);
        if (open == std::string_view::npos || close == std::string_view::npos) break;
        const std::optional<std::string> of = value(text.substr(open + 1, close - open - 1));
        if (!of) return std::nullopt;
        result += std::string(text.substr(0, open)) + *of;
        text.remove_prefix(close + 1);
    }
    return result + std::string(text);
}

std::map<std::string, std::string> read_words(TableReader words) {
    std::map<std::string, std::string> result;
    for (const std::string& key : words.keys()) result[key] = words.text(key);
    return result;
}

std::optional<std::string> word_of(const std::map<std::string, std::string>& words, const std::string& format) {
    const auto found = words.find(format);
    return found == words.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> above_one(std::int64_t degree) {
    return degree > 1 ? std::optional(std::to_string(degree)) : std::nullopt;
}

/// The name of a 16- or 32-bit format as PyTorch has it.
std::string torch_name(Precision p) {
    switch (activation_precision(p)) {
        case Precision::fp16:
            return "float16";
        case Precision::fp32:
        case Precision::tf32:
            return "float32";
        default:
            return "bfloat16";
    }
}

std::optional<std::string> if_above_one(std::int64_t degree) {
    return degree > 1 ? std::optional<std::string>("") : std::nullopt;
}

/// What values of placeholders are made of.
struct Filling {
    const LaunchTemplate& of;
    const LaunchRequest& request;
    const Run& run = request.run;

    [[nodiscard]] std::int64_t context() const { return run.prompt_tokens + run.generate_tokens; }
    /// Copies of the model that one server has.
    [[nodiscard]] std::int64_t copies() const { return of.runs_copies() ? run.parallel.data : 1; }
};

using Value = std::optional<std::string>;

Value model_file(const Filling& f) {
    const std::string& model = f.request.model;
    if (model.ends_with(".gguf")) return shell_word(model);
    return shell_word(fmt::format("{}-{}.gguf", model.substr(model.find('/') + 1), name(f.run.weight_format())));
}

Value cache_word(const Filling& f) {
    if (element_size(f.run.cache_precision()) >= 2 * byte) return std::nullopt;
    return word_of(f.of.kv_cache, std::string(name(f.run.cache_precision())));
}

/// A placeholder with its value; nullopt: the engine's default does.
struct Placeholder {
    std::string_view name;
    Value (*value)(const Filling&);
};
constexpr Placeholder placeholders[] = {
    {"model", [](const Filling& f) -> Value { return shell_word(f.request.model); }},
    {"model_file", model_file},
    {"tensor_parallel", [](const Filling& f) { return above_one(f.run.parallel.tensor); }},
    {"pipeline_parallel", [](const Filling& f) { return above_one(f.run.parallel.pipeline); }},
    {"data_parallel", [](const Filling& f) { return above_one(f.run.parallel.data); }},
    {"expert_parallel", [](const Filling& f) { return above_one(f.run.parallel.expert); }},
    {"if_tensor_parallel", [](const Filling& f) { return if_above_one(f.run.parallel.tensor); }},
    {"if_expert_parallel", [](const Filling& f) { return if_above_one(f.run.parallel.expert); }},
    {"dtype", [](const Filling& f) -> Value { return torch_name(f.run.precision); }},
    {"weights", [](const Filling& f) { return word_of(f.of.weights, name(f.run.weight_format())); }},
    {"kv_cache", cache_word},
    {"memory_fraction",
     [](const Filling& f) -> Value {
         const auto fraction = f.request.scheduler.memory_fraction;
         return fraction ? std::optional(fmt::format("{:.4g}", *fraction)) : std::nullopt;
     }},
    {"max_sequences", [](const Filling& f) -> Value { return std::to_string(f.run.batch); }},
    {"max_tokens", [](const Filling& f) -> Value { return std::to_string(std::max(f.request.scheduler.max_tokens, f.run.batch)); }},
    {"context", [](const Filling& f) -> Value { return std::to_string(f.context()); }},
    {"total_context", [](const Filling& f) -> Value { return std::to_string(f.context() * f.run.batch); }},
    {"prompt", [](const Filling& f) -> Value { return std::to_string(f.run.prompt_tokens); }},
    {"output", [](const Filling& f) -> Value { return std::to_string(f.run.generate_tokens); }},
    {"requests", [](const Filling& f) -> Value { return std::to_string(f.request.requests); }},
    {"rate",
     [](const Filling& f) -> Value {
         if (!f.request.rate) return std::nullopt;
         return fmt::format("{:.4g}", *f.request.rate * static_cast<double>(f.copies()) / static_cast<double>(f.run.parallel.data));
     }},
    {"users",
     [](const Filling& f) -> Value { return f.request.rate ? std::nullopt : std::optional(std::to_string(f.run.batch * f.copies())); }},
};

const Placeholder* find_placeholder(std::string_view name) {
    const auto* found =
        std::find_if(std::begin(placeholders), std::end(placeholders), [&](const Placeholder& p) { return p.name == name; });
    return found == std::end(placeholders) ? nullptr : found;
}

std::vector<std::string> read_parts(TableReader& table, std::string_view key) {
    std::vector<std::string> parts = table.texts_if(key);
    if (parts.empty()) throw table.missing(key, "the words of the command, such as [\"engine serve {model}\"]");
    for (const std::string& part : parts) {
        static_cast<void>(filled(part, [&](std::string_view name) -> Value {
            if (find_placeholder(name) != nullptr) return "";
            std::vector<std::string> known;
            for (const Placeholder& p : placeholders) known.emplace_back(p.name);
            throw table.error(key, "unknown placeholder", std::string(name), fmt::format("{}", fmt::join(known, ", ")),
                              did_you_mean(name, known));
        }));
    }
    return parts;
}

bool mentions(const std::vector<std::string>& parts, std::string_view placeholder) {
    return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) { return part.find(placeholder) != std::string::npos; });
}

/// The command of `parts`, a line each that fits a few flags.
std::string command_of(const std::vector<std::string>& parts, const LaunchTemplate& of, const LaunchRequest& request) {
    std::string text;
    for (const std::string& part : parts) {
        const auto words = filled(part, [&](std::string_view name) { return find_placeholder(name)->value({of, request}); });
        if (words) text += (text.empty() ? "" : " \\\n        ") + *words;
    }
    return text;
}

/// Lines of a comment of at most 80 columns.
std::string comment(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    constexpr std::size_t width = 78;
    std::string lines;
    while (text.size() > width) {
        const auto space = text.rfind(' ', width);
        if (space == std::string::npos) break;
        lines += fmt::format("# {}\n", text.substr(0, space));
        text.erase(0, space + 1);
    }
    return lines + fmt::format("# {}\n", text);
}

/// Techniques of the prediction, none of which the flags set.
std::vector<std::string> unset_techniques(const Techniques& t) {
    std::vector<std::string> lines;
    const auto add = [&lines](const std::string& what) { lines.push_back("Not in these flags, but in the prediction: " + what); };
    if (const auto& s = t.speculation)
        add(fmt::format("{} drafts {} token{}.", s->own_head ? "the prediction module" : s->draft->id, s->tokens,
                        s->tokens == 1 ? "" : "s"));
    if (t.offload > 0) add(fmt::format("{:.0f} % of the weights lie in host memory.", 100 * t.offload));
    if (t.cached_prefix > 0)
        add(fmt::format("{:.0f} % of each prompt is cached. Prompts of the benchmark share no prefix.", 100 * t.cached_prefix));
    if (t.prefill_chunk > 0) add(fmt::format("prefill takes {} tokens of a sequence at a time.", t.prefill_chunk));
    if (t.kv_block > 1) add(fmt::format("blocks of the KV cache hold {} tokens.", t.kv_block));
    return lines;
}

/// What the flags do not say.
std::vector<std::string> open_points(const LaunchTemplate& of, const LaunchRequest& request) {
    const Run& run = request.run;
    std::vector<std::string> lines;
    const std::string weights = name(run.weight_format());
    const bool narrow = run.weight_format().bits < 16, file = mentions(of.serve, "{model_file}");
    if (file && !request.model.ends_with(".gguf"))
        lines.push_back(fmt::format("Convert the checkpoint to GGUF, or download it, with weights in {}.", weights));
    if (narrow && !file && !word_of(of.weights, weights))
        lines.push_back(fmt::format("There is no flag for weights in {}: give a checkpoint that has them.", weights));
    if (run.parallel.data > 1 && !of.runs_copies())
        lines.push_back(
            fmt::format("Start {} copies, each on its own GPUs, behind a load balancer. The benchmark loads one copy.", run.parallel.data));
    if (run.parallel.attention_data > 1)
        lines.push_back(
            fmt::format("Attention was predicted in {} data-parallel groups: add the engine's option.", run.parallel.attention_data));
    if (element_size(run.cache_precision()) < 2 * byte && !word_of(of.kv_cache, std::string(name(run.cache_precision()))))
        lines.push_back(fmt::format("There is no flag for a KV cache in {}.", name(run.cache_precision())));
    for (std::string& line : unset_techniques(run.techniques)) lines.push_back(std::move(line));
    return lines;
}

}  // namespace

bool LaunchTemplate::runs_copies() const {
    return mentions(serve, "{data_parallel}");
}

bool LaunchTemplate::reserves_contexts() const {
    return mentions(serve, "{total_context}");
}

std::vector<LaunchTemplate> load_launch_templates(const std::filesystem::path& software_folder) {
    const std::filesystem::path file = software_folder / "launch.toml";
    const toml::table root = parse_toml_file(file);
    TableReader reader(root, file.string());
    std::vector<LaunchTemplate> all;
    for (TableReader& table : reader.tables("launch")) {
        LaunchTemplate of;
        of.name = table.text("name");
        const auto same = [&of](const LaunchTemplate& other) { return other.name == of.name; };
        if (std::any_of(all.begin(), all.end(), same)) throw table.error("name", "the name occurs twice", of.name, "another name");
        of.software = table.text("software");
        of.version = table.text("version");
        of.source = table.text("source");
        of.serve = read_parts(table, "serve");
        of.benchmark = read_parts(table, "benchmark");
        of.weights = read_words(table.table("weights"));
        of.kv_cache = read_words(table.table("kv_cache"));
        table.finish();
        all.push_back(std::move(of));
    }
    reader.finish();
    return all;
}

const LaunchTemplate& find_launch_template(const std::vector<LaunchTemplate>& templates, std::string_view name) {
    std::vector<std::string> names;
    for (const LaunchTemplate& of : templates) {
        if (of.name == name) return of;
        names.push_back(of.name);
    }
    throw Error({.what = "no launch command is known for this engine",
                 .key = "emit",
                 .found = std::string(name),
                 .expected = fmt::format("{}", fmt::join(names, ", ")),
                 .suggestion = did_you_mean(name, names)});
}

std::string launch_script(const LaunchTemplate& of, const LaunchRequest& request) {
    std::string text = "#!/bin/sh\n";
    std::vector<std::string> remarks = request.remarks;
    remarks.push_back(fmt::format("Flags of {} {}. Run: sh FILE serve, then in another shell: sh FILE bench", of.name, of.version));
    for (std::string& line : open_points(of, request)) remarks.push_back(std::move(line));
    for (const std::string& line : remarks) text += comment(line);
    text += fmt::format("case \"${{1:-serve}}\" in\nserve)\n    exec {}\n    ;;\nbench)\n    exec {}\n    ;;\nesac\n",
                        command_of(of.serve, of, request), command_of(of.benchmark, of, request));
    return text;
}

}  // namespace roofcast
