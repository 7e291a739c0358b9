#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "io/data_folder.hpp"
#include "io/identifier.hpp"
#include "io/toml_reader.hpp"
#include "workload/catalogue.hpp"
#include "workload/convnet.hpp"
#include "workload/gguf.hpp"
#include "workload/hugging_face.hpp"
#include "workload/onnx/onnx.hpp"
#include "workload/readers.hpp"
#include "workload/safetensors.hpp"

namespace roofcast {

namespace {

/// Names of a model that pads as TensorFlow does, besides those of one that does not.
constexpr std::string_view same_padding_aliases = "same_padding_aliases";

using ReadArchitecture = Architecture (*)(TableReader&, BlockLibrary&);

const std::map<std::string_view, ReadArchitecture>& families() {
    static const std::map<std::string_view, ReadArchitecture> readers{
        {"llm", [](TableReader& r, BlockLibrary&) -> Architecture { return read_decoder(r); }},
        {"encoder", [](TableReader& r, BlockLibrary&) -> Architecture { return read_encoder(r); }},
        {"transformer_xl", [](TableReader& r, BlockLibrary&) -> Architecture { return read_transformer_xl(r); }},
        {"vit", [](TableReader& r, BlockLibrary&) -> Architecture { return read_vit(r); }},
        {"swin", [](TableReader& r, BlockLibrary&) -> Architecture { return read_swin(r); }},
        {"cnn", [](TableReader& r, BlockLibrary& blocks) -> Architecture { return read_convnet(r, blocks); }},
        {"detector", [](TableReader& r, BlockLibrary& blocks) -> Architecture { return read_convnet(r, blocks); }},
        {"vlm", [](TableReader& r, BlockLibrary&) -> Architecture { return read_vision_language(r); }},
        {"diffusion", [](TableReader& r, BlockLibrary& blocks) -> Architecture { return read_diffusion(r, blocks); }},
        {"summary", [](TableReader& r, BlockLibrary&) -> Architecture { return read_summary(r); }},
    };
    return readers;
}

Published read_published(TableReader reader) {
    Published published;
    published.parameters = reader.number_if("parameters", positive);
    published.gmacs = reader.number_if("gmacs", positive);
    published.gflops = reader.number_if("gflops", positive);
    published.parameters_rounding = reader.number_if("parameters_rounding", positive).value_or(0);
    published.macs_rounding = reader.number_if("macs_rounding", positive).value_or(0);
    published.image_size = reader.count_if("image_size").value_or(0);
    published.counted_size = reader.count_if("counted_size", 1).value_or(0);
    if (published.counted_size > 0 && published.image_size < 1)
        throw reader.error("counted_size", "the size that counts were scaled to is missing", {}, "image_size as well");
    published.source = reader.text_if("source").value_or("");
    if ((published.parameters || published.gmacs || published.gflops) && published.source.empty()) {
        throw reader.error("source", "published figures need their source");
    }
    if (!published.parameters && !published.gmacs && !published.gflops) published.source.clear();  // of a file, not of this model
    reader.finish_with_base();
    return published;
}

OwnScript read_own_script(TableReader reader) {
    OwnScript script;
    script.casts_model = reader.flag_if("casts_model").value_or(false);
    script.folds_norms = reader.flag_if("folds_norms").value_or(false);
    script.traced = reader.flag_if("traced").value_or(false);
    reader.finish_with_base();
    return script;
}

/// `id` as Python has it: each model with hyphens in its id has this alias, too.
std::string underscored(std::string id) {
    std::replace(id.begin(), id.end(), '-', '_');
    return id;
}

Workload read_workload(TableReader reader, BlockLibrary& blocks) {
    Workload workload;
    workload.id = required_identifier(reader, "id", reader.text("id"));
    workload.name = reader.text_if("name").value_or(workload.id);
    workload.family = reader.text("family");
    workload.aliases = reader.texts_if("aliases");
    const std::string other = underscored(workload.id);
    if (other != workload.id && std::find(workload.aliases.begin(), workload.aliases.end(), other) == workload.aliases.end())
        workload.aliases.insert(workload.aliases.begin(), other);
    const std::vector<std::string> padded = reader.texts_if(same_padding_aliases);
    workload.source = reader.text("source");
    workload.file = reader.file();
    if (const auto precision = reader.text_if("default_precision")) {
        const auto parsed = parse_precision(*precision);
        if (!parsed) throw reader.error("default_precision", "unknown precision", {}, "fp32, fp16, bf16, …");
        workload.default_precision = *parsed;
    }
    for (const auto& [key, format] :
         {std::pair{"native_weights", &workload.native_weights}, {"native_experts", &workload.native_experts}}) {
        const auto text = reader.text_if(key);
        if (!text) continue;
        *format = parse_weight_format(*text);
        if (!*format) throw reader.error(key, "unknown weight format", *text, "fp8, mxfp4, awq-int4, …");
    }
    const auto family = families().find(workload.family);
    if (family == families().end()) {
        std::vector<std::string> known;
        for (const auto& [name, read] : families()) known.emplace_back(name);
        throw reader.error("family", "unknown family", {}, fmt::format("one of {}", fmt::join(known, ", ")),
                           did_you_mean(workload.family, known));
    }
    workload.published = read_published(reader.table("published"));
    workload.own_script = read_own_script(reader.table("own_script"));
    workload.architecture = family->second(reader, blocks);
    if (padded.empty() && reader.has(same_padding_aliases))
        throw reader.error(same_padding_aliases, "no name is given", {}, "names, or the key left out");
    if (!padded.empty() && !std::holds_alternative<ConvNet>(workload.architecture))
        throw reader.error(same_padding_aliases, "only convolutional nets pad", {}, "family = \"cnn\"");
    static_cast<void>(reader.node("variant"));
    reader.finish_with_base();
    return workload;
}

/// One model of a file, not yet read: its own keys over the file's shared ones.
struct Entry {
    const toml::table* table;
    const toml::table* shared;  ///< null when the file is a single model
    std::string prefix;
    bool same_padding = false;  ///< the same model under its `same_padding_aliases`
};

std::vector<Entry> entries_of(const toml::table& root, const std::string& file) {
    const toml::node* node = root.get("variant");
    std::vector<Entry> entries;
    const auto add = [&entries](const toml::table& table, const toml::table* shared, const std::string& prefix) {
        entries.push_back({&table, shared, prefix});
        if (table.contains(same_padding_aliases)) entries.push_back({&table, shared, prefix, true});
    };
    if (node == nullptr) {
        add(root, nullptr, {});
        return entries;
    }
    const TableReader reader(root, file);
    if (!node->is_array_of_tables()) throw reader.error("variant", "wrong type", {}, "tables [[variant]]");
    if (root.contains("id")) throw reader.error("id", "a file with [[variant]] tables cannot have an id");
    if (root.contains(same_padding_aliases))
        throw reader.error(same_padding_aliases, "these names apply to all variants of the file", {},
                           "the key in the [[variant]] it names");
    std::size_t index = 0;
    for (const auto& item : *node->as_array()) add(*item.as_table(), &root, fmt::format("variant[{}]", index++));
    return entries;
}

/// Id and aliases, as far as they are there.
std::vector<std::string> names_of(const Entry& entry) {
    std::vector<std::string> names;
    const auto* id = entry.table->get_as<std::string>("id");
    if (id != nullptr && !entry.same_padding) {
        names.push_back(id->get());
        if (std::string other = underscored(id->get()); other != id->get()) names.push_back(std::move(other));
    }
    if (const auto* aliases = entry.table->get_as<toml::array>(entry.same_padding ? same_padding_aliases : "aliases")) {
        for (const auto& alias : *aliases) {
            const auto* text = alias.as_string();
            if (text != nullptr && std::find(names.begin(), names.end(), text->get()) == names.end()) names.push_back(text->get());
        }
    }
    return names;
}

bool is_named(const Entry& entry, std::string_view name) {
    const auto names = names_of(entry);
    return std::find(names.begin(), names.end(), name) != names.end();
}

Workload read_entry(const Entry& entry, const std::string& file, BlockLibrary& blocks) {
    Workload workload = read_workload(TableReader(*entry.table, file, entry.prefix, entry.shared), blocks);
    if (!entry.same_padding) return workload;
    workload.aliases = names_of(entry);
    workload.id = workload.name = workload.aliases.front();
    workload.aliases.erase(workload.aliases.begin());
    std::get<ConvNet>(workload.architecture).same_padding = true;
    return workload;
}

/// The model of `entries` that `name` stands for; nullptr: none.
const Entry* named(const std::vector<Entry>& entries, std::string_view name) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return is_named(entry, name); });
    return found == entries.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> workload_names(const std::filesystem::path& file) {
    const toml::table root = parse_toml_file(file);
    std::vector<std::string> names;
    for (const Entry& entry : entries_of(root, file.string())) {
        for (std::string& name : names_of(entry)) names.push_back(std::move(name));
    }
    return names;
}

BlockLibrary blocks_for(const std::filesystem::path& file, const std::filesystem::path& models_folder) {
    constexpr const char* folder = "blocks";
    BlockLibrary library(file.parent_path() / folder);
    if (!models_folder.empty()) library.add_folder(models_folder / folder);
    return library;
}

std::optional<Workload> workload_in(const std::string& text, const std::filesystem::path& file, std::string_view name) {
    BlockLibrary blocks = blocks_for(file);
    const toml::table root = parse_toml(text, file.string());
    const auto entries = entries_of(root, file.string());
    const Entry* entry = named(entries, name);
    return entry == nullptr ? std::nullopt : std::optional(read_entry(*entry, file.string(), blocks));
}

bool is_checkpoint(const std::filesystem::path& folder) {
    std::error_code ec;
    return std::filesystem::is_regular_file(folder / "config.json", ec);
}

namespace {

/// `gguf/architectures.toml` of a folder of models, the model's own first; else of the shipped data.
std::filesystem::path gguf_architectures_file(const BlockLibrary& blocks) {
    const std::filesystem::path relative = std::filesystem::path("gguf") / "architectures.toml";
    for (const std::filesystem::path& folder : blocks.folders()) {
        std::error_code ec;
        auto file = folder.parent_path() / relative;
        if (std::filesystem::is_regular_file(file, ec)) return file;
    }
    return data_folder(std::nullopt) / "models" / relative;
}

/// A model in a format in which others publish theirs; nullopt: TOML.
std::optional<Workload> load_published(const std::filesystem::path& file, const BlockLibrary& blocks) {
    if (is_checkpoint(file)) return load_checkpoint(file);
    const std::string ending = lower_case(file.extension().string());
    if (ending == ".json") return load_hugging_face_config(file);
    if (ending == ".gguf") return load_gguf(file, gguf_architectures_file(blocks));
    if (ending == ".safetensors") return load_checkpoint(file);
    if (is_onnx(file)) return load_onnx(file);
    return std::nullopt;
}

}  // namespace

std::vector<Workload> load_workloads(const std::filesystem::path& file) {
    BlockLibrary blocks = blocks_for(file);
    return load_workloads(file, blocks);
}

std::vector<Workload> load_workloads(const std::filesystem::path& file, BlockLibrary& blocks) {
    if (auto published = load_published(file, blocks)) return {*std::move(published)};
    const toml::table root = parse_toml_file(file);
    std::vector<Workload> workloads;
    for (const Entry& entry : entries_of(root, file.string())) workloads.push_back(read_entry(entry, file.string(), blocks));
    return workloads;
}

Workload load_workload(const std::filesystem::path& file, std::string_view id) {
    BlockLibrary blocks = blocks_for(file);
    return load_workload(file, id, blocks);
}

Workload load_workload(const std::filesystem::path& file, std::string_view id, BlockLibrary& blocks) {
    if (auto published = load_published(file, blocks)) return *std::move(published);
    const toml::table root = parse_toml_file(file);
    const auto entries = entries_of(root, file.string());
    if (id.empty() && entries.size() == 1) return read_entry(entries.front(), file.string(), blocks);
    if (const Entry* entry = named(entries, id); entry != nullptr && !id.empty()) return read_entry(*entry, file.string(), blocks);
    std::vector<std::string> ids;
    for (const Entry& entry : entries) {
        for (std::string& name : names_of(entry)) ids.push_back(std::move(name));
    }
    throw Error({.what = id.empty() ? "the file has several models" : "the file has no model with this id",
                 .file = file.string(),
                 .key = "id",
                 .found = std::string(id),
                 .expected = fmt::format("one of {}", fmt::join(ids, ", ")),
                 .suggestion =
                     id.empty() ? fmt::format("name one: {}#{}", file.string(), ids.empty() ? "ID" : ids.front()) : did_you_mean(id, ids)});
}

}  // namespace roofcast
